"""Turn cost: every turn of an episode costs the same, so that a game that is won later is worth less."""

from torch import Tensor

from ..components import Context, Episodes, Reward
from .steps import step_ends


class TurnCost(Reward):
    """R_t = r_t - cost at the end of each turn t: an episode of k turns is paid k * cost less.

    Args:
        cost: of a turn.

    Raises:
        ValueError: a cost that is not positive.
    """

    def __init__(self, *, cost: float = 0.05) -> None:
        if not cost > 0:
            raise ValueError(f"cost is what a turn costs, above 0, got {cost}")
        self.cost = cost

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Shaped rewards ``[B, T]``, on the last token of each turn."""
        return episodes.token_reward - self.cost * step_ends(episodes, context).to(episodes.token_reward.dtype)
