"""MiniWoB++ in a Chromium, a row a page of the installed ``miniwob`` package; see :mod:`tiltyard.envs.catalogue`.

The package is found, not imported: one look at a folder. Without it there is ``tiltyard/MiniWoB-v0`` alone, whose
making says what to install.
"""

from dataclasses import replace

from ..gui.web.folder import tasks
from ..row import Row

ANY = Row(
    "tiltyard/MiniWoB-v0",
    "tiltyard.envs.gui.web.miniwob:MiniWoBEnv",
    "tiltyard.envs.gui.web.miniwob:MiniWoBVectorEnv",
    domain="gui",
    summary="MiniWoB++ in a real Chromium, without its clock; keyword task",
    max_episode_steps=50,
    tier="live",
)


def _row(task: str) -> Row:
    return replace(
        ANY,
        id=f"tiltyard/MiniWoB-{task}-v0",
        kwargs={"task": task},
        summary=f"MiniWoB++ {task} in a real Chromium, without its clock",
    )


ROWS: tuple[Row, ...] = (ANY, *map(_row, tasks()))
