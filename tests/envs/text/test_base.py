"""One-turn text tasks: which answer counts, what is paid, what an action may be, what demonstrations hold."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tiltyard.envs import InvalidAction
from tiltyard.envs.text.base import CHARSET, MESSAGES, draw_problems, last_answer, level_of
from tiltyard.envs.text.countdown import Countdown, CountdownEnv, CountdownVectorEnv
from tiltyard.envs.text.reasoning_gym import ReasoningGym


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("no tags", None),
        ("", None),
        ("<answer>unfinished", None),
        ("</answer><answer>", None),
        ("</answer><answer>1</answer>", "1"),
        ("<answer>1</answer> better: <answer>2</answer>", "2"),
        ("<answer>1</answer> <answer>2", "1"),
        ("<answer><answer>3</answer></answer>", "3"),
        ("<answer></answer>", ""),
        ("<ANSWER>1</ANSWER>", None),
        ("<answer>" * 20_000, None),
    ],
)
def test_the_last_complete_answer_counts(text: str, answer: str | None) -> None:
    assert last_answer(text) == answer


def test_only_a_correct_answer_is_paid_and_terms_add_up_to_the_reward() -> None:
    env = CountdownEnv()
    _, info = env.reset(seed=3)
    numbers = info["numbers"]
    for text, reward, success in (
        (env.expert().predict(None)[0], 1.0, True),  # by hand: correct 1, format 0
        (f"<answer>{numbers[0]}</answer>", 0.0, False),  # a bare number is never the target: correct 0, format 0
        ("I give up", -0.1, False),  # correct 0, format -0.1
        ("", -0.1, False),
    ):
        env.reset(seed=3)
        _, got, terminated, truncated, info = env.step(text)
        assert (got, terminated, truncated, info["success"]) == (reward, True, False, success)
        assert sum(info["reward_terms"].values()) == reward
        assert info["reward_terms"].keys() == {"correct", "format"}


def test_the_last_observation_is_the_verdict() -> None:
    env = CountdownEnv()
    for text, verdict in (("?", 0), ("<answer>7*0</answer>", 1), (None, 2)):
        env.reset(seed=5)
        observation = env.step(text if text is not None else env.expert().predict(None)[0])[0]
        assert observation == MESSAGES[verdict]
        assert observation in env.observation_space


@pytest.mark.parametrize("action", [None, 3, b"<answer>1</answer>", ["a"], np.zeros(2)])
def test_an_action_that_is_no_string_is_refused_and_changes_nothing(action: Any) -> None:
    env = CountdownEnv()
    env.reset(seed=1)
    right = env.expert().predict(None)[0]
    with pytest.raises(InvalidAction, match="an action is a string, got"):
        env.step(action)
    assert env.step(right)[1] == 1.0


@pytest.mark.parametrize("actions", ["ab", ["a"], None, 3, ["a", "b", "c"]])
def test_a_vector_wants_one_string_per_environment(actions: Any) -> None:
    env = CountdownVectorEnv(2)
    env.reset(seed=1)
    with pytest.raises(InvalidAction, match="expected 2 strings, got"):
        env.step(actions)


def test_over_long_and_foreign_strings_are_graded_not_refused() -> None:
    env = CountdownEnv()
    env.reset(seed=1)
    right = env.expert().predict(None)[0]
    assert env.step("\N{SNOWMAN}\ud800\0" * 50_000 + right)[1] == 1.0  # what precedes the answer may be anything
    env.reset(seed=1)
    assert env.step(right.replace("</answer>", "\N{SNOWMAN}</answer>"))[1] == -0.1


def test_environments_that_are_not_active_keep_their_problem_and_verdict() -> None:
    env = CountdownVectorEnv(2, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=[1, 2])
    env.step(list(env.expert().predict(None)[0]))
    before = env.batched.observe()
    observation, info = env.reset(options={"reset_mask": np.array([True, False])})
    assert observation[1] == before[1] == MESSAGES[2]
    assert observation[0].startswith("Make ")


@pytest.mark.parametrize("batched_class", [Countdown, ReasoningGym])
@pytest.mark.parametrize("split", ["train", "test"])
def test_demonstrations_answer_what_a_seeded_reset_asks(batched_class: Any, split: str) -> None:
    batched = batched_class(1, split=split)
    prompts, answers = batched.demonstrations([4, 5, 4])
    assert prompts[0] == prompts[2] != prompts[1]
    batched.begin(np.array([0]), np.array([5]), np.array([0]))
    assert batched.observe() == (prompts[1],)
    assert batched.expert_actions() == (answers[1],)
    later, _ = batched.demonstrations([4], episodes=[7])
    assert later[0] not in prompts


@pytest.mark.parametrize("batched_class", [Countdown, ReasoningGym])
def test_noise_is_the_share_of_incorrect_answers_and_all_can_be_read(batched_class: Any) -> None:
    batched, seeds = batched_class(1), np.arange(400)
    problems = batched.problems(seeds, np.zeros_like(seeds))
    for noise, low, high in ((0.0, 1.0, 1.0), (0.3, 0.63, 0.77), (1.0, 0.0, 0.0)):  # 0.7 +- 3 * sqrt(0.21 / 400)
        _, answers = batched.demonstrations(seeds, noise=noise, rng=np.random.default_rng(0))
        correct, readable = batched.grade(answers, problems)
        assert readable.all()
        assert low <= correct.mean() <= high
    again = batched.demonstrations(seeds, noise=0.5, rng=np.random.default_rng(1))
    assert again == batched.demonstrations(seeds, noise=0.5, rng=np.random.default_rng(1))


def test_demonstrations_refuse_noise_that_is_no_probability_or_has_no_generator() -> None:
    batched = Countdown(1)
    with pytest.raises(ValueError, match="probability from 0 to 1, got 1.5"):
        batched.demonstrations([1], noise=1.5, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="needs rng"):
        batched.demonstrations([1], noise=0.5)


def test_demonstrations_are_reached_through_the_vector_env() -> None:
    env = gymnasium.make_vec("tiltyard/Countdown-v0", num_envs=2, vectorization_mode="vector_entry_point")
    prompts, _ = env.unwrapped.batched.demonstrations([8, 9])
    assert tuple(prompts) == env.reset(seed=[8, 9])[0]


def test_spaces_are_printable_ascii() -> None:
    assert len(CHARSET) == len(set(CHARSET)) == 96  # 95 printable characters and the newline
    env = CountdownEnv()
    assert env.action_space.character_set == env.observation_space.character_set == frozenset(CHARSET)


def test_a_page_shows_question_answer_and_verdict() -> None:
    env = CountdownEnv(render_mode="rgb_array")
    env.reset(seed=0)
    asked = env.render()
    env.step("8 times 8 is 64. " * 80)
    answered = env.render()
    assert asked.shape == answered.shape == (360, 640, 3)
    assert asked.dtype == np.uint8
    assert (asked < 255).any()
    assert (answered != asked).any()


def test_levels_are_whole_numbers_of_the_table() -> None:
    assert level_of(2, {1: "easy", 2: "hard"}) == "hard"
    for level in (True, 1.0, "1", 3, None, [1]):
        with pytest.raises(ValueError, match=r"unknown level .* \(valid: 1, 2\)"):
            level_of(level, {1: "easy", 2: "hard"})
    with pytest.raises(ValueError, match=r"^unknown level '1'; it is a whole number, not str \(valid: 1, 2\)$"):
        level_of("1", {1: "easy", 2: "hard"})


def test_drawn_problems_belong_to_their_split_by_what_they_say_alone() -> None:
    def drawn(split: Any) -> list[int]:
        seeds = np.arange(300)
        return draw_problems(split, seeds, seeds, lambda rng: int(rng.integers(100)), lambda p: str(p % 50))

    train, test = set(drawn("train")), set(drawn("test"))
    assert not {p % 50 for p in train} & {p % 50 for p in test}  # 7 and 57 say the same, and are on one side
    assert {p % 50 for p in train | test} == set(range(50))
    assert drawn("test") == drawn("test")
