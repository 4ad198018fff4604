"""Problems, steps and views of many phones: loops over rows of memory, and actions in numbers."""

import math

import numpy as np

from ..commands import LONGEST
from ..elements import GOAL_WORDS
from ..ui import HEIGHT, WIDTH
from . import memory as w
from . import nodes as nd
from . import roles as r
from .calling import refresh
from .describing import elements, tree
from .device import ANSWER, BACK, DRAG, ENTER, HOME, INFEASIBLE, LONG_PRESS, OPEN, TAP, TYPE, UNREADABLE, UP, WAIT, act
from .device import DONE as DONE_VERB
from .jit import compiled
from .memory import FNV_PRIME, FNV_START, character, equal, part, put, size, take_text
from .nodes import box_of
from .painting import paint
from .phones import begin
from .pool import APP_COUNT, APP_SIZE, APPS, EMPTY, SHOWN_APPS, SHOWN_COUNT, TASK_SIZE, TASKS

_VERBS = np.array([
    TAP, LONG_PRESS, DRAG, UP, UP + 1, UP + 2, UP + 3, TYPE, BACK, HOME, ENTER, OPEN, WAIT, ANSWER, ANSWER, ANSWER,
    DONE_VERB, INFEASIBLE,
])  # fmt: skip
"""Verbs by the numbers of :data:`tiltyard.envs.gui.elements.NUMERIC_VERBS`."""
_TYPE, _OPEN, _TEXT, _DETAIL, _WORDS = 7, 11, 13, 14, 15


@compiled
def begin_all(M, F, code, pool, indices, keys, numbers, weights, names, settings, odds):  # type: ignore[no-untyped-def]
    """Puts the problems of keys ``[k]`` on the phones ``indices`` ``[k]``."""
    for j in range(len(indices)):
        m, f = M[indices[j]], F[indices[j]]
        begin(m, f, code, pool, keys[j], numbers, weights, names, settings, odds)
        refresh(m, f, code, pool)


@compiled
def hash_texts(characters, ends, out):  # type: ignore[no-untyped-def]
    """The FNV-1a hashes ``out`` ``[k]`` (signed words) of texts end to end; text i ends at ``ends[i + 1]``."""
    for i in range(len(out)):
        digest = np.int64(FNV_START)
        for k in range(ends[i], ends[i + 1]):
            digest = (digest ^ np.int64(characters[k])) * FNV_PRIME
        out[i] = digest


@compiled
def step_words(M, F, code, pool, start, stop, active, verbs, points, texts, ends):  # type: ignore[no-untyped-def]
    """One step of the active phones from ``start`` to ``stop``.

    Args:
        verbs: ``[n]`` numbers of :mod:`.device`.
        points: ``[n, 4]`` shares of the screen.
        texts: characters of all texts, end to end.
        ends: ``[n + 1]`` where the texts end; the first entry is 0.
    """
    for i in range(start, stop):
        if active[i]:
            m = M[i]
            text = pool[EMPTY]
            if ends[i + 1] > ends[i]:
                for k in range(ends[i], ends[i + 1]):
                    put(m, texts[k])
                text = take_text(m)
            act(m, F[i], code, pool, verbs[i], points[i, 0], points[i, 1], points[i, 2], points[i, 3], text)


@compiled
def step_numbers(M, F, code, pool, start, stop, active, actions):  # type: ignore[no-untyped-def]
    """One step of the active phones by actions ``[n, 5]`` in numbers: what ``elements.decode`` says."""
    for i in range(start, stop):
        if active[i]:
            _step(M[i], F[i], code, pool, actions[i])


@compiled
def _step(m, f, code, pool, action):  # type: ignore[no-untyped-def]
    verb, kind = _VERBS[action[0]], action[0]
    x, y, x1, y1, text = 0.0, 0.0, 0.0, 0.0, pool[EMPTY]
    first, second = _listed(m, action[1]), _listed(m, action[2])
    if kind < 3:
        if first < 0 or (kind == 2 and second < 0):
            verb = WAIT
        else:
            x, y = _middle(f, first)
            if kind == 2:
                x1, y1 = _middle(f, second)
    elif kind == _TYPE or kind == _WORDS:
        text = _spoken(m, pool, action[3], action[4])
    elif kind == _TEXT or kind == _DETAIL:
        if first >= 0:
            text = m[first + (nd.TEXT if kind == _TEXT else nd.DETAIL)]
            text = text if text & 7 == w.TEXT else pool[EMPTY]
    elif kind == _OPEN:
        app = pool[pool[SHOWN_APPS] + action[2] % pool[SHOWN_COUNT]]
        text = pool[pool[APPS] + APP_SIZE * app]
    if verb == TYPE or verb == ANSWER:
        text = text if verb == TYPE else _stripped(m, pool, text)
        n = size(m, pool, text)
        if n == 0:
            verb = WAIT
        elif n + (5 if verb == TYPE else 7) > LONGEST:
            verb = UNREADABLE
    act(m, f, code, pool, verb, x, y, x1, y1, text)


@compiled
def _stripped(m, pool, text):  # type: ignore[no-untyped-def]
    start, stop = 0, size(m, pool, text)
    while start < stop and character(m, pool, text >> 3, start) == 32:
        start += 1
    while stop > start and character(m, pool, text >> 3, stop - 1) == 32:
        stop -= 1
    return part(m, pool, text, start, stop)


@compiled
def _listed(m, number):  # type: ignore[no-untyped-def]
    """Where the element of a number stands, or -1."""
    n = 0
    first = m[w.PAGE_SHOWN] if m[w.DIALOG_SHOWN] else 0
    for i in range(first, m[w.PAGE_SHOWN] + m[w.DIALOG_SHOWN]):
        if m[m[w.SHOWN + i] + nd.ROLE] != r.KEY:
            if n == number:
                return m[w.SHOWN + i]
            n += 1
    return -1


@compiled
def _middle(f, place):  # type: ignore[no-untyped-def]
    """The middle of what can be seen of a node, in shares of the screen, in thousandths as actions in words say it."""
    box = box_of(place)
    x, y = (f[box] + f[box + 2]) / 2 / WIDTH, (f[box + 4] + f[box + 5]) / 2 / HEIGHT
    return math.floor(x * 1000 + 0.5) / 1000, math.floor(y * 1000 + 0.5) / 1000


@compiled
def _spoken(m, pool, start, length):  # type: ignore[no-untyped-def]
    """The goal from one of its words to the end of another: ``elements.spoken``."""
    goal = m[w.GOAL]
    n, word, begin_, end, i = size(m, pool, goal), 0, -1, -1, 0
    while i < n and word < GOAL_WORDS:
        if not _alphanumeric(character(m, pool, goal >> 3, i)):
            i += 1
            continue
        j = i
        while j < n and _alphanumeric(character(m, pool, goal >> 3, j)):
            j += 1
        if word == start:
            begin_ = i
        if begin_ >= 0 and word <= start + length:
            end = j
        word += 1
        i = j
    return part(m, pool, goal, begin_, end) if begin_ >= 0 else pool[EMPTY]


@compiled
def _alphanumeric(c):  # type: ignore[no-untyped-def]
    return 48 <= c <= 57 or 65 <= c <= 90 or 97 <= c <= 122


@compiled
def holds(m, pool):  # type: ignore[no-untyped-def]
    """Whether the goal is reached as things stand: the state of every app, the answer, and how the episode ended."""
    for app in range(pool[APP_COUNT]):
        if not equal(m, pool, m[w.ROOTS + app], m[w.WANTED + app]):
            return False
    infeasible = pool[pool[TASKS] + TASK_SIZE * m[w.TEMPLATE] + 2]
    if (m[w.ENDED] == INFEASIBLE) != (infeasible == 1):
        return False
    if size(m, pool, m[w.WANTED_ANSWER]) == 0:
        return True
    return equal(m, pool, _compared(m, pool, m[w.ANSWER]), _compared(m, pool, m[w.WANTED_ANSWER]))


@compiled
def _compared(m, pool, text):  # type: ignore[no-untyped-def]
    """An answer as answers are compared: in lower case, with single spaces."""
    gap = False
    for i in range(size(m, pool, text)):
        c = character(m, pool, text >> 3, i)
        if c == 32:
            gap = m[w.SCRATCH_LENGTH] > 0
        else:
            if gap:
                put(m, 32)
            gap = False
            put(m, c + 32 if 65 <= c <= 90 else c)
    return take_text(m)


@compiled
def outcomes(M, pool, active, ended, success, faults):  # type: ignore[no-untyped-def]
    """Which phones' episodes have ended, and whether their goals are reached ``[n]``; faults of the machine."""
    for i in range(len(active)):
        if active[i]:
            ended[i] = M[i, w.ENDED] != 0
            success[i] = ended[i] and holds(M[i], pool)
            faults[i] = M[i, w.FAULT]


@compiled
def view_numbers(M, F, pool, start, stop, found, goals):  # type: ignore[no-untyped-def]
    """Elements ``[n, 64, 24]`` and goal words ``[n, 48]`` of the phones from ``start`` to ``stop``."""
    for i in range(start, stop):
        elements(M[i], F[i], pool, found[i], goals[i])


@compiled
def paint_all(M, F, pool, chosen, screens, coverage, glyphs, scale, ops, text):  # type: ignore[no-untyped-def]
    """Paints the phones ``chosen`` into ``screens`` ``[n, H, W, 3]``; ``ops``, ``text``: room for a display list."""
    for i in chosen:
        paint(M[i], F[i], pool, screens[i], ops, text, coverage, glyphs, scale)


@compiled
def view_tree(m, f, pool, out):  # type: ignore[no-untyped-def]
    """The tree's characters; how many."""
    n = tree(m, f, pool)
    for k in range(n):
        out[k] = m[w.SCRATCH + k]
    return n
