"""When actions on a phone agree: types, targets and texts by hand, and on the phone itself."""

from typing import Any

import gymnasium
import numpy as np

from tiltyard.agents.control.action_match import TAPPED, TYPES, agreement, overlap, same_target, texts
from tiltyard.envs.gui.baselines import NoisyExpert
from tiltyard.envs.gui.elements import NUMERIC_VERBS

VERB = {name: number for number, name in enumerate(NUMERIC_VERBS)}
WORDS = [11, 12, 13, 12]
"""The goal."""


def screen() -> tuple[Any, Any]:
    """A row that can be tapped, words in it, a switch in it that can be tapped too, a row below it."""
    elements, goal = np.zeros((64, 24), np.int16), np.zeros(48, np.int16)
    boxes = [(0, 100, 1000, 200), (100, 120, 600, 180), (800, 120, 900, 180), (0, 200, 1000, 300)]
    for row, box, able in zip(elements, boxes, (1, 0, 1, 1), strict=False):
        row[0], row[1:5], row[TAPPED] = 3, box, able
    elements[0, 12:14], elements[1, 12:16], elements[1, 20] = (11, 12), (12, 13, 12, 14), 12
    goal[:4] = WORDS
    return elements, goal


def agree(actions: list[list[Any]], recorded: list[Any]) -> Any:
    """Of actions with one recorded on the screen; verbs by name."""
    elements, goal = screen()
    n = len(actions)
    wanted = [VERB[recorded[0]], *recorded[1:]]
    flat = np.array([[VERB[one[0]], *one[1:]] for one in actions])
    return agreement(flat, np.array([wanted] * n), np.stack([elements] * n), np.stack([goal] * n))


def test_a_tap_agrees_if_it_hits_the_same_element() -> None:
    # Row, its words (which can't be tapped, so the row is hit), its switch, the row below, a long press, nothing there.
    tried = [["tap", i, 0, 0, 0] for i in range(4)] + [["long_press", 0, 0, 0, 0], ["tap", 9, 0, 0, 0]]
    found = agree(tried, ["tap", 0, 0, 0, 0])
    assert found.verb.tolist() == [True, True, True, True, False, False]
    assert found.exact.tolist() == [True, True, False, False, False, False]
    assert found.graded.tolist() == [1, 1, 0, 0, 0, 0]


def test_a_point_on_the_edge_of_a_box_is_in_it() -> None:
    elements, _ = screen()
    elements[1, 1:5] = (100, 199, 600, 201)  # its middle is at 200, the edge of both rows: the lower one is on top
    both = np.stack([elements, elements])
    assert same_target(np.array([1, 1]), np.array([3, 0]), both, TAPPED).tolist() == [True, False]
    both[:, 1, 4] = 199
    assert same_target(np.array([1, 1]), np.array([3, 0]), both, TAPPED).tolist() == [False, True]


def test_what_has_no_area_is_not_hit() -> None:
    elements = np.zeros((1, 64, 24), np.int16)
    elements[0, :3, 0], elements[0, :3, TAPPED] = 2, 1
    assert not same_target(np.array([1]), np.array([0]), elements, TAPPED).any()


def test_swipes_are_one_type_and_their_direction_is_the_argument() -> None:
    found = agree(
        [["swipe up", 0, 0, 0, 0], ["swipe left", 0, 0, 0, 0], ["back", 0, 0, 0, 0]], ["swipe up", 0, 0, 0, 0]
    )
    assert found.verb.tolist() == [True, True, False]
    assert found.exact.tolist() == [True, False, False]
    assert found.graded.tolist() == [1, 0, 0]


def test_texts_agree_word_by_word() -> None:
    # The goal is 11 12 13 12; typed: 12 13, the same, 13 12 (the same words in another order), 12 alone, 11.
    tried = [["type", 0, 0, *span] for span in ((1, 1), (2, 1), (1, 0), (0, 0))]
    found = agree(tried, ["type", 0, 0, 1, 1])
    assert found.verb.all()
    assert found.exact.tolist() == [True, False, False, False]
    np.testing.assert_allclose(found.graded, [1, 1, 2 / 3, 0])
    again = agree([["type", 0, 0, 3, 0], ["type", 0, 0, 3, 7]], ["type", 0, 0, 1, 0])
    assert again.exact.tolist() == [True, True]  # the same word at another place; a span ends with the goal


def test_an_answer_may_be_taken_from_anywhere() -> None:
    tried = [["answer text", 1, 0, 0, 0], ["answer detail", 1, 0, 0, 0], ["answer words", 0, 0, 1, 2]]
    found = agree(tried, ["answer words", 0, 0, 1, 2])  # 12 13 12; the text is 12 13 12 14, the detail 12
    assert found.verb.all()
    assert found.exact.tolist() == [False, False, True]
    np.testing.assert_allclose(found.graded, [6 / 7, 1 / 2, 1])
    assert agree([["answer words", 0, 0, 1, 0]], ["answer detail", 1, 0, 0, 0]).exact.tolist() == [True]
    assert agree([["answer words", 0, 0, 1, 0]], ["type", 0, 0, 1, 0]).verb.tolist() == [False]


def test_a_drag_is_half_its_beginning_and_half_its_end() -> None:
    tried = [["drag", 0, 3, 0, 0], ["drag", 0, 2, 0, 0], ["drag", 1, 2, 0, 0]]
    found = agree(tried, ["drag", 0, 3, 0, 0])
    assert found.graded.tolist() == [1, 0.5, 0]
    assert found.exact.tolist() == [True, False, False]


def test_apps_and_verbs_without_arguments() -> None:
    assert agree([["open", 0, 2, 0, 0], ["open", 0, 3, 0, 0]], ["open", 0, 2, 0, 0]).graded.tolist() == [1, 0]
    assert agree([["done", 5, 5, 5, 5], ["infeasible", 0, 0, 0, 0]], ["done", 0, 0, 0, 0]).exact.tolist() == [
        True,
        False,
    ]


def test_texts_and_their_overlap_by_hand() -> None:
    elements, goal = screen()
    actions = np.array([[VERB["type"], 0, 0, 2, 1], [VERB["answer text"], 1, 0, 0, 0]])
    found = texts(actions, np.stack([elements] * 2), np.stack([goal] * 2))
    assert found[:, :5].tolist() == [[13, 12, 0, 0, 0], [12, 13, 12, 14, 0]]
    np.testing.assert_allclose(overlap(found[:1], found[1:]), [4 / 6])  # two of them in common: 2 * 2 / (2 + 4)


def test_types_are_verbs_without_what_they_are_about() -> None:
    assert len(set(TYPES.tolist())) == len({name.split()[0] for name in NUMERIC_VERBS})


def test_on_the_phone_no_tap_that_leads_elsewhere_agrees() -> None:
    env: Any = gymnasium.make_vec("tiltyard/Phone-v0", 1, "vector_entry_point", observation="elements")
    expert, elsewhere = NoisyExpert(env.unwrapped.batched), 0
    for seed in range(5):
        seen = env.reset(seed=seed)[0]
        recorded = expert.predict(seen)[0]
        assert agreement(recorded, recorded, seen["elements"], seen["goal"]).exact.all()
        shown = env.step(recorded)[0]["elements"]
        for i in np.flatnonzero(seen["elements"][0, :, 0]):
            tried = np.array([[VERB["tap"], i, 0, 0, 0]])
            env.reset(seed=seed)
            if (env.step(tried)[0]["elements"] != shown).any():
                elsewhere += 1
                assert not agreement(tried, recorded, seen["elements"], seen["goal"]).exact.any()
    assert elsewhere > 10
