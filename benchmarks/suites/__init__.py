"""Suites are data: which agents race on which environments, for how many steps, over which seeds.

What they are made of is in :mod:`.suite`, :mod:`.files` reads them from TOML; each of the other files holds some.
"""

from ... import unknown
from ...plugins import identities
from ...plugins import rows as plugin_rows
from .control import CONTROL
from .control_v2 import (
    CONTROL_V2,
    CONTROL_V2_ANT,
    CONTROL_V2_CHEETAH,
    CONTROL_V2_CHEETAH_OFF_POLICY,
    CONTROL_V2_HOPPER,
    CONTROL_V2_HOPPER_OFF_POLICY,
    CONTROL_V2_HUMANOID,
    CONTROL_V2_OFFLINE,
    CONTROL_V2_OFFLINE_WEIGHTED,
    CONTROL_V2_SWIMMER,
    CONTROL_V2_SWIMMER_ROLLOUTS,
    CONTROL_V2_WALKER,
    CONTROL_V2_WALKER_OFF_POLICY,
)
from .driving import DRIVING
from .driving_v2 import DRIVING_V2, DRIVING_V3
from .files import read_suite
from .gui import GUI, GUI_ABLATIONS, GUI_TUNED
from .manipulation import MANIPULATION, PEG
from .mazes import MAZE
from .smoke import SMOKE
from .suite import Comparison, Entry, Recipe, Suite, Task
from .text import TEXT
from .text_v2 import (
    TEXT_HARD,
    TEXT_HARD_SECOND,
    TEXT_LENGTH,
    TEXT_LENGTH_SECOND,
    TEXT_NOISY,
    TEXT_NOISY_SECOND,
    TEXT_POOL,
    TEXT_POOL_SECOND,
    TEXT_STALE,
    TEXT_STALE_SECOND,
    TEXT_TURNS,
    TEXT_TURNS_SECOND,
)
from .trained import TRAINED

__all__ = [
    "CONTROL",
    "CONTROL_V2",
    "CONTROL_V2_CHEETAH",
    "CONTROL_V2_CHEETAH_OFF_POLICY",
    "CONTROL_V2_ANT",
    "CONTROL_V2_HUMANOID",
    "CONTROL_V2_HOPPER",
    "CONTROL_V2_SWIMMER",
    "CONTROL_V2_SWIMMER_ROLLOUTS",
    "CONTROL_V2_HOPPER_OFF_POLICY",
    "CONTROL_V2_OFFLINE",
    "CONTROL_V2_OFFLINE_WEIGHTED",
    "CONTROL_V2_WALKER",
    "CONTROL_V2_WALKER_OFF_POLICY",
    "DRIVING",
    "DRIVING_V2",
    "DRIVING_V3",
    "GUI",
    "GUI_ABLATIONS",
    "GUI_TUNED",
    "MANIPULATION",
    "MAZE",
    "PEG",
    "RELEASED",
    "SMOKE",
    "SUITES",
    "TEXT",
    "TEXT_HARD",
    "TEXT_HARD_SECOND",
    "TEXT_LENGTH",
    "TEXT_LENGTH_SECOND",
    "TEXT_NOISY",
    "TEXT_NOISY_SECOND",
    "TEXT_POOL",
    "TEXT_POOL_SECOND",
    "TEXT_STALE",
    "TEXT_STALE_SECOND",
    "TEXT_TURNS",
    "TEXT_TURNS_SECOND",
    "TRAINED",
    "Comparison",
    "Entry",
    "Recipe",
    "Suite",
    "Task",
    "find",
    "read_suite",
    "rows",
]

SUITES: tuple[Suite, ...] = (
    SMOKE,
    CONTROL,
    CONTROL_V2,
    CONTROL_V2_CHEETAH,
    CONTROL_V2_HOPPER,
    CONTROL_V2_WALKER,
    CONTROL_V2_CHEETAH_OFF_POLICY,
    CONTROL_V2_HOPPER_OFF_POLICY,
    CONTROL_V2_WALKER_OFF_POLICY,
    CONTROL_V2_SWIMMER,
    CONTROL_V2_SWIMMER_ROLLOUTS,
    CONTROL_V2_ANT,
    CONTROL_V2_HUMANOID,
    CONTROL_V2_OFFLINE,
    CONTROL_V2_OFFLINE_WEIGHTED,
    MANIPULATION,
    MAZE,
    PEG,
    GUI,
    GUI_ABLATIONS,
    GUI_TUNED,
    DRIVING,
    DRIVING_V2,
    DRIVING_V3,
    TEXT,
    TEXT_STALE,
    TEXT_STALE_SECOND,
    TEXT_HARD,
    TEXT_HARD_SECOND,
    TEXT_POOL,
    TEXT_POOL_SECOND,
    TEXT_NOISY,
    TEXT_NOISY_SECOND,
    TEXT_LENGTH,
    TEXT_LENGTH_SECOND,
    TEXT_TURNS,
    TEXT_TURNS_SECOND,
    TRAINED,
)

RELEASED = {
    "smoke": "2cc3433e04ca5999",
    "control-v2-halfcheetah": "3a85863138fd6eab",
    "control-v2-hopper": "8e65fc33e572bd54",
    "control-v2-hopper-off-policy": "1469be69ca7c070d",
    "control-v2-walker2d-off-policy": "a73a9efe2747e569",
    "control-v2-halfcheetah-off-policy": "e2f8d6cc22342040",
    "control-v2-walker2d": "e3a67a5aa047802a",
    "control-v2-ant": "cf91e337a553a1a8",
    "control-v2-swimmer": "109c7610c0099bfc",
    "control-v2-swimmer-rollouts": "24ad9dac76420abf",
    "control-v2-humanoid": "90ee510e0bfb4221",
    "control-v2-offline": "278314df209407ab",
    "control-v2-offline-weighted": "4e2d60a937b1bd0b",
    "gui-v1": "b878c16d3e990200",
    "gui-v2": "f22ac4be9b05ff78",
    "gui-ablations-v1": "0c2f9c37d2ea4b2b",
    "manipulation-v2": "ad9c8a7693af519d",
    "maze-v1": "22eab31bf98e2e25",
    "peg-insertion-v1": "c71e742eed1f14ad",
    "text-v1": "e8d7c87ebb5f7aff",
    "driving-v1": "64292acbed128946",
    "driving-v2": "c260e97228b89179",
    "driving-v3": "1c0d3a37bfca2fab",
    "text-v2-pool": "1f87365cde317ab5",
    "text-v2-length": "bb76773018a18967",
    "text-v2-stale": "8234c4c83910a23b",
    "text-v2-stale-base-2": "a6bac02c74812a71",
    "text-v2-noisy": "584c3d10bbd498c0",
    "text-v2-noisy-base-2": "40ee5a0d7a2fdda8",
    "text-v2-pool-base-2": "2f24352e64fd9c82",
    "text-v2-length-base-2": "f7f27efccd6a3e6d",
    "text-v2-hard": "97614427ae97b2f2",
    "text-v2-hard-base-2": "da515d06d96575ac",
    "text-v2-turns": "f5f7fa4c2cf87828",
    "text-v2-turns-base-2": "8e17639891c08f98",
}
"""Suites that results were published for, and what they are: :attr:`Suite.digest`. Another content is another name."""


_OURS = identities("SUITES", SUITES)


def rows() -> tuple[Suite, ...]:
    """Ours and those of plugins."""
    return (*SUITES, *plugin_rows("SUITES", Suite, _OURS))


def find(name: str) -> Suite:
    """The suite called ``name``, ours, a plugin's, or that of a ``.toml`` file; ``KeyError`` with the nearest names."""
    if name.endswith(".toml"):
        return read_suite(name)
    suites = rows()
    for suite in suites:
        if suite.name == name:
            return suite
    raise KeyError(unknown("suite", name, [suite.name for suite in suites]) + " (or the path of a suite's .toml file)")
