"""The protocol of a data source."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from ....wrappers.components import Component
from ..context import Context
from ..rollouts import Rollouts


class DataSource(Component):
    """Stored rows and the objective that learns from them; its loss joins the method's in every gradient step.

    Args:
        method: handle of the objective, of :data:`tiltyard.agents.objectives.catalogue.ROWS`.
        method_kwargs: its parameters.
        weight: of its loss; may be a schedule.
        batch_size: rows a gradient step (whole groups: a few more).
    """

    def __init__(
        self,
        *,
        method: str,
        method_kwargs: Mapping[str, Any] | None = None,
        weight: float | Mapping[str, Any] = 1.0,
        batch_size: int = 32,
    ) -> None:
        self.method, self.method_kwargs = method, dict(method_kwargs or {})
        self.weight, self.batch_size = weight, batch_size

    @abstractmethod
    def batch(self, context: Context) -> Rollouts:
        """The next rows, drawn by ``context.rng``: ``mask`` on what is learnt from, ``logp_old`` of who wrote them.

        Pairs are groups of two, the chosen completion with the higher reward.
        """
