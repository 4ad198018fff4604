"""LASER: step length reward, a bonus for correct completions within a token budget."""

from torch import Tensor

from ..components import Context, Episodes, Reward


class LASER(Reward):
    """R = r + bonus * [correct and length <= target]: an incorrect completion is never paid for being short.

    Args:
        target: tokens up to which a correct completion earns the bonus.
        bonus: the paper's alpha.

    Paper: Learn to Reason Efficiently with Adaptive Length-based Reward Shaping (2025), eq. 2 with LASER's step; the
    bonus is the authors' default (``length_reward_scalar = 0.5``).
    """

    def __init__(self, *, target: int = 64, bonus: float = 0.5) -> None:
        if target < 1:
            raise ValueError(f"target is a number of tokens, at least 1, got {target}")
        self.target, self.bonus = target, bonus

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Shaped rewards ``[B]``."""
        short = episodes.length <= self.target
        shaped: Tensor = episodes.reward + self.bonus * (short & episodes.info["success"]).to(episodes.reward.dtype)
        return shaped
