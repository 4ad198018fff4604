"""Log-probabilities under the policy as it was when training began."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from ...objectives.parts.ops import k3, masked_mean
from ..context import Context
from ..rollouts import Rollouts
from .base import Provider


class Reference(Provider):
    """``Rollouts.logp_ref``, from a frozen copy of the network."""

    def start(self, context: Context) -> None:
        """Copies the policy."""
        self.reference = deepcopy(context.policy.network).requires_grad_(False)

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With ``logp_ref``."""
        return replace(rollouts, logp_ref=context.score(rollouts.tokens, rollouts.mask, self.reference))

    def measure(self, rollouts: Rollouts) -> dict[str, float]:
        """``kl_ref``: the divergence of the policy that wrote from the reference, the k3 estimate."""
        kl = k3(rollouts.logp_old, rollouts.need("logp_ref"), rollouts.mask)
        return {"kl_ref": float(masked_mean(kl, rollouts.mask))}

    def networks(self) -> dict[str, Any]:
        """The copy."""
        return {"reference": self.reference}
