"""One row a curriculum: :data:`ROWS` for language agents, :data:`CONTROL` for environments of control agents."""

from importlib import import_module
from typing import Any

from ... import unknown
from ..components import Choice, Curriculum, Row, choose

_FILTER = "tiltyard.wrappers.curricula.online_difficulty_filter:OnlineDifficultyFilter"

ROWS: tuple[Row, ...] = (
    Row("spo", "tiltyard.agents.language.providers.spo:PrioritisedSampling"),
    Row("online-difficulty-filter", _FILTER),
    Row("dynamic-sampling", _FILTER, (("low", 1e-9), ("high", 1 - 1e-9)), paper="dapo"),  # but for uniform groups
    Row("vade", "tiltyard.wrappers.curricula.vade:VADE"),
    Row("dump", "tiltyard.wrappers.curricula.dump:DUMP"),
)

PLAIN: tuple[Row, ...] = (
    Row("uniform", "tiltyard.wrappers.components:Curriculum"),  # all seeds alike, where a method's row says otherwise
    Row("pool", "tiltyard.wrappers.curricula.pool:FromPool"),
)
"""Curricula of no paper."""

CONTROL: tuple[Row, ...] = (
    Row("alp-gmm", "tiltyard.wrappers.curricula.alp_gmm:ALPGMM"),
    Row("mbtl", "tiltyard.wrappers.curricula.mbtl:MBTL"),
    Row("groove", "tiltyard.wrappers.curricula.groove:GROOVE"),
    Row("s3rl", "tiltyard.wrappers.curricula.s3rl:S3RL"),
)
"""A teacher of ``TaughtEnv`` (:mod:`.alp_gmm`) or a ``gymnasium.Wrapper``; either works with any agent."""


def load(choice: Choice | Curriculum) -> Curriculum:
    """The curriculum that ``choice`` names; see :func:`tiltyard.wrappers.components.choose`."""
    return choose("curriculum", choice, ROWS + PLAIN, Curriculum)


def load_control(handle: str) -> type[Any]:
    """The class of a curriculum for control; ``KeyError`` with the nearest handles otherwise."""
    by_handle = {row.handle: row for row in CONTROL}
    if handle not in by_handle:
        raise KeyError(unknown("curriculum", handle, by_handle))
    module, _, name = by_handle[handle].entry_point.partition(":")
    loaded: type[Any] = getattr(import_module(module), name)
    return loaded
