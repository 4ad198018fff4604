"""The protocol of a data source."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ....wrappers.components import Component
from ...objectives.parts.aggregates import token_mean
from ...objectives.parts.log_likelihood import log_likelihood
from ...objectives.registry import Objective, load
from ..context import Context
from ..methods import SUPERVISED
from ..rollouts import Rollouts


class DataSource(Component):
    """Stored rows and the objective that learns from them; its loss joins the method's in every gradient step.

    Args:
        method: handle of the objective, of :data:`tiltyard.agents.objectives.catalogue.ROWS`, or ``"sft"``, the mean
            negative log-likelihood of the rows' tokens.
        method_kwargs: its parameters.
        weight: of its loss; may be a schedule (:mod:`tiltyard.agents.schedules`).
        batch_size: rows a gradient step (whole groups: a few more).
    """

    def __init__(
        self,
        *,
        method: str = SUPERVISED,
        method_kwargs: Mapping[str, Any] | None = None,
        weight: float | Mapping[str, Any] = 1.0,
        batch_size: int = 32,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self.weight, self.batch_size = weight, batch_size
        self.objective = _IMITATION if method == SUPERVISED else load(method, **dict(method_kwargs or {}))

    @abstractmethod
    def batch(self, context: Context) -> Rollouts:
        """The next rows, drawn by ``context.rng``: ``mask`` on what is learnt from, ``logp_old`` of who wrote them.

        Pairs are groups of two, the chosen completion with the higher reward.
        """


def _ones(rollouts: Rollouts) -> Tensor:
    return torch.ones_like(rollouts.reward)


_IMITATION = Objective(SUPERVISED, _ones, log_likelihood, token_mean, {}, silent_at_zero=False, needs=frozenset())
