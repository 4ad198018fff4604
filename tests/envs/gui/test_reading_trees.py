"""What a policy of numbers reads in trees of words, and what it says, beside the phone's own numbers."""

import gymnasium
import numpy as np
import pytest

import tiltyard  # noqa: F401
from tiltyard.benchmarks.evaluation import evaluate
from tiltyard.envs.gui import elements
from tiltyard.envs.gui.baselines import RandomPolicy, WordMatcher
from tiltyard.envs.gui.compiled.env import PhoneV1VectorEnv
from tiltyard.envs.gui.problems_v1 import world
from tiltyard.envs.gui.reading_trees import TreePolicy, features, lines, said

APPS = [one.app.name for one in world().programs.values() if not one.app.hidden]


def played(observation, n=6, steps=40):
    env = PhoneV1VectorEnv(n, level=2, observation=observation, max_episode_steps=60)
    return env, env.reset(seed=7)[0]


def test_trees_say_what_the_numbers_say_but_for_icons_and_fine_places():
    """The same actions on two phones, one seen in numbers, one in words."""
    (numeric, seen), (worded, told) = played("elements"), played("tree")
    hands = RandomPolicy(3)
    compared = 0
    for _ in range(60):
        actions = hands.act(seen, np.zeros(6, np.bool_))
        for i in range(6):
            read = lines(told["tree"][i])
            own, other = seen["elements"][i], features(read)
            exact = [0, *range(5, 11), *range(12, 24)]
            np.testing.assert_array_equal(own[:, exact], other[:, exact])
            assert np.abs(own[:, 1:5] - other[:, 1:5]).max() <= 6  # hundredths
            np.testing.assert_array_equal(seen["goal"][i], elements.goal_tokens(told["goal"][i]))
            compared += len(read)
        words = [said(actions[i], lines(told["tree"][i]), told["goal"][i], APPS) for i in range(6)]
        seen, *_ = numeric.step(actions)
        told, *_ = worded.step(words)
    assert compared > 2000


def test_a_policy_acts_alike_in_numbers_and_in_words():
    (numeric, seen), (worded, told) = played("elements"), played("tree")
    one, other = WordMatcher(), TreePolicy(WordMatcher())
    for _ in range(30):
        actions, _ = one.predict(seen)
        words, _ = other.predict(told)
        assert [word.split()[0] for word in words] == [
            elements.NUMERIC_VERBS[action[0]].split()[0].replace("answer", "answer") for action in actions
        ]
        seen, *_ = numeric.step(actions)
        told, *_ = worded.step(words)


def test_an_agent_of_numbers_is_evaluated_in_words_as_in_numbers():
    """The word matcher never answers by places that hundredths would move, so that both play the same episodes."""
    numbers = evaluate(WordMatcher(), "tiltyard/Phone-v1", episodes=12, observation="elements")
    for observation in ("tree", "screen"):
        words = evaluate(TreePolicy(WordMatcher()), "tiltyard/Phone-v1", episodes=12, observation=observation)
        assert words == numbers
    assert len(set(numbers.lengths)) > 1


def test_one_observation_is_answered_by_one_string():
    env = gymnasium.make("tiltyard/Phone-v1", observation="tree")
    seen, _ = env.reset(seed=0)
    action, _ = TreePolicy(WordMatcher()).predict(seen)
    assert isinstance(action, str)
    env.step(action)
    with pytest.raises(TypeError, match='make the phone with observation="tree"'):
        TreePolicy(WordMatcher()).predict({"elements": 0})


def test_what_names_nothing_waits():
    assert said([0, 5, 0, 0, 0], [], "goal", APPS) == "wait"
    assert said([7, 0, 0, 3, 0], [], "two words", APPS) == "wait"
    assert said([11, 0, 1, 0, 0], [], "", APPS) == f"open {APPS[1]}"
