"""A phone from its key to its screen, compiled: the data of its apps, its problem, and one step."""

from .jit import compiled
from . import memory as w
from .collecting import clear
from .drawing import child
from .machine import run
from .pool import APP_COUNT, DATA


@compiled
def draw_apps(m, f, code, pool, needed):  # type: ignore[no-untyped-def]
    """Draws the data of the apps (a bit each) that have none yet, each from a stream of its own."""
    for app in range(pool[APP_COUNT]):
        if needed >> app & 1 and m[w.ROOTS + app] == w.NONE:
            key = m[w.KEY]
            m[w.KEY] = child(m[w.ROOT_KEY], 1 + app)
            m[w.SP] = 0
            run(m, f, code, pool, pool[pool[DATA] + app])
            m[w.KEY] = key


@compiled
def fresh(m, f, key):  # type: ignore[no-untyped-def]
    """An empty phone."""
    clear(m)
    for k in range(w.FLOATS):
        f[k] = 0.0
    m[w.ROOT_KEY] = key
