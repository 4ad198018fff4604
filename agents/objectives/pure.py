"""PURE: min-form credit assignment from process rewards, with a leave-one-out baseline a token."""

import torch
from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.completions import others_mean
from .parts.ops import group_size, group_sum, masked_sum, turn_ends


def advantage(
    rollouts: Rollouts,
    *,
    temperature: float = 0.1,
    verifiable_weight: float = 0.0,
    reward_kl_coef: float = 0.0,
    mask_separators: bool = False,
) -> Tensor:
    """A_t = sum over the steps from t's on of (r*_k - tokens of step k * mean of the others' r* a token); ``[B, T]``.

    r*_k = softmax over steps of (-r / temperature), times r_k: their sum tends to the worst step's reward as the
    temperature falls to 0, so that no good step can pay for a bad one. A step ends with its turn, and inside of a turn
    with each token on which a reward stands (process rewards of steps, such as those of ``rewards="implicitprm"``). The
    mean a token is that of the group's other completions together; a baseline a step would pay for fewer, longer steps.
    The verifiable reward, times ``verifiable_weight``, joins the last step less its own leave-one-out mean. Each token
    is charged reward_kl_coef (log pi_old - log pi_ref), for which the tokens before it are charged too.

    Rewards that shape tokens leave what the environment paid on the last token of its turn: it is part of that step's
    reward then, and ``reward`` is the sum of all, process rewards included.

    Departures from the authors' code: it takes a line's end for a step's, and silences that token even where it is all
    of a step; it standardises the advantages of a batch unless told not to; it averages the loss over a completion's
    tokens and then over completions, where the row averages over all tokens of the batch.

    Args:
        rollouts: reads ``step_reward``, ``turn``, ``mask``, ``group``, ``reward`` (the verifiable one) and, for the KL
            penalty, ``logp_old`` and ``logp_ref``.
        temperature: of the softmax.
        verifiable_weight: of the episode's reward beside those of its steps.
        reward_kl_coef: weight of the KL penalty inside the reward.
        mask_separators: the last token of a step of several, which ends it, is not learnt from.

    Raises:
        ValueError: ``rollouts.step_reward`` is None, or ``rollouts.logp_ref`` where there is a KL penalty.

    Paper: Stop Summation: Min-Form Credit Assignment Is All Process Reward Model Needs for Reasoning (2025); the
    authors' ``turn_process_reward_logits_to_reward`` and ``make_experience_list`` (baseline "token"); KL penalty and
    masked separators as in ``train_pure.sh``.
    """
    mask = rollouts.mask
    ends = turn_ends(rollouts.turn, mask) | (mask & (rollouts.need("step_reward") != 0))
    tokens = _step_tokens(ends, mask)
    credit = _min_form(rollouts, ends, tokens, temperature)
    if verifiable_weight:
        last = turn_ends(torch.zeros_like(rollouts.turn), mask)
        alone = group_size(rollouts.group) == 1
        reward = rollouts.reward.double()
        centred = torch.where(alone, 0.0, reward - others_mean(reward, rollouts.group))
        credit = credit + verifiable_weight * last * centred[:, None]
    if reward_kl_coef:
        drift = torch.where(mask, rollouts.logp_old - rollouts.need("logp_ref"), 0.0)
        credit = credit - reward_kl_coef * drift.double()
    to_go = masked_sum(credit, mask, 1)[:, None] - credit.cumsum(1) + credit
    learnt = mask & ~(ends & (tokens > 1)) if mask_separators else mask
    return torch.where(learnt, to_go, 0.0).float()


def _min_form(rollouts: Rollouts, ends: Tensor, tokens: Tensor, temperature: float) -> Tensor:
    """Each step's transformed reward less its baseline, on its last token, ``[B, T]`` float64."""
    rewards, group = rollouts.need("step_reward").double(), rollouts.group
    share = torch.softmax((-rewards / temperature).masked_fill(~ends, -1e30), dim=1)
    credit = torch.where(ends, share * rewards, 0.0)
    total, written = credit.sum(1), rollouts.mask.sum(1).double()
    others = (group_sum(total, group) - total) / (group_sum(written, group) - written).clamp(min=1)
    return credit - tokens * others[:, None]


def _step_tokens(ends: Tensor, mask: Tensor) -> Tensor:
    """The number of tokens of each step, on its last one, ``[B, T]``; 0 elsewhere."""
    written = mask.cumsum(1)
    before = torch.where(ends, written, 0).cummax(1).values.roll(1, 1)
    before[:, :1] = 0
    return torch.where(ends, written - before, 0)
