"""RPO: the DPO loss, length-normalised if asked for, plus a supervised loss on the chosen completion."""

from typing import Literal, get_args

import torch
from torch import Tensor
from torch.nn import functional as F

from ... import unknown
from ..language.rollouts import PolicyOut, Rollouts
from .parts.ops import group_sum, masked_mean, masked_sum

Sft = Literal["sum", "mean"]


def loss(
    rollouts: Rollouts,
    advantage: Tensor,
    policy_out: PolicyOut,
    *,
    beta: float = 0.05,
    eta: float = 0.005,
    sft: Sft = "sum",
    per_token: bool = False,
) -> tuple[Tensor, dict[str, Tensor]]:
    """-log sigmoid(beta (h_w - h_l)) - eta beta log pi(y_w), h = log(pi / pi_ref) of a completion; ``[B, T]``.

    The first term is DPO's, a mean over a group's pairs; the second keeps the policy at the distribution of the chosen
    completions, a mean over them. Without it (``eta=0``) both likelihoods may fall as long as their gap grows, in
    favour of completions that no pair compares. Each chosen and rejected row carries its group's loss times |A| / 2 on
    all its tokens, so that the mean over tokens and rows is the mean over groups with a pair. Groups must be whole.

    Args:
        rollouts: reads ``logp_ref``, ``group`` and ``mask``.
        advantage: ``[B]``, from :func:`~.parts.preference_pairs.preference_pairs`.
        policy_out: reads ``logp``.
        beta: scale of the log-ratios.
        eta: weight of the supervised term.
        sft: "sum" is the paper's; "mean" is eta times the mean of -log pi(y_w) over its tokens, without beta (its
            appendix F, with eta 0.2 and beta 0.5).
        per_token: h is a mean over a completion's tokens, not a sum: with eta 0, the length-normalised DPO of TÜLU 3:
            Pushing Frontiers in Open Language Model Post-Training (2024), section 5, ``dpo_norm`` in its authors' code.

    Raises:
        ValueError: ``rollouts.logp_ref`` is None, or an unknown ``sft``.

    Paper: Provably Mitigating Overoptimization in RLHF: Your SFT Loss is Implicitly an Adversarial Regularizer (2024),
    its RPO objective with the chosen completions as base distribution; as in the authors' ``rpo_trainer.py``, numbers
    of their recipe for Gemma 7B.
    """
    if sft not in get_args(Sft):
        raise ValueError(unknown("sft", sft, get_args(Sft)))
    mask, group = rollouts.mask, rollouts.group
    total = masked_sum(policy_out.logp, mask, 1)
    ratio = total - masked_sum(rollouts.need("logp_ref"), mask, 1)
    if per_token:
        ratio = ratio / mask.sum(1).clamp(min=1)
    gap = ratio[:, None] - ratio[None, :]
    chosen = advantage > 0
    pair = chosen[:, None] & (advantage[None, :] < 0) & (group[:, None] == group[None, :])
    pairs = group_sum(pair.sum(1).double(), group).clamp(min=1)
    preference = group_sum(torch.where(pair, -F.logsigmoid(beta * gap), 0.0).sum(1).double(), group) / pairs
    imitation = -beta * total if sft == "sum" else -masked_mean(policy_out.logp, mask, 1)
    winners = group_sum(chosen.double(), group).clamp(min=1)
    supervised = group_sum(torch.where(chosen, imitation, 0.0).double(), group) / winners
    carried = (advantage.abs() / 2 * (preference + eta * supervised)).float()
    correct = ((gap.detach() > 0) & pair).sum() / pair.sum().clamp(min=1)
    return carried[:, None].expand(mask.shape), {"ranking_accuracy": correct}
