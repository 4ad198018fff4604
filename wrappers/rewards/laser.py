"""A bonus for answers that are right and short."""

from torch import Tensor

from ..seams import Answers, Reward


class LASER(Reward):
    """R = r + bonus * [solved and length <= target]: a step, so that a wrong answer is never paid for being short.

    Args:
        target: tokens up to which a right answer earns the bonus.
        bonus: the paper's alpha.

    Paper: Learn to Reason Efficiently with Adaptive Length-based Reward Shaping (2025), eq. 2 with LASER's step; the
    bonus is the authors' default (``length_reward_scalar = 0.5``).
    """

    def __init__(self, *, target: int = 64, bonus: float = 0.5) -> None:
        if target < 1:
            raise ValueError(f"target is a number of tokens, at least 1, got {target}")
        self.target, self.bonus = target, bonus

    def shape(self, rollouts: Answers) -> Tensor:
        """Shaped rewards ``[B]``."""
        short = rollouts.length <= self.target
        shaped: Tensor = rollouts.reward + self.bonus * (short & rollouts.info["success"]).to(rollouts.reward.dtype)
        return shaped
