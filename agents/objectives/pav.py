"""PAV: the outcome's advantage and, for every token, the progress that it is under a prover, a better policy."""

from dataclasses import replace

import torch
from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.gae import raw_gae
from .parts.leave_one_out import leave_one_out


def advantage(rollouts: Rollouts, *, alpha: float = 1.0, best_of: int = 4) -> Tensor:
    """A_t = r - mean of the others' r + alpha (Q_mu(s_t, y_t) - V_mu(s_t)); ``[B, T]``, 0 outside the mask.

    The prover mu is best-of-K sampling from the policy as it was before training. It succeeds with the chance
    V_mu = 1 - (1 - V)^K, V being that policy's own chance, which a verifier has learnt from completions before training
    (:class:`~tiltyard.agents.language.providers.pav.Verifier`). So a step is paid for by how much it raises the chance
    that the best of K completions succeeds: more than by the policy's own chance where success is rare, less where it
    is not. It is paid to that step alone; a sum over later steps would be the outcome again.

    Rewards, from 0 to 1, are read as chances where they end an episode, and values of the verifier are cut to that
    range. A group of one has no others, and its reward stands alone.

    Departures: a step is a token, where the paper's is a line; the baseline of the outcome is RLOO's; the verifier's
    are its own. ``alpha`` is ours to choose: neither the paper's number nor its code were at hand.

    Args:
        rollouts: reads ``reward``, ``values``, ``mask`` and ``group``.
        alpha: weight of progress; 0 leaves RLOO's advantage.
        best_of: K; 1 makes the prover the policy before training itself.

    Raises:
        ValueError: ``rollouts.values`` is None, or a number out of range.

    Paper: Rewarding Progress: Scaling Automated Process Verifiers for LLM Reasoning (2024), the effective reward
    Q_pi + alpha A_mu, and best-of-K provers.
    """
    if alpha < 0 or best_of < 1:
        raise ValueError(f"alpha is at least 0 and best_of at least 1, got {alpha} and {best_of}")
    chance = 1 - (1 - rollouts.need("values").double().clamp(0, 1)) ** best_of
    ended = replace(rollouts, values=chance, reward=rollouts.reward.double().clamp(0, 1), step_reward=None)
    progress = raw_gae(ended, gamma=1.0, gae_lambda=0.0)
    return torch.where(rollouts.mask, leave_one_out(rollouts)[:, None] + alpha * progress, 0.0).float()
