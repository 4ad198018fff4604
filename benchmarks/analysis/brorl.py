"""BroRL: how one step changes the probability of all correct tokens, by what was sampled and what was not.

For a softmax over tokens with probabilities p and logits that take one policy-gradient step, in which each sampled
token (A correct with reward R_c, B incorrect with R_w, U not sampled) counts with its probability,

    dQ = lr / N [(R_c - S) Q_neg A2 + (S - R_w) Q_pos B2 + S (Q_pos U_neg2 - Q_neg U_pos2)],
    S = R_c P_A + R_w P_B,

with Q_pos and Q_neg the mass of all correct and incorrect tokens, P_A and P_B that of sampled ones, and A2, B2, U2 sums
of squared probabilities. With R_c >= S >= R_w the first two terms never harm; the last one, of what was not sampled,
may, and shrinks as more rollouts are drawn.

Paper: BroRL: Scaling Reinforcement Learning via Broadened Exploration (2025), its mass balance equation; derived again
here from the gradient p_i (R_i - S) of each logit, which the test does by differences.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..statistics import Floats


class MassChange(NamedTuple):
    """The parts of the change in the probability of all correct tokens; to first order in the learning rate."""

    correct: float
    incorrect: float
    unsampled: float

    @property
    def total(self) -> float:
        """Of all three."""
        return self.correct + self.incorrect + self.unsampled


def mass_change(
    probability: npt.ArrayLike,
    correct: npt.ArrayLike,
    sampled: npt.ArrayLike,
    *,
    rewards: tuple[float, float] = (1.0, -1.0),
    learning_rate: float = 1.0,
    rollouts: int = 1,
) -> MassChange:
    """The balance of one step.

    Args:
        probability: of every token, ``[V]``.
        correct: which are correct, ``[V]`` bool.
        sampled: which were drawn, ``[V]`` bool.
        rewards: of a correct and of an incorrect token.
        learning_rate: of the logits.
        rollouts: N, by which the step is divided.

    Raises:
        ValueError: other shapes, or probabilities that do not sum to 1.
    """
    p, right, seen = np.asarray(probability, np.float64), np.asarray(correct, bool), np.asarray(sampled, bool)
    if not p.shape == right.shape == seen.shape or p.ndim != 1 or (p < 0).any() or not np.isclose(p.sum(), 1):
        raise ValueError("give probabilities [V] that sum to 1, and which tokens are correct and sampled")
    won, lost = rewards
    a, b, u = right & seen, ~right & seen, ~seen
    mood = won * p[a].sum() + lost * p[b].sum()
    positive, negative = p[right].sum(), p[~right].sum()
    square: Floats = p**2
    scale = learning_rate / rollouts
    return MassChange(
        correct=float(scale * (won - mood) * negative * square[a].sum()),
        incorrect=float(scale * (mood - lost) * positive * square[b].sum()),
        unsampled=float(scale * mood * (positive * square[u & ~right].sum() - negative * square[u & right].sum())),
    )
