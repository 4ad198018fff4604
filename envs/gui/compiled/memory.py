"""One phone's memory: tagged values in one array of words; texts, lists and records on a heap that is compacted.

A value is a 64-bit word whose three lowest bits say what the others are: a number, or the address of a text, a list or
a record. Addresses from 0 up lie in the phone's own memory ``m``; negative ones, ``~index``, in the constants ``pool``
that all phones share. Values are never changed in place, so that states may share parts.

    text    [length, FNV-1a hash, icon + 1, 8 characters a word ...]
    list    [length, values ...]
    record  [type, values ...]     (``pool[TYPES + type]`` says how many)
"""

from .jit import compiled, inlined
from .pool import TYPES

NONE, INT, BOOL, TEXT, LIST, RECORD, UNSET = range(7)
FALSE, TRUE = BOOL, 8 | BOOL

LOCALS, MOST_LOCALS = 64, 64
STACK, STACK_SIZE = LOCALS + MOST_LOCALS, 512
ROOTS, MOST_APPS = STACK + STACK_SIZE, 24
WANTED = ROOTS + MOST_APPS
FIRST_STATE = WANTED + MOST_APPS
SCREENS, SCREEN_SIZE, MOST_SCREENS = FIRST_STATE + MOST_APPS, 20, 64
DIALOG, DIALOG_SIZE = SCREENS + SCREEN_SIZE * MOST_SCREENS, 16 + MOST_LOCALS
NODES, NODE_SIZE, MOST_NODES = DIALOG + DIALOG_SIZE, 24, 256
SLOW = NODES + NODE_SIZE * MOST_NODES  # (view + 1, steps), 16 times
DUE, MOST_DUE = SLOW + 32, 32  # (step, kind) of dialogs that come by themselves, then the kinds that wait
HOME_ORDER = DUE + 2 * MOST_DUE  # apps as they stand on the home screen
FIELDS, MOST_FIELDS = HOME_ORDER + MOST_APPS, 16  # drafts that are text fields of the page, in order
SHOWN = FIELDS + MOST_FIELDS  # the nodes that can be seen: of the page, then of the dialog
WORK, WORK_SIZE = SHOWN + MOST_NODES, 1024
SCRATCH, SCRATCH_SIZE = WORK + WORK_SIZE, 8192
HEAP = SCRATCH + SCRATCH_SIZE
HALF, SLACK = 28_672, 4096
WORDS = HEAP + 2 * HALF

# Registers: words that no value is kept in but GOAL, ANSWER, WANTED_ANSWER, MESSAGE, ASKED and TITLE.
(
    KEY, SELF, TOP, LIMIT, SPACE, SP, FAULT, STACKED, HAS_DIALOG, LOADING, STEPS, CLOCK, CHARGE, WALLPAPER,
    NODE_COUNT, SCRATCH_LENGTH, LIVE, GOAL, ANSWER, WANTED_ANSWER, TEMPLATE, TITLE, PAGE_COLOUR, SWIPE_LEFT,
    SWIPE_RIGHT, FIELD_COUNT, MESSAGE, PAGE_SHOWN, DIALOG_SHOWN, ENTER_UNIT, DUE_COUNT, ROOT_KEY, KEYS_PAGE, ASKED,
    ATTEMPT, LAST_WORDING, THEME, FAILING, ADVERT_APP, ADVERT, CORRECTS, CORRECTED, NOTICED, NOTICE_STEP, NOTICE_APP,
    NOTICE, NOTICE_SHOWN_APP, NOTICE_SHOWN, ENDED, LOCALE, OPENED, ENTER_NODE, STATUS_FLAGS, STATUS_TEXT, DRAWN,
    WRITTEN,
) = range(56)  # fmt: skip

# Numbers with a point, of the array ``f``: scroll of every screen, where the page is laid out, and boxes of nodes.
Y, PAGE_TOP, PAGE_BOTTOM, CHIP_X, DENSITY = range(MOST_SCREENS, MOST_SCREENS + 5)
BOXES = MOST_SCREENS + 16
KEY_BOXES, MOST_KEYS = BOXES + 6 * MOST_NODES, 200  # the same on all phones
FLOATS = KEY_BOXES + 4 * MOST_KEYS

TEXT_HEADER = 3
FNV_START = -3750763034362895579  # 14695981039346656037 as a signed word
FNV_PRIME = 1099511628211


@inlined
def at(m, pool, p, k):  # type: ignore[no-untyped-def]
    """The ``k``-th word of what stands at address ``p``."""
    return m[p + k] if p >= 0 else pool[~p + k]


@inlined
def size(m, pool, value):  # type: ignore[no-untyped-def]
    """Characters of a text, values of a list."""
    p = value >> 3
    return m[p] if p >= 0 else pool[~p]


@inlined
def character(m, pool, p, i):  # type: ignore[no-untyped-def]
    """A character of the text at an address."""
    return (at(m, pool, p, TEXT_HEADER + (i >> 3)) >> ((i & 7) << 3)) & 255


@inlined
def item(m, pool, value, i):  # type: ignore[no-untyped-def]
    """A value of a list."""
    return at(m, pool, value >> 3, 1 + i)


@compiled
def alloc(m, n):  # type: ignore[no-untyped-def]
    """Room for ``n`` words; a full heap is a fault, and what is written then goes nowhere that counts."""
    p = m[TOP]
    if p + n > m[LIMIT]:
        m[FAULT] = 1
        p = m[LIMIT] - n
    m[TOP] = p + n
    return p


@compiled
def truth(m, pool, value):  # type: ignore[no-untyped-def]
    """Whether a value counts as true, as in Python."""
    tag = value & 7
    if tag == INT or tag == BOOL:
        return value >> 3 != 0
    if tag == TEXT or tag == LIST:
        return size(m, pool, value) > 0
    return tag == RECORD


@compiled
def same_text(m, pool, p, q):  # type: ignore[no-untyped-def]
    """Whether two texts are alike."""
    if at(m, pool, p, 1) != at(m, pool, q, 1) or at(m, pool, p, 0) != at(m, pool, q, 0):
        return False
    for k in range((at(m, pool, p, 0) + 7) >> 3):
        if at(m, pool, p, TEXT_HEADER + k) != at(m, pool, q, TEXT_HEADER + k):
            return False
    return True


@compiled
def equal(m, pool, a, b):  # type: ignore[no-untyped-def]
    """Whether two values are equal in every part."""
    m[WORK], m[WORK + 1], n = a, b, 2
    while n:
        n -= 2
        x, y = m[WORK + n], m[WORK + n + 1]
        if x == y:
            continue
        tag, other = x & 7, y & 7
        if tag != other:
            if (tag == INT or tag == BOOL) and (other == INT or other == BOOL) and x >> 3 == y >> 3:
                continue
            return False
        if tag < TEXT:
            return False
        p, q = x >> 3, y >> 3
        if tag == TEXT:
            if not same_text(m, pool, p, q):
                return False
            continue
        if at(m, pool, p, 0) != at(m, pool, q, 0):
            return False
        parts = at(m, pool, p, 0) if tag == LIST else fields(pool, at(m, pool, p, 0))
        if n + 2 * parts > WORK_SIZE:
            m[FAULT] = 2
            return False
        for k in range(parts):
            m[WORK + n], m[WORK + n + 1] = at(m, pool, p, 1 + k), at(m, pool, q, 1 + k)
            n += 2
    return True


@inlined
def fields(pool, kind):  # type: ignore[no-untyped-def]
    """How many fields records of a type have."""
    return pool[pool[TYPES] + 2 * kind]


@compiled
def compare(m, pool, a, b):  # type: ignore[no-untyped-def]
    """-1, 0 or 1: numbers by value, texts by their characters."""
    if a & 7 != TEXT:
        return int(a >> 3 > b >> 3) - int(a >> 3 < b >> 3)
    p, q = a >> 3, b >> 3
    n, k = at(m, pool, p, 0), at(m, pool, q, 0)
    for i in range(min(n, k)):
        x, y = character(m, pool, p, i), character(m, pool, q, i)
        if x != y:
            return 1 if x > y else -1
    return int(n > k) - int(n < k)


# -- texts -------------------------------------------------------------------------------------------------------------


@compiled
def put(m, c):  # type: ignore[no-untyped-def]
    """A character more on the scratch pad."""
    n = m[SCRATCH_LENGTH]
    if n < SCRATCH_SIZE:
        m[SCRATCH + n] = c
        m[SCRATCH_LENGTH] = n + 1


@compiled
def put_text(m, pool, value):  # type: ignore[no-untyped-def]
    """A value in words on the scratch pad."""
    tag = value & 7
    if tag == TEXT:
        p = value >> 3
        for i in range(at(m, pool, p, 0)):
            put(m, character(m, pool, p, i))
    elif tag == INT:
        put_int(m, value >> 3, 1)
    else:
        word = (78, 111, 110, 101, 0)  # None
        if tag == BOOL:
            word = (84, 114, 117, 101, 0) if value >> 3 else (70, 97, 108, 115, 101)
        for c in word:
            if c:
                put(m, c)


@compiled
def put_int(m, number, least):  # type: ignore[no-untyped-def]
    """A whole number of at least so many digits."""
    if number < 0:
        put(m, 45)
        number = -number
    unit, digits = 1, 1
    while number // unit >= 10 or digits < least:
        unit *= 10
        digits += 1
    while unit:
        put(m, 48 + number // unit % 10)
        unit //= 10


@compiled
def take_text(m):  # type: ignore[no-untyped-def]
    """What is on the scratch pad, as a text; the pad is empty then."""
    n = m[SCRATCH_LENGTH]
    m[SCRATCH_LENGTH] = 0
    words = (n + 7) >> 3
    p = alloc(m, TEXT_HEADER + words)
    digest = FNV_START
    for k in range(words):
        packed = 0
        for j in range(min(8, n - 8 * k)):
            c = m[SCRATCH + 8 * k + j]
            digest = (digest ^ c) * FNV_PRIME
            packed |= c << (j << 3)
        m[p + TEXT_HEADER + k] = packed
    m[p], m[p + 1], m[p + 2] = n, digest, 0
    return p << 3 | TEXT


@compiled
def part(m, pool, value, start, stop):  # type: ignore[no-untyped-def]
    """Characters ``start`` to ``stop`` of a text."""
    p = value >> 3
    for i in range(start, stop):
        put(m, character(m, pool, p, i))
    return take_text(m)


# -- lists and records -------------------------------------------------------------------------------------------------


@compiled
def new_list(m, n):  # type: ignore[no-untyped-def]
    """A list of ``n`` values still to be filled in."""
    p = alloc(m, n + 1)
    m[p] = n
    return p << 3 | LIST


@compiled
def changed(m, pool, record, k, value):  # type: ignore[no-untyped-def]
    """A record with another value in its ``k``-th field."""
    q = record >> 3
    kind = at(m, pool, q, 0)
    n = fields(pool, kind)
    p = alloc(m, n + 1)
    m[p] = kind
    for i in range(n):
        m[p + 1 + i] = at(m, pool, q, 1 + i)
    m[p + 1 + k] = value
    return p << 3 | RECORD


@compiled
def swapped(m, pool, rows, old, new, drop):  # type: ignore[no-untyped-def]
    """A list with every value that equals ``old`` replaced by ``new``, or left out."""
    n = size(m, pool, rows)
    p = alloc(m, n + 1)
    kept = 0
    for i in range(n):
        one = item(m, pool, rows, i)
        if equal(m, pool, one, old):
            if drop:
                continue
            one = new
        m[p + 1 + kept] = one
        kept += 1
    m[p] = kept
    return p << 3 | LIST


@compiled
def sort(m, pool, rows, keys):  # type: ignore[no-untyped-def]
    """A list ordered by as many keys, equal ones as they were."""
    n = size(m, pool, rows)
    made, by = new_list(m, n), new_list(m, n)
    p, q = (made >> 3) + 1, (by >> 3) + 1
    for i in range(n):
        one, key = item(m, pool, rows, i), item(m, pool, keys, i)
        j = i
        while j > 0 and compare(m, pool, m[q + j - 1], key) > 0:
            m[p + j], m[q + j] = m[p + j - 1], m[q + j - 1]
            j -= 1
        m[p + j], m[q + j] = one, key
    return made


@compiled
def column(m, pool, rows, k):  # type: ignore[no-untyped-def]
    """The ``k``-th field of every record of a list."""
    n = size(m, pool, rows)
    made = new_list(m, n)
    for i in range(n):
        m[(made >> 3) + 1 + i] = at(m, pool, item(m, pool, rows, i) >> 3, 1 + k)
    return made
