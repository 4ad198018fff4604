"""Harm done behind: how hard others must brake because of the ego, which no published score of a driver charges.

The braking that the ego imposes is what its follower brakes beyond what it would brake were the ego not there (for a
red light, say, or for whoever is ahead of the ego):

    imposed = max(0, min(a_without, 0) - a_with)   in m/s2

A follower that merely stops accelerating is not harmed. MOBIL calls 4 m/s2 the most that a lane change may impose on
the new follower (b_safe); what is beyond is *hard*.

Paper: General lane-changing model MOBIL for car-following models (2007), eq. 2, for the threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .log import EpisodeLog
from .rules import COMFORTABLE, SAFE, courtesy, imposed_braking

__all__ = ["COMFORTABLE", "SAFE", "Harm", "courtesy", "harm", "imposed", "imposed_braking"]


def imposed(log: EpisodeLog) -> npt.NDArray[np.float64]:
    """Imposed braking at each state, ``[T]``; 0 where there is no follower."""
    braking = np.minimum(log.follower_without, 0.0) - log.follower_accel
    return np.where(np.isnan(braking), 0.0, np.maximum(braking, 0.0))


@dataclass(frozen=True)
class Harm:
    """What the ego did to those behind it.

    Attributes:
        hardest: braking imposed, m/s2.
        hard_share: share of steps in which it was over 4 m/s2.
        taken_per_km: speed taken from followers, m/s for each kilometre driven.
    """

    hardest: float
    hard_share: float
    taken_per_km: float


def harm(logs: Sequence[EpisodeLog]) -> Harm:
    """Of one or several episodes, all lives of each.

    Raises:
        ValueError: no log.
    """
    if not logs:
        raise ValueError("harm is measured on at least one log")
    braking = [imposed(log)[1:] for log in logs]
    km = max(sum(log.driven for log in logs) / 1000.0, 0.001)
    taken = sum(float(one.sum()) * log.dt for one, log in zip(braking, logs, strict=True))
    whole = np.concatenate(braking)
    return Harm(float(whole.max()), float((whole > SAFE).mean()), taken / km)
