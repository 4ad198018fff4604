"""How far actions on a phone in numbers agree with recorded ones: in type, and in what they point at or say.

The type of an action is its verb, where swipes are one type whatever their direction and answers are one whatever they
are taken from. Its argument is what is left: an element, a direction, an app, a text.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...envs.gui.elements import (
    ANSWER_TEXT,
    DETAIL_AT,
    DRAG,
    GOAL_WORDS,
    LONGEST_SPAN,
    NUMERIC_VERBS,
    OPEN,
    TAP,
    TEXT_AT,
    TYPE,
    canonical,
)

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_NAMES = [name.split()[0] for name in NUMERIC_VERBS]
TYPES: Ints = np.array([_NAMES.index(name) for name in _NAMES])
"""The type of each verb ``[18]``: the number of the first verb of its type."""
LONG_PRESS, SWIPE, ANSWER = (_NAMES.index(name) for name in ("long_press", "swipe", "answer"))
TAPPED, HELD, DRAGGED = 8, 9, 10
"""Columns of an element that say whether it can be tapped, held and dragged."""


class Agreement(NamedTuple):
    """Of actions with recorded ones ``[...]``.

    Attributes:
        verb: whether the type is the same.
        exact: whether type and argument are, so that both do the same.
        graded: how far the argument is the same, from 0 to 1; 0 where the type is not.
    """

    verb: Bools
    exact: Bools
    graded: Floats


def agreement(actions: Array, recorded: Array, elements: Array, goals: Array) -> Agreement:
    """Of actions ``[n, 5]`` with recorded ones ``[n, 5]`` on elements ``[n, 64, 24]`` under goals ``[n, 48]``.

    A tap and a long press agree if they hit the same element: the topmost that can take them where they point, in the
    middle of what they name. So a tap on the words in a row is one on the row, and one on a switch in it is not. Texts
    agree if their words do (of an element's text the first eight, of its detail the first four); the grade of a text is
    the F1 score of its words. A drag is half its beginning and half its end.
    """
    mine, theirs = (canonical(one, elements, goals) for one in (actions, recorded))
    kind = TYPES[theirs[:, 0]]
    verb: Bools = TYPES[mine[:, 0]] == kind
    graded = verb.astype(np.float64)
    for one, able in ((TAP, TAPPED), (LONG_PRESS, HELD)):
        at = verb & (kind == one)
        graded[at] = same_target(mine[at, 1], theirs[at, 1], elements[at], able)
    at = verb & (kind == DRAG)
    begun = same_target(mine[at, 1], theirs[at, 1], elements[at], DRAGGED)
    graded[at] = (begun + (mine[at, 2] == theirs[at, 2]).astype(float)) / 2
    at = verb & (kind == SWIPE)
    graded[at] = mine[at, 0] == theirs[at, 0]
    at = verb & (kind == OPEN)
    graded[at] = mine[at, 2] == theirs[at, 2]
    exact = graded == 1
    at = verb & np.isin(kind, (TYPE, ANSWER))
    said, wanted = (texts(one[at], elements[at], goals[at]) for one in (mine, theirs))
    graded[at] = overlap(said, wanted)
    exact[at] = (said == wanted).all(1) & (wanted > 0).any(1)
    same = (mine == theirs).all(1)
    graded[same] = 1.0
    return Agreement(verb, exact | same, graded)


def same_target(mine: Array, theirs: Array, elements: Array, able: int) -> Bools:
    """Whether elements ``[n]`` are the same, or pointing at them hits the same one that can take it.

    Args:
        mine: numbers of elements.
        theirs: others.
        elements: ``[n, 64, 24]``.
        able: the column that says what can take it.
    """
    rows = np.arange(len(elements))
    x0, y0, x1, y1 = np.moveaxis(elements[:, :, 1:5].astype(np.float64), 2, 0)
    takes = (elements[:, :, 0] > 0) & (elements[:, :, able] > 0) & (x0 < x1) & (y0 < y1)  # what has no area is not hit

    def hit(chosen: Array) -> Array:
        x, y = ((a[rows, chosen] + b[rows, chosen])[:, None] / 2 for a, b in ((x0, x1), (y0, y1)))
        holds = takes & (x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)
        topmost: Array = np.where(holds.any(1), holds.shape[1] - 1 - holds[:, ::-1].argmax(1), -1)
        return topmost

    hits = hit(mine)
    found: Bools = (mine == theirs) | ((hits >= 0) & (hits == hit(theirs)))
    return found


def texts(actions: Array, elements: Array, goals: Array) -> Ints:
    """Tokens ``[n, 12]`` of what actions type or answer, zeros after them."""
    verb, first, _, start, length = np.asarray(actions, np.int64).T
    rows, offset = np.arange(len(actions)), np.arange(LONGEST_SPAN)
    places = start[:, None] + offset
    words = goals[rows[:, None], places.clip(max=GOAL_WORDS - 1)]
    found: Ints = np.where((offset <= length[:, None]) & (places < GOAL_WORDS), words, 0).astype(np.int64)
    own = elements[rows, first]
    for one, part in ((ANSWER_TEXT, own[:, TEXT_AT:DETAIL_AT]), (ANSWER_TEXT + 1, own[:, DETAIL_AT:])):
        at = verb == one
        found[at] = 0
        found[at, : part.shape[1]] = part[at]
    return found


def overlap(said: Ints, wanted: Ints) -> Floats:
    """F1 score of the words of texts ``[n, 12]``: twice those in common by those of both, repeated ones counted."""
    common = np.array([_common(*pair) for pair in zip(said, wanted, strict=True)], np.float64)
    found: Floats = 2 * common / np.maximum((said > 0).sum(1) + (wanted > 0).sum(1), 1)
    return found


def _common(one: Ints, other: Ints) -> int:
    words = np.intersect1d(one[one > 0], other[other > 0])
    return int(sum(min((one == word).sum(), (other == word).sum()) for word in words))
