"""PURE: min-form credit assignment from process rewards."""

import torch
from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.ops import group_size, group_sum, masked_sum, turn_ends


def advantage(rollouts: Rollouts, *, temperature: float = 0.1, verifiable_weight: float = 0.0) -> Tensor:
    """A_t = sum over the steps from t's on of (r*_k - tokens of step k * mean of the others' r* a token); ``[B, T]``.

    r*_k = softmax over steps of (-r / temperature), times r_k: their sum tends to the worst step's reward as the
    temperature falls to 0, so that no good step can pay for a bad one. Steps are turns. The mean a token is that of the
    group's other answers together; a baseline a step would pay for fewer, longer steps. The verifiable reward, times
    ``verifiable_weight``, joins the last step less its own leave-one-out mean.

    Args:
        rollouts: reads ``step_reward``, ``turn``, ``mask``, ``group`` and ``reward`` (the verifiable one).
        temperature: of the softmax.
        verifiable_weight: of the episode's reward beside those of its steps.

    Raises:
        ValueError: ``rollouts.step_reward`` is None.

    Paper: Stop Summation: Min-Form Credit Assignment Is All Process Reward Model Needs for Reasoning (2025); the
    authors' ``turn_process_reward_logits_to_reward`` and ``process_experiences`` (baseline "token").
    """
    mask, group = rollouts.mask, rollouts.group
    ends = turn_ends(rollouts.turn, mask)
    rewards = rollouts.need("step_reward").double()
    share = torch.softmax((-rewards / temperature).masked_fill(~ends, -1e30), dim=1)
    credit = torch.where(ends, share * rewards, 0.0)
    total, tokens = credit.sum(1), mask.sum(1).double()
    others = (group_sum(total, group) - total) / (group_sum(tokens, group) - tokens).clamp(min=1)
    written = mask.cumsum(1)  # tokens of a step: written up to its end, less written up to the last end before
    before = torch.where(ends, written, 0).cummax(1).values.roll(1, 1)
    before[:, :1] = 0
    credit = credit - torch.where(ends, (written - before) * others[:, None], 0.0)
    if verifiable_weight:
        size, reward = group_size(group), rollouts.reward.double()
        centred = reward - (group_sum(reward, group) - reward) / (size - 1).clamp(min=1)
        last = turn_ends(torch.zeros_like(rollouts.turn), mask)
        credit = credit + verifiable_weight * last * (centred * (size > 1))[:, None]
    to_go = masked_sum(credit, mask, 1)[:, None] - credit.cumsum(1) + credit
    return torch.where(mask, to_go, 0.0).float()
