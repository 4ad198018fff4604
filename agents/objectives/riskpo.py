"""RiskPO: mixed value-at-risk advantages over bundles of problems."""

import torch
from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.answers import pair_mean, rank_in_group


def advantage(
    rollouts: Rollouts,
    *,
    low: float = 0.2,
    high: float = 0.8,
    omega: float = 0.5,
    bundle_size: int = 5,
    centred: bool = False,
    epsilon: float = 1e-6,
) -> Tensor:
    """A(S) = [-c (a - S)+ / low + ((S - a)+ - (S - b)+ + a - b) / (high - low)] / ((c + 1) std(S)), c = 1 + omega.

    Shape ``[B]``. The k-th answers to the problems of a bundle make a paper, S is its mean reward, and each of its
    answers gets A(S). a and b are the ``low`` and ``high`` quantiles of S: A(S) is 0 above b, falls below it, and
    fastest below a. So an answer to a problem that is always solved, or never, still teaches something.

    Quantiles and deviation are those of all papers of the batch; the code tracks quantiles over batches. Bundles are as
    equal as the problems allow. What is written in them decides which answers are k-th, so that the order of rows does
    not matter; one that has no partner in every other group of its bundle gets 0.

    Args:
        rollouts: reads ``reward``, ``group``, ``tokens`` and ``mask``.
        low: alpha, end of the tail that counts most.
        high: beta, where scores stop counting.
        omega: how much more than the rest the tail below ``low`` counts.
        bundle_size: problems in a bundle.
        centred: subtract the mean of A over papers, without which A is never above 0 and nothing is ever encouraged.
        epsilon: added to the standard deviation.

    Paper: RiskPO: Risk-based Policy Optimization via Verifiable Reward for LLM Post-Training (2025), mixed value at
    risk over bundles; divisors as in the authors' code, of which ``centred`` is an option.
    """
    _, problem = torch.unique(rollouts.group, return_inverse=True)
    problems = int(problem.max()) + 1
    bundle = problem * max(problems // bundle_size, 1) // problems
    rank = rank_in_group(torch.zeros_like(problem), rollouts)
    paper = (bundle[:, None] == bundle) & (rank[:, None] == rank)
    fellows = paper.sum(1)
    whole = fellows == torch.where(bundle[:, None] == bundle, fellows, 0).amax(1)
    score, share = pair_mean(rollouts.reward, paper), whole / fellows.double()  # each paper counts once
    papers = score[whole].sort().values
    a, b = torch.quantile(papers, torch.tensor([low, high], dtype=papers.dtype, device=papers.device))
    mean = (score * share).sum() / share.sum()
    std = ((score - mean).square() * share).sum().div((share.sum() - 1).clamp(min=1)).sqrt()
    middle = ((score - a).clamp(min=0) - (score - b).clamp(min=0) + a - b) / (high - low)
    tail = (1 + omega) * (a - score).clamp(min=0) / low
    advantage = (middle - tail) / ((2 + omega) * (std + epsilon))
    if centred:
        advantage = advantage - (advantage * share).sum() / share.sum()
    return torch.where(whole, advantage, 0.0).float()
