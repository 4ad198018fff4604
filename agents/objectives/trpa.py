"""TRPA: pairwise preference loss with a KL penalty to the behaviour policy."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ..language.rollouts import PolicyOut, Rollouts
from .parts.answers import correct, same_group, spread
from .parts.ops import group_size, group_sum, log_ratios, masked_mean


def loss(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    beta: float = 0.1,
    anisotropy: float = 2.5,
    kl_old_coef: float = 1e-3,
) -> tuple[Tensor, dict[str, Tensor]]:
    """-mean log sigmoid(beta (l_w - l_l)) over pairs r_w > r_l of a group + kl_old_coef * KL; ``[B, T]``.

    l is the mean log pi / pi_old of an answer's tokens, and beta is ``anisotropy`` times as large where the better
    answer is right. A group without pairs is learned from all the same: -mean log sigmoid(+l) if its answers are right,
    -l if not. Only the order of rewards counts, not their size. Needs whole groups, which weigh the same; in the code
    all pairs of a batch do.

    Args:
        rollouts: reads ``logp_old``, ``mask``, ``reward``, ``group`` and what :func:`~..answers.correct` reads.
        advantage: not read.
        policy_out: reads ``logp``.
        beta: sharpness of the preference.
        anisotropy: how much sharper it is for right answers.
        kl_old_coef: weight of the KL penalty towards the policy that wrote the answers.

    Paper: Trust Region Preference Approximation: A simple and stable reinforcement learning algorithm for LLM reasoning
    (2025); anisotropy, groups without pairs and all numbers from the authors' code.
    """
    drift = log_ratios(rollouts, policy_out)
    level, right = masked_mean(drift, rollouts.mask, 1), correct(rollouts)
    better = same_group(rollouts.group) & (rollouts.reward[:, None] > rollouts.reward[None, :])
    sharp = torch.where(right, anisotropy * beta, beta)
    paired = torch.where(better, -logsigmoid(sharp[:, None] * (level[:, None] - level[None, :])), 0.0).sum(1)
    pairs, size = group_sum(better.sum(1), rollouts.group), group_size(rollouts.group)
    alone = -logsigmoid(torch.where(right, level, -level))
    loss = torch.where(pairs > 0, size * paired / pairs.clamp(min=1), alone)
    kl = (-drift).exp() + drift - 1
    kl = masked_mean(kl, rollouts.mask, 1)
    return spread(loss + kl_old_coef * kl, rollouts.mask), {"kl_old": kl.detach().mean(), "pairs": pairs.mean()}
