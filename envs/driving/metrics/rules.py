"""Rules of fault and harm in plain arithmetic, so that a kernel may compile them: one place for log and simulator.

What they mean is said at :mod:`.fault` and :mod:`.harm`.
"""

STANDING = 0.05  # m/s
COMFORTABLE = 2.0  # m/s2 that may be imposed at no charge: the comfortable deceleration of IDM
SAFE = 4.0  # m/s2: MOBIL's b_safe


def blame(front: bool, rear: bool, speed: float, other_speed: float, one_lane: bool, against: bool) -> bool:
    """Whether a collision was the fault of one of the two, by the stricter rule of :mod:`.fault`.

    Args:
        front: its front bumper touched the other.
        rear: the other's middle was behind it; neither of the two: anything else of it was touched.
        speed: its own just before, m/s, negative when reversing.
        other_speed: the other's; 0 of what cannot move.
        one_lane: its whole body was in one lane.
        against: it was where a signal, a sign or a priority forbade it to be.
    """
    avoidable = front or abs(other_speed) <= STANDING or not (rear or one_lane)
    if abs(speed) > STANDING and avoidable:  # so says nuPlan
        return True
    return speed < -STANDING if rear else against


def imposed_braking(accel_with: float, accel_without: float) -> float:
    """Braking that the ego imposes, m/s2, at least 0.

    Args:
        accel_with: the follower's acceleration.
        accel_without: the one that it would have were the ego not there.
    """
    return max(0.0, min(accel_without, 0.0) - accel_with)


def courtesy(imposed: float) -> float:
    """A factor of a reward: 1 up to 2 m/s2 of imposed braking, one half at 4, 0 from 6 on."""
    return min(1.0, max(0.0, 1.0 - 0.5 * (imposed - COMFORTABLE) / (SAFE - COMFORTABLE)))
