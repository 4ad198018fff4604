"""OREAL: behaviour cloning on correct completions and a policy gradient on incorrect ones."""

import torch
from torch import Tensor

from ..language.rollouts import PolicyOut, Rollouts
from .parts.completions import correct
from .parts.leave_one_out import leave_one_out
from .parts.ops import k3, log_ratios, masked_mean, per_token


def advantage(rollouts: Rollouts, *, right_weight: float = 1.0, wrong_weight: float = 0.5) -> Tensor:
    """A_i = (r_i - mean of the other rewards of the group) * weight * N / N_kind; ``[B]``.

    N counts the batch's written tokens, N_kind those of its correct or of its incorrect completions: averaged over
    tokens, correct completions weigh ``right_weight`` in all and incorrect ones ``wrong_weight``, however many there
    are. A correct completion of a problem of pass rate p counts 1 - p, an incorrect one -p, so that both push towards
    the same policy. A group of one has no others: r_i * weight.

    Args:
        rollouts: reads ``reward``, ``group``, ``mask`` and what :func:`~..completions.correct` reads.
        right_weight: of all correct completions.
        wrong_weight: of all incorrect completions.

    Paper: Exploring the Limit of Outcome Reward for Learning Mathematical Reasoning (2025); shaping by leave-one-out,
    normalisation and numbers from the authors' code.
    """
    tokens, is_correct = rollouts.mask.sum(1), correct(rollouts)
    ours, all_tokens = torch.where(is_correct, tokens, 0).sum(), tokens.sum()
    weight = torch.where(
        is_correct,
        right_weight * all_tokens / ours.clamp(min=1),
        wrong_weight * all_tokens / (all_tokens - ours).clamp(min=1),
    )
    return leave_one_out(rollouts) * weight


def loss(
    rollouts: Rollouts, advantage: Tensor, policy_out: PolicyOut, *, kl_coef: float = 0.01
) -> tuple[Tensor, dict[str, Tensor]]:
    """-A log pi where correct, -A pi / pi_old where incorrect, + kl_coef * KL to the reference; ``[B, T]``.

    KL is estimated by exp(d) - d - 1 with d = logp_ref - logp.

    The paper also weighs tokens by a reward model w of tokens, trained beside the policy on outcomes:
    max(2 sigmoid(w) - 1, 0) in correct completions, max(1 - 2 sigmoid(w), 0) in incorrect ones. This is its
    configuration without that model, all weights 1. It keeps one correct and one incorrect completion of each problem,
    here all are used.

    Args:
        rollouts: reads ``logp_old``, ``logp_ref``, ``mask`` and what :func:`~..completions.correct` reads.
        advantage: ``[B]`` or ``[B, T]``.
        policy_out: reads ``logp``.
        kl_coef: weight of the KL penalty towards the reference policy; 0: none, and ``logp_ref`` is not read.

    Paper: Exploring the Limit of Outcome Reward for Learning Mathematical Reasoning (2025), and the authors' code.
    """
    ratio = log_ratios(rollouts, policy_out).exp()
    logp = torch.where(rollouts.mask, policy_out.logp, 0.0)
    loss = -per_token(advantage) * torch.where(correct(rollouts)[:, None], logp, ratio)
    if kl_coef == 0:
        return loss, {}
    kl = k3(policy_out.logp, rollouts.need("logp_ref"), rollouts.mask)
    return loss + kl_coef * kl, {"kl_ref": masked_mean(kl.detach(), rollouts.mask)}
