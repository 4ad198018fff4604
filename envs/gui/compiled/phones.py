"""A phone's data and its problem, drawn from a key: what :mod:`tiltyard.envs.gui.problems_v1` draws, compiled."""

import numpy as np

from ..twists import DENSITIES, WALLPAPERS
from . import memory as w
from .acting import FOCUS, push_screen, top
from .calling import run
from .collecting import clear
from .drawing import below, child, mixed, permutation, share
from .jit import compiled
from .memory import item, put_text, size
from .pool import (
    ADVERT_COUNT,
    APP_COUNT,
    DATA,
    EMPTY,
    FIRST_VIEWS,
    NOTICE_COUNT,
    POPUP_COUNT,
    SHOWN_APPS,
    SHOWN_COUNT,
    TASK_SIZE,
    TASKS,
    VIEW_COUNTS,
)

ATTEMPTS, MOST_ATTEMPTS, APPS = 64, 1 << 16, 64
LEVEL, TESTS_PARAMS, LAST_WORDING, ROWS_ON, FIRST_THEME, THEMES, ALWAYS = range(7)
"""Words of the settings of a split; ``ALWAYS``: apps (a bit each) whose data are always there."""
ODDS = (
    "popups 0",
    "popups 1",
    "popups 2",
    "popups 3",
    "slow",
    "failed",
    "advert",
    "notice",
    "autocorrect",
    "wide",
    "open",
)
"""Numbers with a point of a split's settings: probabilities; those of several pop-ups as weights."""
_OFFSET, _PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)


@compiled
def draw_apps(m, f, code, pool, needed):  # type: ignore[no-untyped-def]
    """Draws the data of the apps (a bit each) that have none yet, each from a stream of its own."""
    for app in range(pool[APP_COUNT]):
        if needed >> app & 1 and m[w.ROOTS + app] == w.NONE:
            key = m[w.KEY]
            m[w.KEY] = child(m[w.ROOT_KEY], 1 + app + APPS * m[w.ATTEMPT])
            m[w.SP] = 0
            run(m, f, code, pool, pool[pool[DATA] + app])
            m[w.KEY] = key


@compiled
def weighted(m, weights):  # type: ignore[no-untyped-def]
    """An index with probability proportional to its weight: ``twists.weighted``."""
    total = 0.0
    for weight in weights:
        total += weight
    point, reached = share(m) * total, 0.0
    for i in range(len(weights)):
        reached += weights[i]
        if point < reached:
            return i
    return len(weights) - 1


@compiled
def begin(m, f, code, pool, key, numbers, weights, names, settings, odds):  # type: ignore[no-untyped-def]
    """Puts the problem of a key on a phone.

    Args:
        m, f: its memory.
        code, pool: what it runs.
        key: 64 bits.
        numbers: ``[t]`` the tasks that it may be of.
        weights: ``[t]`` how often each is drawn.
        names: values of the names of all tasks.
        settings: the split's, whole numbers.
        odds: the split's, probabilities.
    """
    clear(m)
    for k in range(w.KEY_BOXES):
        f[k] = 0.0
    m[w.ROOT_KEY], m[w.KEY] = key, child(key, 0)
    m[w.LAST_WORDING] = settings[LAST_WORDING]
    task = numbers[weighted(m, weights)]
    m[w.LOCALE] = 1 + below(m, 2)
    for attempt in range(MOST_ATTEMPTS):
        _goal(m, f, code, pool, task, attempt)
        if (mixed(_hash(m, pool, names[task])) % np.uint64(5) == 0) == (settings[TESTS_PARAMS] == 1):
            break
        if m[w.FAULT]:
            return
        if (attempt + 1) % ATTEMPTS == 0:
            task = numbers[weighted(m, weights)]
        if attempt + 1 == MOST_ATTEMPTS:
            m[w.FAULT] = 16
    m[w.TEMPLATE] = task
    draw_apps(m, f, code, pool, settings[ALWAYS])
    _twists(m, f, pool, task, settings, odds)
    m[w.OPENED] = share(m) < odds[10] and settings[LEVEL] == 1
    if m[w.OPENED]:
        app = pool[pool[TASKS] + TASK_SIZE * task + 3]
        failing, m[w.FAILING] = m[w.FAILING], 0
        push_screen(m, f, pool, app, pool[pool[FIRST_VIEWS] + app], w.NONE)
        m[w.LOADING], m[w.FAILING] = 0, failing
        m[top(m) + FOCUS] = w.INT


@compiled
def _goal(m, f, code, pool, task, attempt):  # type: ignore[no-untyped-def]
    """Draws a goal of a task, on data of its own."""
    m[w.TOP], m[w.ATTEMPT] = w.HEAP, attempt
    for k in range(3 * w.MOST_APPS):
        m[w.ROOTS + k] = w.NONE
    for k in range(w.MOST_LOCALS):
        m[w.LOCALS + k] = w.NONE
    m[w.MESSAGE] = m[w.ANSWER] = m[w.TITLE] = pool[EMPTY]
    start = pool[TASKS] + TASK_SIZE * task
    draw_apps(m, f, code, pool, pool[start + 1])
    m[w.SP] = 0
    run(m, f, code, pool, pool[start])


@compiled
def _hash(m, pool, name):  # type: ignore[no-untyped-def]
    """FNV-1a of ``name|asked|asked...``."""
    put_text(m, pool, name)
    for i in range(size(m, pool, m[w.ASKED])):
        w.put(m, 124)
        put_text(m, pool, item(m, pool, m[w.ASKED], i))
    code = _OFFSET
    for i in range(m[w.SCRATCH_LENGTH]):
        code = (code ^ np.uint64(m[w.SCRATCH + i])) * _PRIME
    m[w.SCRATCH_LENGTH] = 0
    return code


@compiled
def _twists(m, f, pool, task, settings, odds):  # type: ignore[no-untyped-def]
    """Draws what makes phones differ, in the order of ``twists.draw``; rows that are off are left out."""
    on = settings[ROWS_ON]
    theme = settings[FIRST_THEME] + below(m, settings[THEMES])
    m[w.THEME] = theme if on & 1 else 0
    wide, density = share(m) < odds[9], DENSITIES[below(m, len(DENSITIES))]
    f[w.DENSITY] = (DENSITIES[-1] if wide else density) if on & 2 else 1.0
    apps = pool[SHOWN_COUNT]
    start = permutation(m, apps)
    for k in range(apps):
        m[w.HOME_ORDER + k] = pool[pool[SHOWN_APPS] + (m[start + k] if on & 4 else k)]
    _popups(m, pool, settings, odds, on & 8)
    n = 0
    for k in range(apps):
        app = pool[pool[SHOWN_APPS] + k]
        is_slow = share(m) < odds[4]
        view, steps = below(m, pool[pool[VIEW_COUNTS] + app]), 1 + below(m, 3)
        if is_slow and on & 16:
            m[w.SLOW + 2 * n], m[w.SLOW + 2 * n + 1] = pool[pool[FIRST_VIEWS] + app] + view + 1, steps
            n += 1
    fails = share(m) < odds[5]
    app = _needed(m, pool, task)
    view = pool[pool[FIRST_VIEWS] + app] + below(m, pool[pool[VIEW_COUNTS] + app])
    m[w.FAILING] = view + 1 if fails and on & 32 else 0
    shown = share(m) < odds[6]
    app = _needed(m, pool, task)
    m[w.ADVERT] = below(m, pool[ADVERT_COUNT])
    m[w.ADVERT_APP] = app + 1 if shown and on & 64 else 0
    noted, window = share(m) < odds[7], _window(settings[LEVEL])
    step = 1 + below(m, window)
    m[w.NOTICE_APP], m[w.NOTICE] = pool[pool[SHOWN_APPS] + below(m, apps)], below(m, pool[NOTICE_COUNT])
    m[w.NOTICE_STEP] = step if noted and on & 128 else 0
    m[w.CORRECTS] = share(m) < odds[8] and on & 256 != 0
    m[w.CLOCK] = 60 * below(m, 24) + below(m, 60)
    m[w.CHARGE] = 16 + below(m, 84)
    m[w.WALLPAPER] = WALLPAPERS[below(m, len(WALLPAPERS))]


@compiled
def _window(level):  # type: ignore[no-untyped-def]
    return 6 if level == 1 else 12 if level == 2 else 20


@compiled
def _needed(m, pool, task):  # type: ignore[no-untyped-def]
    """One of the apps that a task needs."""
    start, n = pool[TASKS] + TASK_SIZE * task + 3, 0
    while n < TASK_SIZE - 3 and pool[start + n] >= 0:
        n += 1
    return pool[start + below(m, n)]


@compiled
def _popups(m, pool, settings, odds, on):  # type: ignore[no-untyped-def]
    """Steps at which dialogs come, and which; both are permutations of which the first ``count`` entries count."""
    total = 0.0
    for k in range(4):
        total += odds[k]
    point, reached, count = share(m) * total, 0.0, 3
    for k in range(4):
        reached += odds[k]
        if point < reached:
            count = k
            break
    start = permutation(m, _window(settings[LEVEL]))
    for k in range(count):
        m[w.DUE + 2 * k] = 1 + m[start + k]
    start = permutation(m, pool[POPUP_COUNT])
    for k in range(count):
        m[w.DUE + 2 * k + 1] = m[start + k]
    m[w.DUE_COUNT] = count if on else 0
