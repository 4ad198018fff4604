"""RL-PLUS: multiple importance sampling of own and expert completions, with an exploration-based advantage."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import log_ratios, masked_mean, per_token


def loss(
    rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut, *, gamma: float = 0.5
) -> tuple[Tensor, dict[str, Tensor]]:
    """-A pi / pi_old for the policy's own tokens, -A (1 - sg[pi])^gamma 2 pi / (pi_old + (pi_old + 1) / 2) for others'.

    ``[B, T]``. The second ratio is multiple importance sampling: the expert's policy, unknown, is guessed to be half
    pi_old and half 1, so that the ratio stays below 4 where pi / pi_old explodes. The factor before it is near 1 on
    tokens that the policy would hardly have written, and near 0 on those it knows. No clip.

    Args:
        rollouts: reads ``logp_old`` and ``mask``, and ``info["expert"]`` (bool ``[B]``: not written by the policy;
            without it, all are its own). ``logp_old`` of an expert's completion is the policy's as it sampled the
            others.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        gamma: how quickly a token that the policy learns stops to count.

    Paper: RL-PLUS: Countering Capability Boundary Collapse of LLMs in Reinforcement Learning with Hybrid-policy
    Optimization (2025); the guess of the expert's policy, gamma and the missing clip from the authors' code, whose
    script also has an entropy bonus of 0.001 (``ent_coef`` of the agent, here 0).
    """
    mask = rollouts.mask
    ratio = log_ratios(rollouts, policy_out).exp()
    if "expert" not in rollouts.info:
        return -per_token(advantage) * ratio, {}
    now = torch.where(mask, policy_out.logp, 0.0).exp()
    old = torch.where(mask, rollouts.logp_old, 0.0).exp()
    foreign = 2 * now / (old + (old + 1) / 2) * (1 - now.detach()).clamp(min=0).pow(gamma)
    expert = rollouts.info["expert"].bool()[:, None]
    loss = -per_token(advantage) * torch.where(expert, foreign, ratio)
    return loss, {"expert_probability": masked_mean(now.detach(), mask & expert)}
