"""Names in the settings of language agents and in rows of methods, checked without loading what they name."""

from collections.abc import Mapping, Sequence
from typing import Any

from ... import unknown
from ...wrappers.components import Row
from ...wrappers.curricula import catalogue as curricula
from ...wrappers.guidance import catalogue as guidance
from ...wrappers.rewards import catalogue as rewards
from .data import catalogue as data
from .samplers import catalogue as samplers

COMPONENTS: dict[str, tuple[str, tuple[Row, ...]]] = {
    "sampler": ("sampler", samplers.ROWS),
    "curriculum": ("curriculum", curricula.ROWS + curricula.PLAIN),
    "guidance": ("guidance", guidance.ROWS),
    "rewards": ("reward", rewards.ROWS + rewards.PLAIN),
    "data": ("data source", data.ROWS),
}
"""By keyword of :class:`~tiltyard.agents.language.trainer.PolicyGradient`, what one is called and which there are."""
CORRECTIONS = ("weight", "ratio", "none")
OF_ROWS = (*COMPONENTS, "correction", "rollout_workers", "max_staleness", "micro_batch_groups")
"""Keywords of :class:`~tiltyard.agents.language.trainer.PolicyGradient` whose defaults a method's row may set."""
SUPERVISED = "sft"
"""The method that learns from demonstrations alone: what policy gradients have to beat."""


def check_row(components: Mapping[str, Any], of: str) -> None:
    """Refuses what a method's row calls components and no trainer would read; see :func:`check_names`."""
    for keyword in components:
        if keyword not in OF_ROWS:
            raise ValueError(f"{of}: {unknown('component', keyword, OF_ROWS)}")
    check_names(components, of)


def check_names(settings: Mapping[str, Any], of: str) -> None:
    """Refuses the name of a component, a correction or a method that there is not.

    Objects in place of names, and parameters beside them, are looked at where the agent is built.

    Args:
        settings: of a language agent, by keyword.
        of: whose they are.

    Raises:
        ValueError: such a name; the sentence has the nearest ones that there are.
    """
    for keyword, (kind, rows) in COMPONENTS.items():
        for choice in _each(settings.get(keyword)):
            params = choice if isinstance(choice, Mapping) else {"name": choice}
            if "name" not in params:
                raise ValueError(f'{of}: a {kind} is a name or {{"name": ..., parameters}}, got {choice!r:.200}')
            _check(kind, params["name"], [row.handle for row in rows], of)
            _check_method(params, of)
    _check("correction", settings.get("correction"), CORRECTIONS, of)
    _check_method(settings, of)


def methods() -> list[str]:
    """What ``method=`` may name."""
    from ..objectives.catalogue import ROWS  # whose rows are checked here

    return [SUPERVISED, *(row.handle for row in ROWS)]


def _each(choices: Any) -> Sequence[Any]:
    """One choice or several, each a name, a name with parameters or an object."""
    return choices if isinstance(choices, list | tuple) else [choices]


def _check_method(given: Mapping[str, Any], of: str) -> None:
    if given.get("method") is not None:  # a row of methods has none, and is not in their list yet
        _check("method", given["method"], methods(), of)


def _check(kind: str, name: Any, known: Sequence[str], of: str) -> None:
    if isinstance(name, str) and name not in known:
        raise ValueError(f"{of}: {unknown(kind, name, known)}")
