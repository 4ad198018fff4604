"""The protocol of a data source."""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from ....wrappers.components import Component
from ...objectives.parts.aggregates import token_mean
from ...objectives.parts.log_likelihood import log_likelihood
from ...objectives.registry import Objective, load
from ...schedules import at
from ..choices import SUPERVISED
from ..context import Context
from ..providers.catalogue import SUPPLIES
from ..rollouts import Rollouts

_OF_TRAINING = frozenset({"expert", "greedy", "logp_prm", "tracker", "values", "verifier"})
"""Needs that only training in an environment supplies."""


class DataSource(Component):
    """Stored rows and the objective that learns from them; its loss joins the method's in every gradient step.

    Args:
        method: handle of the objective, of :data:`tiltyard.agents.objectives.catalogue.ROWS`, or ``"sft"``, the mean
            negative log-likelihood of the rows' tokens.
        method_kwargs: its parameters.
        weight: of its loss; may be a schedule (:mod:`tiltyard.agents.schedules`).
        batch_size: rows a gradient step (whole groups: a few more).

    Raises:
        ValueError: a number that is out of range, or a method that needs what stored rows do not have, such as a
            critic.
    """

    def __init__(
        self,
        *,
        method: str = SUPERVISED,
        method_kwargs: Mapping[str, Any] | None = None,
        weight: float | Mapping[str, Any] | Callable[[float], float] = 1.0,
        batch_size: int = 32,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        for progress in (0.0, 1.0):
            value = at(weight, progress)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
                raise ValueError(f"weight must be a number of at least 0 that is finite, got {value!r:.100}")
        self.weight, self.batch_size = weight, batch_size
        self.objective = _IMITATION if method == SUPERVISED else load(method, **dict(method_kwargs or {}))
        for need in sorted(self.objective.needs & _OF_TRAINING):
            raise ValueError(f"method {method!r} needs {SUPPLIES[need]}, which stored rows do not have")

    @abstractmethod
    def batch(self, context: Context) -> Rollouts:
        """The next rows, drawn by ``context.rng``: ``mask`` on what is learnt from, ``logp_old`` of who wrote them.

        Pairs are groups of two, the chosen completion with the higher reward.
        """


def _ones(rollouts: Rollouts) -> Tensor:
    return torch.ones_like(rollouts.reward)


_IMITATION = Objective(SUPERVISED, _ones, log_likelihood, token_mean, {}, silent_at_zero=False, needs=frozenset())
