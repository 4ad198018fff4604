"""NGRPO: group-relative advantages calibrated by a virtual completion of maximum reward."""

from torch import Tensor

from ..language.rollouts import Rollouts
from .parts.ops import group_mean, group_size, group_std


def advantage(rollouts: Rollouts, *, max_reward: float = 1.0, epsilon: float = 1e-6) -> Tensor:
    """A_i = (r_i - mean(r, r_max)) / std(r, r_max) over the group of row i and one completion of reward r_max; ``[B]``.

    A group of G incorrect completions (reward 0) gets -1 / sqrt(G + 1) each, one of correct completions 0; GRPO gives 0
    to both. A group of one is a group like any other here (the authors' code leaves its reward as it is).

    Args:
        rollouts: reads ``reward`` and ``group``.
        max_reward: of the imagined completion; the reward of a correct completion.
        epsilon: added to the standard deviation (n - 1).

    Paper: NGRPO: Negative-enhanced Group Relative Policy Optimization (2025), advantage calibration; the authors'
    ``compute_ngrpo_outcome_advantage`` (``max_reward=1.0, add_max_reward_num=1``).
    """
    size = group_size(rollouts.group)
    real_mean, real_std = group_mean(rollouts.reward, rollouts.group), group_std(rollouts.reward, rollouts.group)
    above = max_reward - real_mean
    mean = real_mean + above / (size + 1)
    variance = real_std.square() * (size - 1) / size + above.square() / (size + 1)
    return ((rollouts.reward - mean) / (variance.sqrt() + epsilon)).float()
