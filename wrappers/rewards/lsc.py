"""LSC: log-sigmoid-centred rewards, whose sum over several is a logical conjunction."""

from statistics import NormalDist

from torch import Tensor
from torch.nn import functional as F

from ..components import Context, Episodes
from .catalogue import Choices
from .of_rewards import Centred, several_of


class LSC(Centred):
    r"""R = sum over rewards i of log sigmoid(r_i(x, y) - r_i,ref(x)), where r_ref is a quantile of the problem.

    Where r is learnt from preferences by the Bradley-Terry model, sigmoid(r - r_ref) is the probability that y is at
    least as good as the reference, "good": its logarithm pays for making poor completions good, and hardly for making
    good ones better. A sum over rewards is the logarithm of the probability that y is good by all of them, so that what
    one reward has too much of cannot make up for another.

    r_ref(x) is the ``quantile`` of the normal distribution with the mean and the standard deviation of ``references``
    completions before training, as in the code of PAR's authors, who compare with LSC: its own authors' was not at
    hand.

    Args:
        of: the rewards r_i: one or several names, names with parameters or objects (None: ``"tldr-rlhf"``).
        quantile: of the rewards of references, between 0 and 1.
        references: completions of each problem, at least two; see :class:`~.of_rewards.Centred`.

    Raises:
        ValueError: a number out of range, or no reward.

    Paper: Transforming and Combining Rewards for Aligning Large Language Models (2024), the log-sigmoid-centred
    transformation; 0.85 and ten references as in ``reward_shaper.py`` of the authors of PAR (arXiv 2502.18770).
    """

    def __init__(self, *, of: Choices = None, quantile: float = 0.85, references: int = 10) -> None:
        if not 0 < quantile < 1 or references < 2:
            raise ValueError(
                f"quantile lies between 0 and 1 and references is at least 2, got {quantile} and {references}"
            )
        super().__init__(several_of(of, "tldr-rlhf"), references)
        self.quantile = quantile

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B]``, all below 0."""
        own, reference = self.compared(episodes, context)
        bar = reference.mean(2) + NormalDist().inv_cdf(self.quantile) * reference.std(2)
        return F.logsigmoid(own - bar).sum(0)
