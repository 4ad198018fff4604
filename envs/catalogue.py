"""One row an environment id. Everything that lists, registers, tests or documents environments reads this table.

Importing this module imports nothing heavy: entry points are strings, resolved by ``gymnasium.make``.
"""

from gymnasium.envs.registration import register, registry

from .. import unknown
from .row import Domain, Row
from .rows import driving, gui, robotics, text

__all__ = ["ROWS", "Domain", "Row", "find", "register_all"]

ROWS: tuple[Row, ...] = (*text.ROWS, *gui.ROWS, *driving.ROWS, *robotics.ROWS)


def find(env_id: str) -> Row:
    """The row of ``env_id``; ``KeyError`` with the nearest valid ids otherwise."""
    for row in ROWS:
        if row.id == env_id:
            return row
    raise KeyError(unknown("environment", env_id, [row.id for row in ROWS]))


def register_all() -> None:
    """Registers every row with Gymnasium; called by Gymnasium itself through the ``gymnasium.envs`` entry point."""
    for row in ROWS:
        if row.id not in registry:
            register(
                id=row.id,
                entry_point=row.entry_point,
                vector_entry_point=row.vector_entry_point,
                max_episode_steps=row.max_episode_steps,
                kwargs=dict(row.kwargs),
            )
