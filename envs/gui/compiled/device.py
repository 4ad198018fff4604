"""One step of a compiled phone: what :class:`tiltyard.envs.gui.twisted.TwistedPhone` does with a command."""

from ..device import LONGEST_FIELD, SCROLL_SHARE
from ..twists import NOTICE_STEPS
from ..ui import HEIGHT, WIDTH
from . import memory as w
from . import nodes as nd
from .acting import ASKED_BY, DRAFTS, ENV, FAILED, FOCUS, UNITS, VIEW, delay, push_screen, top
from .calling import refresh, run
from .collecting import collect, crowded
from .jit import compiled, inlined
from .memory import character, equal, part, put, put_text, size, take_text
from .nodes import box_of, restore
from .pool import (
    APP_SIZE,
    APPS,
    CORRECTION_COUNT,
    CORRECTIONS,
    EMPTY,
    FIRST_VIEWS,
    NO_APP_TEXT,
    NO_FIELD_TEXT,
    POPUPS,
    SHOWN_APPS,
    SHOWN_COUNT,
    UNIT_SIZE,
    UNREADABLE_TEXT,
)
from .pool import UNITS as UNIT_TABLE

(
    UNREADABLE, TAP, LONG_PRESS, DRAG, UP, DOWN, LEFT, RIGHT, TYPE, BACK, HOME, ENTER, OPEN, WAIT, ANSWER, DONE,
    INFEASIBLE,
) = range(17)  # fmt: skip
"""Verbs by number."""


@compiled
def act(m, f, code, pool, verb, x, y, x1, y1, text):  # type: ignore[no-untyped-def]
    """One step: the command (ignored while a screen loads), whatever is due, and the new screen."""
    m[w.STEPS] += 1
    m[w.MESSAGE] = pool[UNREADABLE_TEXT] if verb == UNREADABLE else pool[EMPTY]
    if verb == DONE or verb == INFEASIBLE:
        m[w.ENDED] = verb
    m[w.SP] = 0
    if m[w.LOADING]:
        m[w.LOADING] -= 1
    elif verb == TAP:
        place = _under(m, f, x, y, nd.TAP)
        if place >= 0:
            fire(m, f, code, pool, place)
    elif verb == LONG_PRESS:
        place = _under(m, f, x, y, nd.HOLD)
        if place >= 0:
            _run(m, f, code, pool, place, m[place + nd.HOLD])
    elif verb == DRAG:
        _drag(m, f, code, pool, x, y, x1, y1)
    elif UP <= verb <= RIGHT:
        _swipe(m, f, code, pool, verb)
    else:
        _other(m, f, code, pool, verb, text)
    _come(m, f, code, pool)
    if crowded(m):
        collect(m, pool)
    refresh(m, f, code, pool)


@compiled
def _other(m, f, code, pool, verb, text):  # type: ignore[no-untyped-def]
    if verb == TYPE:
        if m[w.HAS_DIALOG] or focus(m) < 0:
            m[w.MESSAGE] = pool[NO_FIELD_TEXT]
        else:
            press(m, pool, _corrected(m, pool, text) if m[w.CORRECTS] else text)
    elif verb == BACK:
        back(m, f, code, pool)
    elif verb == HOME:
        if not m[w.HAS_DIALOG]:
            m[w.STACKED] = 0
    elif verb == ENTER:
        enter(m, f, code, pool)
    elif verb == OPEN:
        _open(m, f, pool, text)
    elif verb == ANSWER:
        m[w.ANSWER] = text


@compiled
def _come(m, f, code, pool):  # type: ignore[no-untyped-def]
    """Dialogs that are due, one at a time; a notification that grows older, or comes."""
    if not m[w.LOADING] and not m[w.HAS_DIALOG]:
        first, n = -1, m[w.DUE_COUNT]
        for k in range(n):
            step = m[w.DUE + 2 * k]
            if 0 < step <= m[w.STEPS] and (first < 0 or step < m[w.DUE + 2 * first]):
                first = k
        if first >= 0:
            m[w.DUE + 2 * first] = 0
            run(m, f, code, pool, pool[pool[POPUPS] + m[w.DUE + 2 * first + 1]])
    if m[w.NOTICED]:
        m[w.NOTICED] -= 1
    elif 0 < m[w.NOTICE_STEP] <= m[w.STEPS] and not m[w.LOADING] and not m[w.HAS_DIALOG]:
        m[w.NOTICED], m[w.NOTICE_STEP] = NOTICE_STEPS, 0
        m[w.NOTICE_SHOWN_APP], m[w.NOTICE_SHOWN] = m[w.NOTICE_APP], m[w.NOTICE]


@inlined
def focus(m):  # type: ignore[no-untyped-def]
    """The draft that is typed into, or -1."""
    return (m[top(m) + FOCUS] >> 3) - 1 if m[w.STACKED] else -1


@compiled
def _under(m, f, x, y, what):  # type: ignore[no-untyped-def]
    """The topmost node at a point (in shares of the screen) that can be tapped, held or dragged; -1: it is disabled."""
    x, y = min(x * WIDTH, WIDTH - 0.01), min(y * HEIGHT, HEIGHT - 0.01)
    first = m[w.PAGE_SHOWN] if m[w.DIALOG_SHOWN] else 0
    for i in range(m[w.PAGE_SHOWN] + m[w.DIALOG_SHOWN] - 1, first - 1, -1):
        place = m[w.SHOWN + i]
        box = box_of(place)
        if f[box] <= x < f[box + 2] and f[box + 4] <= y < f[box + 5]:
            able = m[place + what] != w.NONE if what == nd.TARGET else m[place + what] != nd.NOTHING
            if able:
                return -1 if m[place + nd.DISABLED] else place
    return -1


@compiled
def _run(m, f, code, pool, place, unit):  # type: ignore[no-untyped-def]
    m[w.SELF] = top(m)
    restore(m, pool, place, unit)
    run(m, f, code, pool, pool[pool[UNIT_TABLE] + UNIT_SIZE * unit])


@compiled
def fire(m, f, code, pool, place):  # type: ignore[no-untyped-def]
    """Does what a tap on a node does."""
    tap, about = m[place + nd.TAP], m[place + nd.CAPTURED]
    if tap >= 0:
        _run(m, f, code, pool, place, tap)
    elif tap == nd.BACK:
        back(m, f, code, pool)
    elif tap == nd.FOCUS_ON:
        m[top(m) + FOCUS] = (about + 1) << 3 | w.INT
        m[w.KEYS_PAGE] = 0
    elif tap == nd.CLEAR_FIELD:
        m[top(m) + DRAFTS + about] = pool[EMPTY]
    elif tap == nd.LAUNCH or tap == nd.FOLLOW:
        m[w.NOTICED] = 0 if tap == nd.FOLLOW else m[w.NOTICED]
        launch(m, f, pool, about)
    elif tap == nd.KEY:
        _key(m, f, code, pool, about, m[place + nd.CAPTURED + 1])
    elif tap == nd.ANSWER:
        answer(m, f, code, pool, about)
    elif tap == nd.TEMPT:
        run(m, f, code, pool, about)
    elif tap == nd.RETRY:
        m[top(m) + FAILED] = w.FALSE
        m[w.LOADING] = delay(m, m[top(m) + VIEW])


@compiled
def launch(m, f, pool, app):  # type: ignore[no-untyped-def]
    """Opens an app's first screen on an otherwise empty stack."""
    m[w.STACKED] = 0
    push_screen(m, f, pool, app, pool[pool[FIRST_VIEWS] + app], w.NONE)


@compiled
def answer(m, f, code, pool, button):  # type: ignore[no-untyped-def]
    """Presses a button of the dialog."""
    m[w.HAS_DIALOG], m[w.SELF] = 0, m[w.DIALOG + ASKED_BY] >> 3
    for k in range(w.MOST_LOCALS):
        m[w.LOCALS + k] = m[w.DIALOG + ENV + k]
    unit = m[w.DIALOG + UNITS + button] >> 3
    run(m, f, code, pool, pool[pool[UNIT_TABLE] + UNIT_SIZE * unit])


@compiled
def back(m, f, code, pool):  # type: ignore[no-untyped-def]
    """The harmless button of a dialog; or closes the keyboard; or the screen."""
    if m[w.HAS_DIALOG]:
        answer(m, f, code, pool, 0)
    elif focus(m) >= 0:
        m[top(m) + FOCUS] = w.INT
    elif m[w.STACKED]:
        m[w.STACKED] -= 1


@compiled
def enter(m, f, code, pool):  # type: ignore[no-untyped-def]
    """Submits the page, or moves on to the next field, or closes the keyboard."""
    if m[w.HAS_DIALOG] or focus(m) < 0:
        return
    position = m[w.FIELD_COUNT]
    for k in range(m[w.FIELD_COUNT]):
        if m[w.FIELDS + k] == focus(m):
            position = k
            break
    m[top(m) + FOCUS] = w.INT
    if m[w.ENTER_UNIT]:
        _run(m, f, code, pool, m[w.ENTER_NODE], m[w.ENTER_UNIT] - 1)
    elif position + 1 < m[w.FIELD_COUNT]:
        m[top(m) + FOCUS] = (m[w.FIELDS + position + 1] + 1) << 3 | w.INT


@compiled
def press(m, pool, text):  # type: ignore[no-untyped-def]
    """Adds characters to the focused field, as far as there is room."""
    draft = top(m) + DRAFTS + focus(m)
    put_text(m, pool, m[draft])
    put_text(m, pool, text)
    m[w.SCRATCH_LENGTH] = min(m[w.SCRATCH_LENGTH], LONGEST_FIELD)
    m[draft] = take_text(m)


@compiled
def _key(m, f, code, pool, types, page):  # type: ignore[no-untyped-def]
    """A key of the keyboard: enter (-1), a backspace (9) or a character, 1 added; and the page after it."""
    if types < 0:
        enter(m, f, code, pool)
        return
    if types == 9:
        draft = top(m) + DRAFTS + focus(m)
        n = size(m, pool, m[draft])
        m[draft] = part(m, pool, m[draft], 0, min(max(n - 1, 0), LONGEST_FIELD))
    elif types:
        put(m, types - 1)
        press(m, pool, take_text(m))
    if page:
        m[w.KEYS_PAGE] = page - 1


@compiled
def _swipe(m, f, code, pool, verb):  # type: ignore[no-untyped-def]
    if m[w.NOTICED] and verb == UP and not m[w.HAS_DIALOG]:
        m[w.NOTICED] = 0
    elif m[w.HAS_DIALOG] or not m[w.STACKED]:
        return
    elif verb == LEFT or verb == RIGHT:
        place = m[w.SWIPE_LEFT] if verb == LEFT else m[w.SWIPE_RIGHT]
        if place:
            fire(m, f, code, pool, place)
    else:
        step = SCROLL_SHARE * (f[w.PAGE_BOTTOM] - f[w.PAGE_TOP])
        f[m[w.STACKED] - 1] += step if verb == UP else -step


@compiled
def _drag(m, f, code, pool, x, y, x1, y1):  # type: ignore[no-untyped-def]
    """Drops the topmost node at a point that can be dragged on the topmost target at another."""
    place, onto = _under(m, f, x, y, nd.DROP), _under(m, f, x1, y1, nd.TARGET)
    if place >= 0 and onto >= 0 and place != onto:
        unit = m[place + nd.DROP]
        target = m[onto + nd.TARGET]
        restore(m, pool, place, unit)
        start = pool[UNIT_TABLE] + UNIT_SIZE * unit
        m[w.LOCALS + pool[start + 2]], m[w.SELF] = target, top(m)
        run(m, f, code, pool, pool[start])


@compiled
def _lower(m, pool, text, i):  # type: ignore[no-untyped-def]
    c = character(m, pool, text >> 3, i)
    return c + 32 if 65 <= c <= 90 else c


@compiled
def _open(m, f, pool, text):  # type: ignore[no-untyped-def]
    """Opens an app by its name, in whatever case, from anywhere but a dialog."""
    if m[w.HAS_DIALOG]:
        return
    for k in range(pool[SHOWN_COUNT]):
        app = pool[pool[SHOWN_APPS] + k]
        name = pool[pool[APPS] + APP_SIZE * app]
        n, i = size(m, pool, name), 0
        if n == size(m, pool, text):
            while i < n and _lower(m, pool, name, i) == _lower(m, pool, text, i):
                i += 1
            if i == n:
                launch(m, f, pool, app)
                return
    m[w.MESSAGE] = pool[NO_APP_TEXT]


@compiled
def _corrected(m, pool, text):  # type: ignore[no-untyped-def]
    """A text in which words that have corrections are replaced, each once."""
    n, i = size(m, pool, text), 0
    made = pool[EMPTY]
    while i < n:
        j = i
        while j < n and _letter(character(m, pool, text >> 3, j)):
            j += 1
        piece = part(m, pool, text, i, j if j > i else i + 1)
        if j > i:
            for k in range(pool[CORRECTION_COUNT]):
                pair = pool[CORRECTIONS] + 2 * k
                if not m[w.CORRECTED] >> k & 1 and equal(m, pool, pool[pair], piece):
                    m[w.CORRECTED] |= 1 << k
                    piece = pool[pair + 1]
                    break
        put_text(m, pool, made)
        put_text(m, pool, piece)
        made = take_text(m)
        i = j if j > i else i + 1
    return made


@inlined
def _letter(c):  # type: ignore[no-untyped-def]
    return 65 <= c <= 90 or 97 <= c <= 122
