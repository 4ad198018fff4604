"""PRIME: log-probabilities under an implicit process reward model that is trained on the policy's own completions."""

from dataclasses import replace
from typing import Any

from ....wrappers.rewards.implicitprm import ImplicitPRM
from ...objectives.parts.completions import correct
from ...objectives.parts.ops import masked_sum
from ..context import Context
from ..rollouts import Rollouts
from .base import Provider

RATE = 2.0
"""The reward model's learning rate in learning rates of the policy: 1e-6 and 5e-7 in the authors' script."""
STEPS = 4
"""Gradient steps of the reward model an iteration, in one pass: of 256 completions among 1024 in the script."""


class OnlinePRM(Provider):
    """``Rollouts.logp_prm``, under pi_phi: a copy of the policy whose log-ratio to the reference says what succeeded.

    pi_phi begins as the policy, as the reference does, so that all process rewards are 0 at first. After each iteration
    it takes steps on the cross-entropy of ``info["success"]`` of the completions that were learnt from, as
    :class:`~tiltyard.wrappers.rewards.implicitprm.ImplicitPRM` has it; nothing is paid by a pi_phi that was fitted to
    the completions themselves (``update=after`` in the authors' code).

    Departures: the authors clip pi_phi's gradient at a norm of 10, and here it is 1; Adam's betas are 0.9 and 0.95.

    Paper: Process Reinforcement through Implicit Rewards (2025), Algorithm 1, lines 16 and 17.
    """

    def start(self, context: Context) -> None:
        """Begins pi_phi with the policy as it is now.

        Raises:
            ValueError: the method's beta is not above 0.
        """
        self.prm = ImplicitPRM(beta=_beta(context), n_epochs=1)
        self.prm.start(context)

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With ``logp_prm``."""
        return replace(rollouts, logp_prm=context.score(rollouts.tokens, rollouts.mask, self.prm.network))

    def measure(self, rollouts: Rollouts) -> dict[str, float]:
        """``prm_accuracy``: the share of completions whose summed process reward has the sign of their outcome."""
        total = masked_sum(rollouts.need("logp_prm") - rollouts.need("logp_ref"), rollouts.mask, 1)
        return {"prm_accuracy": float(((total > 0) == correct(rollouts)).float().mean())}

    def fit(self, rollouts: Rollouts, context: Context) -> dict[str, float]:
        """One pass of :data:`STEPS` gradient steps on the cross-entropy of outcomes; returns its mean."""
        self.prm.beta, self.prm.batch_size = _beta(context), -(-len(rollouts) // STEPS)
        for group in self.prm.network.optimizer.param_groups:
            group["lr"] = RATE * context.learning_rate
        return self.prm.fit(rollouts, context)

    def networks(self) -> dict[str, Any]:
        """pi_phi."""
        return self.prm.networks()


def _beta(context: Context) -> float:
    """The method's scale of log-ratios, at this iteration; ``ValueError`` where it is none."""
    beta = 0.05 if context.objective is None else float(context.objective.params.get("beta", 0.05))
    if beta <= 0:
        raise ValueError(f"beta must be above 0, got {beta}")
    return beta
