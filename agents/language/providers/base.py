"""The protocol of a provider."""

from ....wrappers.components import Component
from ..context import Context
from ..rollouts import Rollouts


class Provider(Component):
    """Supplies what an objective's row names in ``needs``; this one supplies nothing.

    An iteration calls, in this order: ``begin``; ``extend`` on every batch that is sampled; then rewards are shaped, the
    curriculum chooses, and on what is kept ``supply``; the policy's gradient steps; ``fit``.
    """

    def extend(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """The batch with further rows, marked ``extra``, whose rewards are shaped like all others."""
        return rollouts

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """The batch with the columns that the objective reads; rows that were only needed for them are gone."""
        return rollouts

    def measure(self, rollouts: Rollouts) -> dict[str, float]:
        """Metrics of what has been supplied, to log beside those of the rollouts."""
        return {}

    def fit(self, rollouts: Rollouts, context: Context) -> dict[str, float]:
        """Trains what is trained, on the batch that the policy has just learnt from; returns metrics to log."""
        return {}
