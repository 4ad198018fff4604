"""REINFORCE's advantage: rewards minus the mean of the batch."""

from torch import Tensor

from ...language.rollouts import Rollouts


def batch_mean(rollouts: Rollouts) -> Tensor:
    """A_i = r_i - mean(r) over the batch; ``[B]``. Groups do not matter.

    Paper: Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning (1992), eq. 4 with
    the batch's mean as reinforcement baseline.
    """
    return (rollouts.reward - rollouts.reward.double().mean()).float()
