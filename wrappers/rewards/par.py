"""PAR: preference as reward, the chance that a completion is preferred to one of the policy before training."""

from torch import Tensor

from ..components import Choice, Context, Episodes, Reward
from .of_rewards import Centred, one_of


class PAR(Centred):
    """R = mean over m of sigmoid(r(x, y) - r(x, y_m)), where y_m are ``references`` completions before training.

    Under the Bradley-Terry model of a reward r this is the probability that y is preferred to them. It is bounded by 0
    and 1, 0.5 at the reference, and rises fastest there: what the reward model sees far beyond its data earns little
    more, so that there is little to be had from its errors. The KL penalty of the paper's PPO is ``"kl-penalty"`` after
    it: ``rewards=["par", "kl-penalty"]``.

    Args:
        of: r: a name, a name with parameters or an object (None: ``"tldr-rlhf"``, a reward model).
        references: M, completions of each problem; see :class:`~.of_rewards.Centred`.

    Raises:
        ValueError: no reference.

    Paper: Reward Shaping to Mitigate Reward Hacking in RLHF (2025), as in the authors' ``calculate_relative_sigmoid``;
    one reference is enough, by the paper.
    """

    def __init__(self, *, of: Choice | Reward = None, references: int = 1) -> None:
        if references < 1:
            raise ValueError(f"references is at least 1, got {references}")
        super().__init__(one_of(of, "tldr-rlhf"), references)

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B]``."""
        own, reference = self.compared(episodes, context)
        return (own[0, :, None] - reference[0]).sigmoid().mean(1)
