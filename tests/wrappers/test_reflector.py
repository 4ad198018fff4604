from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.benchmarks import evaluate
from tiltyard.benchmarks.studies.phone_reflector import difference, played
from tiltyard.envs.gui.baselines import WordMatcher
from tiltyard.envs.gui.reading_trees import TreePolicy
from tiltyard.wrappers import Reflector
from tiltyard.wrappers.phone_view import of_tree, view

V0 = "tiltyard/Phone-v0"


class Script:
    """Says its lines one after the other, the last one for ever."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> Any:
        return (self.lines.pop(0) if len(self.lines) > 1 else self.lines[0]), state


def seen(*lines: str, goal: str = "Turn on Bluetooth") -> dict[str, str]:
    return {"tree": "\n".join(lines), "goal": goal}


HOME = seen('title "Settings" 0.2 0.0 0.8 0.1', 'row "Bluetooth" 0.0 0.2 1.0 0.3', 'row "Language" 0.0 0.3 1.0 0.4')
LANGUAGE = seen('title "Language" 0.2 0.0 0.8 0.1', 'radio "English" 0.0 0.2 1.0 0.3 checked')
SWITCHES = ('switch "Use" 0.0 0.2 1.0 0.3 unchecked', 'switch "Other" 0.0 0.3 1.0 0.4 unchecked')
BLUETOOTH = seen('title "Bluetooth" 0.2 0.0 0.8 0.1', *SWITCHES)
TAP = "tap 0.500 0.250"


def actions(reflector: Reflector, *shown: dict[str, str]) -> list[str]:
    return [reflector.predict(one, episode_start=np.array([i == 0]))[0] for i, one in enumerate(shown)]


def test_what_did_nothing_is_done_once_more_and_then_something_else() -> None:
    reflector = Reflector(Script(TAP, "tap 0.500 0.350"))
    assert actions(reflector, HOME, HOME, HOME) == [TAP, TAP, "tap 0.500 0.350"]
    assert reflector.counts == {"nothing": 2}


def test_a_policy_that_insists_is_overruled() -> None:
    assert actions(Reflector(Script(TAP)), HOME, HOME, HOME) == [TAP, TAP, "swipe up"]


def test_after_a_slip_it_goes_back_and_does_it_again() -> None:
    reflector = Reflector(Script(TAP, "done"))
    assert actions(reflector, HOME, LANGUAGE, HOME, BLUETOOTH) == [TAP, "back", TAP, "done"]
    assert reflector.counts == {"slip": 1}


def test_a_screen_that_the_tap_is_about_is_on_the_way() -> None:
    assert actions(Reflector(Script(TAP, "done")), HOME, BLUETOOTH) == [TAP, "done"]


def test_another_switch_that_turned_over_is_turned_back() -> None:
    wrong = {**BLUETOOTH, "tree": BLUETOOTH["tree"].replace("1.0 0.4 unchecked", "1.0 0.4 checked")}
    found = actions(Reflector(Script(TAP, "done")), BLUETOOTH, wrong, BLUETOOTH)
    assert found == [TAP, "tap 0.500 0.350", TAP]


def test_a_radio_that_lost_its_choice_gets_it_back() -> None:
    rows = ('title "Language" 0.2 0.0 0.8 0.1', 'radio "A" 0.0 0.2 1.0 0.3 {}', 'radio "B" 0.0 0.3 1.0 0.4 {}')
    one, other = (seen(*(row.format(*flags) for row, flags in zip(rows, ((), (a,), (b,)), strict=True)))
                  for a, b in (("checked", "unchecked"), ("unchecked", "checked")))  # fmt: skip
    assert actions(Reflector(Script("swipe up", "done")), one, other) == ["swipe up", TAP]


def test_a_wrong_turn_of_the_policy_is_left_and_not_repeated() -> None:
    reflector = Reflector(Script("tap 0.500 0.350", TAP, "done"))
    assert actions(reflector, HOME, LANGUAGE, HOME) == ["tap 0.500 0.350", "back", TAP]
    assert reflector.counts == {"astray": 1}


def test_the_end_is_confirmed_by_most_answers() -> None:
    assert actions(Reflector(Script("done", TAP, "back", TAP)), HOME) == ["back"]
    assert actions(Reflector(Script("done", TAP, "done")), HOME) == ["done"]
    assert actions(Reflector(Script("done", TAP), asks=1), HOME) == ["done"]


def test_pages_at_their_end_are_no_slips() -> None:
    assert actions(Reflector(Script("swipe up", "done")), HOME, HOME) == ["swipe up", "done"]


def test_both_observations_are_the_same_view() -> None:
    for seed in range(5):
        words = gymnasium.make(V0)
        numbers = gymnasium.make(V0, observation="elements")
        one, other = view(words.reset(seed=seed)[0]), view(numbers.reset(seed=seed)[0])
        assert [a._replace(box=b.box) for a, b in zip(one.elements, other.elements, strict=True)] == list(
            other.elements
        )
        assert one.place == other.place
    with pytest.raises(TypeError, match="elements or its tree"):
        view({"screen": 0, "goal": ""})


def test_the_topmost_element_that_can_be_tapped_is_hit() -> None:
    found = of_tree('row "A" 0.0 0.2 1.0 0.3\ntext "B" 0.0 0.2 1.0 0.3')
    assert (found.at(0.5, 0.25), found.at(0.5, 0.5)) == (0, None)


@pytest.mark.slow  # 480 episodes
def test_without_noise_the_matcher_loses_little_and_with_it_it_wins() -> None:
    env = gymnasium.make(V0, observation="elements")
    seeds = range(1000, 1120)
    clean, bare, careful = (
        sum(played(env, "word matcher", "execution", noise, seed, reflect)[0] for seed in seeds)
        for noise, reflect in ((0.0, True), (0.1, False), (0.1, True))
    )
    plain = sum(played(env, "word matcher", "execution", 0.0, seed, False)[0] for seed in seeds)
    assert clean >= plain - 3
    assert careful > bare


def test_several_episodes_at_once_and_bad_settings_are_refused() -> None:
    env = gymnasium.make_vec(V0, 2, vectorization_mode="vector_entry_point", observation="elements")
    with pytest.raises(ValueError, match="one environment"):
        Reflector(WordMatcher()).predict(env.reset(seed=0)[0])
    one = {name: part[:1] for name, part in env.reset(seed=0)[0].items()}
    assert Reflector(WordMatcher()).predict(one)[0].shape == (1, 5)
    with pytest.raises(ValueError, match="retries"):
        Reflector(WordMatcher(), retries=-1)


def test_one_problem_is_evaluated_as_the_policy_behind_it_is() -> None:
    careful = Reflector(TreePolicy(WordMatcher()))  # writes words
    assert len(evaluate(careful, "tiltyard/Phone-v1", episodes=1, seeds=[3], observation="tree").scores) == 1
    with pytest.raises(ValueError, match=r"one problem at a time: .*episodes=1, seeds=\[seed\]"):
        evaluate(careful, "tiltyard/Phone-v1", episodes=2, observation="tree")


def test_the_difference_of_the_study_by_hand() -> None:
    gain, low, high = difference([0, 0, 1, 1], [1, 1, 1, 1], np.random.default_rng(0))
    assert (gain, low) == (0.5, 0.0)
    assert high == 1.0
