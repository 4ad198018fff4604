"""Suites are data: which agents race on which environments, for how many steps, over which seeds.

What they are made of is in :mod:`.suite`; each of the other files holds one.
"""

from ... import unknown
from .control import CONTROL, SAC_PEER
from .dialogues import ARCHER_SETTINGS, DIALOGUES
from .manipulation import MANIPULATION
from .smoke import SMOKE
from .suite import Comparison, Entry, Recipe, Suite, Task
from .text import TEXT

__all__ = [
    "ARCHER_SETTINGS",
    "CONTROL",
    "DIALOGUES",
    "MANIPULATION",
    "SAC_PEER",
    "SMOKE",
    "SUITES",
    "TEXT",
    "Comparison",
    "Entry",
    "Recipe",
    "Suite",
    "Task",
    "find",
]

SUITES: tuple[Suite, ...] = (SMOKE, CONTROL, SAC_PEER, MANIPULATION, TEXT, DIALOGUES, ARCHER_SETTINGS)


def find(name: str) -> Suite:
    """The suite called ``name``; ``KeyError`` with the nearest valid names otherwise."""
    for suite in SUITES:
        if suite.name == name:
            return suite
    raise KeyError(unknown("suite", name, [suite.name for suite in SUITES]))
