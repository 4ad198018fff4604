"""The terms of driving's reward added up, in place of their product."""

from collections.abc import Mapping

import numpy as np

from ...core import Floats
from ..town.episode import FACTORS

SHORTFALL = 0.005
"""What the sum of terms takes away each step for a factor of 0."""


def sum_of(terms: Mapping[str, Floats]) -> Floats:
    """The reward's terms added up, ``[n]``: ``route_completion - 0.005 sum_f (1 - f) + penalty``, to train with.

    A plain shaped sum to compare the product with; one factor of 0 all along a route of 40 s takes away all its worth.
    It has the product's own terms, so that only how they are put together differs. Roach's shaped reward has others (a
    wanted speed, offset and heading, and no progress): :mod:`tiltyard.wrappers.rewards.shaped_driving`.
    """
    short = sum(1.0 - terms[name] for name in FACTORS)
    return np.asarray(terms["route_completion"] - SHORTFALL * short + terms["penalty"])
