"""Rewards minus a baseline supplied with the rollouts (ReMax, SPO), optionally whitened."""

from torch import Tensor

from ...language.rollouts import Rollouts


def baseline(rollouts: Rollouts, *, whiten: bool = False, epsilon: float = 1e-8) -> Tensor:
    """A_i = r_i - b_i; ``[B]``. With ``whiten``, (A - mean(A)) / std(A) over the batch (n - 1).

    ReMax's b_i is the reward of the greedy completion to row i's problem: a sampled completion as good as it teaches
    nothing. SPO's b_i is a running estimate of the success at that problem, read before this batch updates it.

    Args:
        rollouts: reads ``reward`` and ``baseline``.
        whiten: normalise over the batch.
        epsilon: added to the standard deviation.

    Raises:
        ValueError: ``rollouts.baseline`` is None.

    Paper: ReMax: A Simple, Effective, and Efficient Reinforcement Learning Method for Aligning Large Language Models
    (2023), algorithm 1. Whitened: Single-stream Policy Optimization (2025), sec. 3.
    """
    advantage = rollouts.reward.double() - rollouts.need("baseline")
    if whiten:
        advantage = (advantage - advantage.mean()) / (advantage.std(unbiased=len(advantage) > 1) + epsilon)
    return advantage.float()
