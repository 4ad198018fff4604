"""C51: critics whose targets are the distribution of the next state's return, moved, scaled and projected.

Paper: Bellemare, Dabney and Munos, A Distributional Perspective on Reinforcement Learning (2017), section 4.
"""

import torch as th
from torch import Tensor

from .heads import TwoHot


class C51(TwoHot):
    r"""Categorical; beside numbers (as "two-hot") it learns from the distribution of the next state's return.

    With probabilities :math:`p_j` of returns :math:`z_j` at the next state, :math:`r + \gamma z_j`, cut to the range,
    lies between two bins, and each of them gets of :math:`p_j` what it is near (the paper's equation 7).
    """

    def project(self, out: Tensor, rewards: Tensor, discounts: Tensor) -> Tensor:
        """The distribution of ``r + discount Z``, without gradient.

        Args:
            out: outputs at the next states ``[n, B, n_bins]``.
            rewards: ``[B]``.
            discounts: ``[B]``, 0 where the episode terminated.

        Returns:
            Probabilities ``[n, B, n_bins]``.
        """
        share = self.probabilities(out.detach())
        moved = rewards.unsqueeze(-1) + discounts.unsqueeze(-1) * self.values.to(rewards.dtype)
        at = (moved.clamp(self.v_min, self.v_max) - self.v_min) / self.width
        below = at.floor().clamp_max(self.n_out - 2)
        upper = (at - below) * share
        index = below.long().expand_as(share)
        found = th.zeros_like(share).scatter_add_(-1, index, share - upper)
        return found.scatter_add_(-1, index + 1, upper)
