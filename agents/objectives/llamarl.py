"""LlamaRL's AIPO: policy gradient with one-sided clipped importance weights, for completions of an older policy."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import log_ratios, masked_mean, per_token


def loss(
    rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut, *, rho: float = 4.0
) -> tuple[Tensor, dict[str, Tensor]]:
    """-sg(min(pi / mu, rho)) A log pi; ``[B, T]``. sg: no gradient flows through the weight, mu wrote the token.

    mu is ``logp_old``, which the row's ``correction="ratio"`` makes the policy that the worker sampled from. With
    ``correction="none"`` it is the policy before this iteration's steps, and the gradient is not corrected.

    Args:
        rollouts: reads ``logp_old`` and ``mask``.
        advantage: ``[B]`` or ``[B, T]``; the paper's is the reward minus the mean of the completions to the problem.
        policy_out: reads ``logp``.
        rho: the largest weight. The paper recommends 2 to 10; infinity clips nothing.

    Departure: log-ratios are cut at 20 either way, so that weights are finite.

    Paper: LlamaRL: A Distributed Asynchronous Reinforcement Learning Framework for Efficient Large-scale LLM Training
    (2025), the section on off-policy corrections (AIPO).
    """
    ratio = log_ratios(rollouts, policy_out).detach().exp()
    weight = ratio.clamp(max=rho)
    logp = torch.where(rollouts.mask, policy_out.logp, 0.0)
    metrics = {
        "importance_weight": masked_mean(weight, rollouts.mask),
        "clip_fraction": masked_mean((weight != ratio).float(), rollouts.mask),
    }
    return -weight * per_token(advantage) * logp, metrics
