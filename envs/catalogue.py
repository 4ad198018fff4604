"""One row an environment id. Everything that lists, registers, tests or documents environments reads this table.

Importing this module imports nothing heavy: entry points are strings, resolved by ``gymnasium.make``. Rows of other
packages come from plugins (:mod:`tiltyard.plugins`); any other id of Gymnasium's registry has a row without scores.
"""

import re
from collections.abc import Iterable

from gymnasium.envs.registration import register, registry

from .. import unknown
from ..plugins import identities, import_named
from ..plugins import rows as plugin_rows
from .row import PROMISES, Domain, Row
from .rows import driving, gui, miniwob, robotics, text

__all__ = [
    "INSTALLED",
    "PROMISES",
    "ROWS",
    "Domain",
    "Row",
    "find",
    "find_scored",
    "plugged",
    "register_all",
    "resolve",
    "rows",
]

ROWS: tuple[Row, ...] = (*text.ROWS, *gui.ROWS, *driving.ROWS, *robotics.ROWS)
"""Ours."""

INSTALLED: tuple[Row, ...] = (*gui.LIVE, *driving.LIVE, *miniwob.ROWS)
"""Ours behind a browser, a device or a server, and those around tasks of other packages; they hang on what is there."""


_OURS = identities("ENVS", (*ROWS, *INSTALLED))


def plugged() -> tuple[Row, ...]:
    """Those of plugins."""
    return plugin_rows("ENVS", Row, _OURS)


def rows() -> tuple[Row, ...]:
    """Ours, those around other packages and those of plugins, registered with Gymnasium."""
    others = plugged()
    register_all(others)
    return (*ROWS, *INSTALLED, *others)


def find(env_id: str) -> Row:
    """The row of ``env_id``; ``KeyError`` with the nearest valid ids otherwise.

    An id that another package has registered, or ``module:id``, has a row without scores. Nothing is imported but
    plugins, so that a run somebody else made can be read; :func:`resolve` imports the module of ``module:id``.
    """
    if not isinstance(env_id, str):
        raise TypeError(
            f"an environment is named by its id here, such as tiltyard/Hopper-v5, got {env_id!r:.200}; its keywords "
            "are given by name beside it"
        )
    for row in rows():
        if row.id == env_id.removeprefix("tiltyard:"):
            return row
    name = env_id.rpartition(":")[2]
    if env_id not in registry and not re.fullmatch(r"\w+(\.\w+)*:[\w./-]+", env_id):
        others = [] if name.startswith("tiltyard/") else registry
        hint = f"; one of another package is given as module:{name}" if others else ""
        raise KeyError(unknown("environment", env_id, {*(row.id for row in rows()), *others}) + hint)
    limit = registry[name].max_episode_steps if name in registry else None
    return Row(env_id, "", None, "other", "Registered with Gymnasium by another package", limit or 0, splits=False)


def find_scored(env_id: str) -> Row:
    """As :func:`find`, for what has to know the scores of a random policy and of the expert (``ValueError`` if not)."""
    row = find(env_id)
    if not row.scored:
        raise ValueError(f"{env_id} has no known scores of a random policy and an expert: give its plugin row both")
    return row


def resolve(env_id: str) -> Row:
    """As :func:`find`, but imports the module of ``module:id``, which registers the id, and checks that it did."""
    row = find(env_id)
    module, _, name = row.id.rpartition(":")
    if module:
        import_named(module, f"environment {env_id!r}")
    if name not in registry:
        raise KeyError(f"environment {env_id!r}: importing {module!r} registers no {name!r} with Gymnasium")
    return row


def register_all(those: Iterable[Row] = (*ROWS, *INSTALLED)) -> None:
    """Registers rows with Gymnasium; ``import tiltyard`` calls it for ours."""
    for row in those:
        if row.id not in registry:
            register(
                id=row.id,
                entry_point=row.entry_point,
                vector_entry_point=row.vector_entry_point,
                max_episode_steps=row.max_episode_steps or None,
                nondeterministic=not row.promises("deterministic"),
                kwargs=dict(row.kwargs),
            )
