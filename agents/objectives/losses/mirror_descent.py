"""One step of mirror descent: a policy gradient held by a squared log-ratio of whole answers."""

import torch
from torch import Tensor

from ...language.rollouts import PolicyOut, Rollouts
from ..ops import log_ratios, masked_mean, masked_sum, per_token


def mirror_descent(
    rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut, *, tau: float = 0.1
) -> tuple[Tensor, dict[str, Tensor]]:
    """-A logp + (tau / 2) (log pi(answer) / pi_old(answer))^2 / length; ``[B, T]``, to be summed over an answer.

    pi_old wrote the answers and is what the policy is held to, so older answers may be learnt from too.

    Args:
        rollouts: reads ``logp_old`` and ``mask``.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        tau: of the regulariser; the paper gives no number.

    Paper: Kimi k1.5: Scaling Reinforcement Learning with LLMs (2025), eq. 3.
    """
    mask = rollouts.mask
    moved = masked_sum(log_ratios(rollouts, policy_out), mask, 1).square()[:, None]
    logp = torch.where(mask, policy_out.logp, 0.0)
    held = tau / 2 * moved / mask.sum(1, keepdim=True).clamp(min=1)
    return held - per_token(advantage) * logp, {
        "squared_log_ratio": masked_mean(moved.detach().expand(mask.shape), mask)
    }
