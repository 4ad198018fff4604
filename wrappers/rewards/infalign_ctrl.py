"""InfAlign-CTRL: rewards for a policy of which the best, or the worst, of several completions will be used."""

import math

import torch
from torch import Tensor

from ..components import Choice, Context, Episodes, Reward
from .of_rewards import Centred, one_of


class InfAlignCTRL(Centred):
    r"""The rank of a completion among those of the policy before training, transformed for how it will be decoded.

    The calibrated reward is the share of ``references`` completions of the same problem, before training, that a reward
    r puts below this one; ties count a half each:

    .. math::
        C(x, y) = P_{z \sim \pi_{ref}}[r(x, z) < r(x, y)] + \tfrac12 P[r(x, z) = r(x, y)]

    It is uniform under the policy before training, whatever r is. What is paid rises with :math:`e^{tC}` for a tilt t
    above 0: for the best of N what the few best completions are worth counts, and hardly what the others are. A tilt
    below 0 pays :math:`-e^{tC}`, for the worst of N, and 0 the calibrated reward itself, for one completion. The KL
    penalty of the paper is ``"kl-penalty"`` after it.

    Departures: what is paid is scaled to 0 for the lowest and 1 for the highest rank, which changes the weight of the
    KL penalty alone; references are drawn for each batch, where the paper's are drawn once for each prompt.

    Args:
        of: r: a name, a name with parameters or an object (None: ``"tldr-rlhf"``, a reward model).
        tilt: t.
        references: completions of each problem; see :class:`~.of_rewards.Centred`.

    Raises:
        ValueError: no reference, or a tilt whose exponential is no number.

    Paper: Balashankar et al., InfAlign: Inference-aware language model alignment (2025), section 4 (the calibrated
    reward, and the exponential transformation), by its abstract and the registry of papers: its text was not at hand.
    """

    def __init__(self, *, of: Choice | Reward = None, tilt: float = 10.0, references: int = 10) -> None:
        if references < 1:
            raise ValueError(f"references is at least 1, got {references}")
        if not abs(tilt) <= 500:
            raise ValueError(f"tilt lies between -500 and 500, got {tilt}")
        super().__init__(one_of(of, "tldr-rlhf"), references)
        self.tilt = tilt

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B]``, from 0 to 1."""
        own, reference = self.compared(episodes, context)
        mine, theirs = own[0, :, None], reference[0]
        rank = ((theirs < mine).double() + (theirs == mine).double() / 2).mean(1)
        return self.transformed(rank).to(mine.dtype)

    def transformed(self, rank: Tensor) -> Tensor:
        """What calibrated rewards from 0 to 1 are paid."""
        return rank if self.tilt == 0 else torch.expm1(self.tilt * rank) / math.expm1(self.tilt)
