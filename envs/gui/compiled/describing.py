"""What agents see of a compiled phone: the accessibility tree in words, and its elements in numbers."""

import math

import numpy as np
import numpy.typing as npt

from ..elements import COLUMNS, DETAIL_AT, DETAIL_WORDS, ELEMENTS, GOAL_WORDS, TEXT_AT, TEXT_WORDS, TOKENS
from ..ui import HEIGHT, WIDTH
from . import memory as w
from . import nodes as nd
from . import roles as r
from .acting import APP, top
from .jit import compiled, inlined
from .memory import character, equal, put, put_int, put_text, size
from .nodes import box_of
from .pages import longest_scroll
from .pool import APP_SIZE, APPS, HOME_TEXT

LONGEST_TEXT = 60
_OFFSET, _PRIME, _ALL = 0x811C9DC5, 0x01000193, 0xFFFFFFFF


def _array(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


_ROLES = _array("".join(role.ljust(12) for role in r.ROLES))
_LENGTHS = np.array([len(role) for role in r.ROLES])
_SCREEN, _STATUS, _MESSAGE, _SWIPE = _array('screen "'), _array('status "'), _array('message "'), _array("swipe")
_OFF, _ON, _FOCUSED, _DISABLED = _array(" unchecked"), _array(" checked"), _array(" focused"), _array(" disabled")
_HOLD, _DRAG, _DROP, _UP, _DOWN = _array(" hold"), _array(" drag"), _array(" drop"), _array(" up"), _array(" down")


@compiled
def _say(m, word):  # type: ignore[no-untyped-def]
    for c in word:
        put(m, c)


@compiled
def _plain(m, pool, text):  # type: ignore[no-untyped-def]
    """A text in quotes: its first characters, double quotes as single ones."""
    put(m, 34)
    for i in range(min(size(m, pool, text), LONGEST_TEXT)):
        c = character(m, pool, text >> 3, i)
        put(m, 39 if c == 34 else c)
    put(m, 34)


@compiled
def _hundredths(m, share):  # type: ignore[no-untyped-def]
    """A number from 0 up with two digits behind the point, half to even, as Python shows it."""
    put(m, 32)
    scaled = share * 100.0
    n = int(math.floor(scaled))
    rest = scaled - n
    if rest == 0.5:
        # What the product lost in rounding (Dekker 1971) says on which side of the middle the number really is.
        high = 134217729.0 * share - (134217729.0 * share - share)
        lost = (high * 100.0 - scaled) + (share - high) * 100.0
        n += lost > 0.0 or (lost == 0.0 and n % 2 == 1)
    elif rest > 0.5:
        n += 1
    put_int(m, n // 100, 1)
    put(m, 46)
    put_int(m, n % 100, 2)


@compiled
def tree(m, f, pool):  # type: ignore[no-untyped-def]
    """Writes the tree onto the scratch pad; how long it is."""
    m[w.SCRATCH_LENGTH] = 0
    _say(m, _SCREEN)
    _where(m, pool)
    put(m, 34)
    put(m, 10)
    _say(m, _STATUS)
    put_int(m, m[w.CLOCK] // 60, 2)
    put(m, 58)
    put_int(m, m[w.CLOCK] % 60, 2)
    put(m, 32)
    put_int(m, m[w.CHARGE], 1)
    put(m, 37)
    if size(m, pool, m[w.STATUS_TEXT]):
        put(m, 32)
        put_text(m, pool, m[w.STATUS_TEXT])
    put(m, 34)
    if size(m, pool, m[w.MESSAGE]):
        put(m, 10)
        _say(m, _MESSAGE)
        put_text(m, pool, m[w.MESSAGE])
        put(m, 34)
    first = m[w.PAGE_SHOWN] if m[w.DIALOG_SHOWN] else 0
    for i in range(first, m[w.PAGE_SHOWN] + m[w.DIALOG_SHOWN]):
        place = m[w.SHOWN + i]
        if m[place + nd.ROLE] != r.KEY:
            put(m, 10)
            _line(m, f, pool, place)
    _hints(m, f)
    n = m[w.SCRATCH_LENGTH]
    m[w.SCRATCH_LENGTH] = 0
    return n


@compiled
def _where(m, pool):  # type: ignore[no-untyped-def]
    if not m[w.STACKED]:
        put_text(m, pool, pool[HOME_TEXT])
        return
    name, title = pool[pool[APPS] + APP_SIZE * m[top(m) + APP]], m[w.TITLE]
    put_text(m, pool, name)
    if not m[w.LOADING] and size(m, pool, title) and not equal(m, pool, title, name):
        put(m, 58)
        put(m, 32)
        put_text(m, pool, title)


@compiled
def _line(m, f, pool, place):  # type: ignore[no-untyped-def]
    role, box = m[place + nd.ROLE], box_of(place)
    for i in range(_LENGTHS[role]):
        put(m, _ROLES[12 * role + i])
    put(m, 32)
    _plain(m, pool, m[place + nd.TEXT])
    detail = m[place + nd.DETAIL]
    if detail & 7 == w.TEXT and size(m, pool, detail):
        put(m, 32)
        _plain(m, pool, detail)
    _hundredths(m, f[box] / WIDTH)
    _hundredths(m, f[box + 4] / HEIGHT)
    _hundredths(m, f[box + 2] / WIDTH)
    _hundredths(m, f[box + 5] / HEIGHT)
    if m[place + nd.CHECKED] == 1:
        _say(m, _OFF)
    elif m[place + nd.CHECKED] == 2:
        _say(m, _ON)
    if m[place + nd.FOCUSED]:
        _say(m, _FOCUSED)
    if m[place + nd.DISABLED]:
        _say(m, _DISABLED)
    if m[place + nd.HOLD] >= 0:
        _say(m, _HOLD)
    if m[place + nd.DROP] >= 0:
        _say(m, _DRAG)
    if m[place + nd.TARGET] != w.NONE:
        _say(m, _DROP)


@compiled
def _hints(m, f):  # type: ignore[no-untyped-def]
    """Which ways the page can be scrolled."""
    if m[w.LOADING] or m[w.HAS_DIALOG] or not m[w.STACKED] or longest_scroll(f) <= 0:
        return
    scroll = f[m[w.STACKED] - 1]
    put(m, 10)
    _say(m, _SWIPE)
    up, down = scroll < longest_scroll(f) - 0.5, scroll > 0.5
    if up:
        _say(m, _UP)
    if down:
        _say(m, _DOWN)
    if not up and not down:
        put(m, 32)


@inlined
def _word_character(c):  # type: ignore[no-untyped-def]
    """The lower case of a letter or a digit; 0 for anything else."""
    return c + 32 if 65 <= c <= 90 else c if 97 <= c <= 122 or 48 <= c <= 57 else 0


@compiled
def tokens(m, pool, text, out, most):  # type: ignore[no-untyped-def]
    """The tokens of a text's first words ``[most]``."""
    found, code, inside = 0, _OFFSET, False
    n = size(m, pool, text) if text & 7 == w.TEXT else 0
    for i in range(n + 1):
        c = _word_character(character(m, pool, text >> 3, i)) if i < n else 0
        if c:
            code = ((code ^ c) * _PRIME) & _ALL
            inside = True
        elif inside:
            if found == most:
                break
            out[found] = 1 + code % (TOKENS - 1)
            found, code, inside = found + 1, _OFFSET, False


@compiled
def elements(m, f, pool, out, goal):  # type: ignore[no-untyped-def]
    """What can be seen in numbers ``[64, 24]``, and the goal's words ``[48]``: :mod:`tiltyard.envs.gui.elements`."""
    for i in range(ELEMENTS):
        for k in range(COLUMNS):
            out[i, k] = 0
    for k in range(GOAL_WORDS):
        goal[k] = 0
    tokens(m, pool, m[w.GOAL], goal, GOAL_WORDS)
    n = 0
    first = m[w.PAGE_SHOWN] if m[w.DIALOG_SHOWN] else 0
    for i in range(first, m[w.PAGE_SHOWN] + m[w.DIALOG_SHOWN]):
        place = m[w.SHOWN + i]
        if m[place + nd.ROLE] != r.KEY and n < ELEMENTS:
            _element(m, f, pool, place, out[n])
            n += 1


@inlined
def _thousandths(share):  # type: ignore[no-untyped-def]
    return int(math.floor(share * 1000 + 0.5))


@compiled
def _element(m, f, pool, place, row):  # type: ignore[no-untyped-def]
    box = box_of(place)
    row[0] = 1 + m[place + nd.ROLE]
    row[1], row[2] = _thousandths(f[box] / WIDTH), _thousandths(f[box + 4] / HEIGHT)
    row[3], row[4] = _thousandths(f[box + 2] / WIDTH), _thousandths(f[box + 5] / HEIGHT)
    row[5], row[6], row[7] = m[place + nd.CHECKED], m[place + nd.FOCUSED], m[place + nd.DISABLED]
    row[8] = m[place + nd.TAP] != nd.NOTHING
    row[9], row[10] = m[place + nd.HOLD] >= 0, m[place + nd.DROP] >= 0
    row[11] = m[place + nd.ICON]
    tokens(m, pool, m[place + nd.TEXT], row[TEXT_AT:], TEXT_WORDS)
    tokens(m, pool, m[place + nd.DETAIL], row[DETAIL_AT:], DETAIL_WORDS)
