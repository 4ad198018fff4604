"""The shaped sum of rewards that CaRL is compared with: Roach's, for our driving scenes.

Paper: Zhang et al., End-to-End Urban Driving by Imitating a Reinforcement Learning Coach (2021), called Roach, with the
reward of Toromanoff et al. (2020); CaRL (2025) calls it a popular version of the shaped rewards that PPO fails to
optimise when the mini-batch grows. Numbers are those of the authors' code (``valeo_action.py``,
``valeo_no_det_px.py``).
"""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv

from ..checks import check_numbers
from ..driving import Array, Floats, Judged, Seen, VectorJudged, seen

SPEED = 6.0  # m/s that is wanted where nothing is in the way
SLOWING = 5.0  # m over which the wanted speed falls to 0
BUMPERS = 4.8  # m between the middles of two cars that touch
VEHICLE, PERSON, LINE = 8.0 - BUMPERS, 6.0 - 0.5 * BUMPERS, 5.0 - 0.5 * BUMPERS  # m at which it is 0
SIGNALS = 18.0  # m within which stop lines count
STEERED = 0.01 * 0.5  # rad between two steps beyond which steering costs
WITH_SPEED = ("collision", "red_light", "stop_sign")
"""Infractions that cost the speed besides."""


def wanted_speed(at: Seen, speed: float = SPEED) -> Floats:
    """The speed that Roach wants, ``[n]`` m/s: ``speed``, down to 0 before vehicles, people, red lights and signs."""
    line = np.where(at.stop & (at.line < SIGNALS), at.line - LINE, np.inf)
    room = np.minimum(np.minimum(at.gap - VEHICLE, at.crossing - PERSON), line)
    share: Floats = speed * np.clip(room, 0.0, SLOWING) / SLOWING
    return share


class ShapedSum:
    r"""Roach's reward as a judge of :mod:`tiltyard.wrappers.driving`.

    .. math:: r = 1 - |v - v^*| / v_{max} - d / 2 - |\phi| - 0.1 [\Delta steer] + r_{end}

    with d the metres from the middle of the lane, phi the heading's error in rad, and :math:`r_{end}` -1 at an
    infraction, -1 - v at a collision, a red light or a stop sign. Speeds are in m/s, as in the code.

    It pays for how the agent drives at each moment and for no progress: none of its terms is one of CaRL's. The option
    ``training_reward="sum"`` of driving scenes adds up CaRL's own terms, so that neither is a case of the other; that
    one is read off the state of the simulator, this one off observations.

    Departures: hazards are those that our observation names (the vehicle ahead in the way, people on the next crossing
    of the route, the next stop line), distances are between bumpers where the code's are between middles; vehicles and
    people count at any distance, so that the wanted speed falls from 13 and 11 m between middles on, where the code's
    count within 9.5 m alone, and so drops there from 6 to 1.8 and 4.2 m/s; and episodes end as ours do: who arrives is
    paid no more, where Roach's training routes never end.
    """

    def __init__(self, speed: float = SPEED) -> None:
        self.speed = speed

    def begin(self, indices: npt.NDArray[np.int64]) -> None:
        """Nothing is remembered."""

    def judge(self, before: Array, after: Array, infractions: Array, frames: Array | None) -> dict[str, Floats]:
        """See the class."""
        at = seen(after)
        wanted = wanted_speed(at, self.speed)
        bad = infractions != ""
        terms = {
            "speed": 1.0 - np.abs(at.speed - wanted) / self.speed,
            "position": -0.5 * np.abs(at.offset),
            "rotation": -np.abs(at.heading),
            "steering": -0.1 * (np.abs(at.steer - seen(before).steer) > STEERED),
            "terminal": -1.0 * bad - np.where(np.isin(infractions, WITH_SPEED), at.speed, 0.0),
        }
        return {**terms, "reward": np.sum(list(terms.values()), axis=0)}


class ShapedDriving(Judged):
    """A driving scene under :class:`ShapedSum`; its own reward stays in the info as ``true_reward``.

    Args:
        env: with ``observation="vector"``.
        speed: wanted where nothing is in the way, m/s.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], *, speed: float = SPEED) -> None:
        RecordConstructorArgs.__init__(self, speed=speed)
        super().__init__(env, ShapedSum(_positive(speed)))


class VectorShapedDriving(VectorJudged):
    """:class:`ShapedDriving` of all environments of a vector.

    Args:
        env: a vector of scenes with ``observation="vector"``.
        speed: see :class:`ShapedDriving`.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], *, speed: float = SPEED) -> None:
        super().__init__(env, ShapedSum(_positive(speed)))


def _positive(speed: float) -> float:
    check_numbers(speed=speed)
    if not 0.0 < speed < np.inf:
        raise ValueError(f"speed must be a positive number of m/s, got {speed!r}")
    return speed
