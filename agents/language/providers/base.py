"""The protocol of a provider."""

from collections.abc import Iterable

from ....wrappers.components import Component
from ..context import Context
from ..rollouts import Rollouts


class Provider(Component):
    """Supplies what an objective's row names in ``needs``; this one supplies nothing.

    An iteration calls, in this order: ``begin``; ``extend`` on every batch that is sampled (rewards are shaped then,
    and the curriculum chooses); ``supply`` on what is kept; ``fit`` after the policy's gradient steps.
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


def supplied(rollouts: Rollouts, providers: Iterable[Provider], context: Context) -> Rollouts:
    """The batch with what each of ``providers`` supplies, in order; one that has two names supplies once."""
    for provider in dict.fromkeys(providers):
        rollouts = provider.supply(rollouts, context)
    return rollouts
