"""From the name of a method to its objective, checked against what a trainer can give it."""

from collections.abc import Mapping
from typing import Any

from ... import unknown
from ..objectives.catalogue import ROWS
from ..objectives.registry import Objective, load
from .providers.catalogue import check_needs

SUPERVISED = "sft"
"""The method that learns from demonstrations alone: what policy gradients have to beat."""


def objective_of(method: str, params: Mapping[str, Any], *, group_size: int) -> Objective | None:
    """The method's objective, or None for ``"sft"``, which has none and takes no parameters.

    Raises:
        KeyError: no such method.
        TypeError: a parameter that it does not take.
        ValueError: it needs what :class:`~tiltyard.agents.language.trainer.PolicyGradient` cannot give.
    """
    if method == SUPERVISED:
        if params:
            raise TypeError(f"method 'sft' learns from demonstrations and takes no {' or '.join(sorted(params))}")
        return None
    if method not in [row.handle for row in ROWS]:
        raise KeyError(unknown("method", method, [SUPERVISED, *(row.handle for row in ROWS)]))
    objective = load(method, **params)
    check_needs(objective.needs, of=f"method {method!r}")
    if "groups" in objective.needs and group_size < 2:
        raise ValueError(f"method {method!r} compares answers to one problem: group_size must be at least 2")
    return objective
