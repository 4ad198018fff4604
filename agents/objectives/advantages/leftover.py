"""Only what is better than expected."""

from torch import Tensor

from ...language.rollouts import Rollouts
from ..ops import group_mean


def leftover(rollouts: Rollouts) -> Tensor:
    """A_i = max(0, r_i - V), V the mean reward of row i's group; ``[B]``.

    The paper learns V(x), the value of a frozen reference policy at prompt x, with a head on that policy. Here the
    policy that wrote the answers is the reference, and the mean of its own answers estimates its value.

    Paper: Improving Language Models with Advantage-based Offline Policy Gradients (2023), A-LoL.
    """
    return (rollouts.reward - group_mean(rollouts.reward, rollouts.group)).clamp(min=0).float()
