"""Unlikeliness reward: of the correct completions of a problem, the likely ones earn less than the unlikely ones."""

import torch
from torch import Tensor

from ..checks import check_numbers
from ..components import Context, Episodes, Reward
from .groups import less_likely, over_group, sampled


class UnlikelinessGRPO(Reward):
    """R_i = r_i (1 - weight * k_i / G) for a correct completion, where k_i of its group of G are less likely than it.

    GRPO raises likely correct completions more than unlikely ones, whose probability may even fall (rank bias); it
    then sharpens what the policy could do before. Here the least likely correct completion of a group keeps its reward
    and the likeliest loses nearly ``weight`` of it. Incorrect completions keep theirs. Likelihood is the mean
    log-probability of a completion's tokens under the policy that wrote it, as in the authors' code.

    In a group without incorrect completions it is the only difference between rewards. The authors leave such groups
    out: ``curriculum="dynamic-sampling"``. Their other remedy against rank bias is a second pass: ``n_epochs=2``.

    Departures: completions that are as likely as each other, mostly copies, share the mean of their places, where the
    authors' sort gives each a place of its own at random. The paper's formula has (G - rank) / G, with rank 0 for the
    likeliest, where their code, and so this, has (G - 1 - rank) / G, so that the least likely one loses nothing.

    Args:
        weight: the largest share of the reward that is lost, the paper's beta_rank.

    Raises:
        TypeError: a weight that is no number.
        ValueError: one outside 0 to 1.

    Paper: Rewarding the Unlikely: Lifting GRPO Beyond Distribution Sharpening (2025), the unlikeliness reward; the
    authors' code, ``_compute_advantages`` with ``rank_penalty=0.25``.
    """

    def __init__(self, *, weight: float = 0.25) -> None:
        check_numbers(weight=weight)
        if not 0 <= weight <= 1:
            raise ValueError(f"weight is the share of a reward that is lost, from 0 to 1, got {weight}")
        self.weight = weight

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Shaped rewards ``[B]``."""
        written = episodes.mask.sum(1).clamp(min=1)
        likelihood = torch.where(episodes.mask, episodes.logp_old.double(), 0.0).sum(1) / written
        own = sampled(episodes)
        place = less_likely(likelihood, episodes.group, own) / over_group(own, episodes.group).clamp(min=1)
        left = torch.where(episodes.info["success"], 1 - self.weight * place, 1.0)
        return episodes.reward * left.to(episodes.reward.dtype)
