"""The scripted expert of :mod:`.pusher`: lower the hand's fork around the cylinder, then lead it to the goal.

The cylinder weighs eight milligrams, and MuJoCo's contacts are the softer the lighter the bodies: what moves the
cylinder against its drag of 0.5 N s/m is how deep the fork presses into it, and at five centimetres it passes through.
So the fork is held ``PRESS`` deep on the side to push from, in a frame that moves with the cylinder, and the cylinder
creeps at about a decimetre a second: what the expert fails at in its five seconds is time, where the cylinder lies near
the shoulder, and reach, where it lies behind the goal.

The arm is folded in a vertical plane through the shoulder (lift and elbow alone) as far in as the lift's limit allows;
nearer in, the lift stays at its limit and the upper arm rolls, which swings the forearm out of the plane to the side.
Both are solved in closed form, the second through a table.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import Floats

SHOULDER = np.array([0.0, -0.6])  # metres, on the table's plane
OFFSET, UPPER, FORE = 0.1, 0.4, 0.321  # metres: pan to lift, lift to elbow, elbow to wrist
PAN_LIMITS = (-2.28, 1.71)  # radians
LIFT_LIMIT, ELBOW_LIMIT, WRIST_LIMIT = 1.39, -2.3, -1.09
ROLL_LIMITS = (1.5, 1.7)  # of the upper arm, to the right and to the left
LOW = -0.265  # metres, of the fork beside the cylinder
RAISED = 0.15  # metres above that, on the way
FAR = 0.085  # metres from the fork's bar, over which the cylinder is taken in
SNUG, SLACK = 0.07, 0.03  # metres: bar to axis when they touch, and the axis' way from prong to prong, each way
PRESS = 0.045  # metres
CLOSE = 0.13  # radians of the joints, pan, roll and elbow, to where the fork is lowered
GENTLE = 0.015  # metres to the goal, from which on it presses less
STIFFNESS = np.array([25, 25, 3, 12, 1, 3, 1.0])  # N m/rad, of the expert's joints
DAMPING = np.array([6, 5, 0.4, 2, 0.2, 0.3, 0.2])


class Reach(NamedTuple):
    """Postures that bring the wrist nearer in than the arm's plane allows, by growing roll.

    Attributes:
        radius: metres from the shoulder's axis to the wrist, rising.
        roll: of the upper arm.
        elbow: bend.
        aside: the wrist's angle about the shoulder's axis, from the arm's plane, as the roll goes to the left.
    """

    radius: Floats
    roll: Floats
    elbow: Floats
    aside: Floats


def _rolled() -> Reach:
    """The table, with the lift at its limit."""
    a, roll = LIFT_LIMIT, np.linspace(ROLL_LIMITS[1], 0, 200)
    # The wrist's height: A cos b + B sin b = C.
    left, right, level = np.sin(a), np.cos(a) * np.cos(roll), -(LOW + UPPER * np.sin(a)) / FORE
    elbow = np.arctan2(right, left) - np.arccos(np.clip(level / np.hypot(left, right), -1, 1))
    x = OFFSET + UPPER * np.cos(a) + FORE * (np.cos(a) * np.cos(elbow) - np.sin(a) * np.cos(roll) * np.sin(elbow))
    y = FORE * np.sin(roll) * np.sin(elbow)
    return Reach(np.hypot(x, y), roll, elbow, np.arctan2(y, x))


TABLE = _rolled()


def joints(angle: Floats, radius: Floats, side: Floats) -> Floats:
    """Joint angles ``[n, 7]`` with the wrist low at a place about the shoulder; the arm rolls to ``side`` (-1, 1)."""
    rho = radius - OFFSET
    reach = np.hypot(rho, LOW).clip(0.3, 0.715)
    fold = np.arccos(((UPPER**2 + reach**2 - FORE**2) / (2 * UPPER * reach)).clip(-1, 1))
    lift = np.arctan2(-LOW, rho) + fold
    elbow = -np.arccos(((reach**2 - UPPER**2 - FORE**2) / (2 * UPPER * FORE)).clip(-1, 1))
    near = lift > LIFT_LIMIT
    roll = np.where(near, np.interp(radius, TABLE.radius, TABLE.roll), 0.0)
    aside = np.where(near, np.interp(radius, TABLE.radius, TABLE.aside), 0.0)
    elbow = np.where(near, np.interp(radius, TABLE.radius, TABLE.elbow), elbow).clip(ELBOW_LIMIT, 0)
    lift = lift.clip(None, LIFT_LIMIT)
    wrist = -(lift + elbow).clip(0, -WRIST_LIMIT)  # level, or as far down as it goes
    none = np.zeros_like(lift)
    rolled = (side * roll).clip(-ROLL_LIMITS[0], ROLL_LIMITS[1])
    pan = (angle - side * aside).clip(*PAN_LIMITS)
    return np.stack((pan, lift, rolled, elbow, none, wrist, none), axis=1)


def heading(q: Floats) -> Floats:
    """Where forearm and fork point on the table ``[n]``, radians from x, at joint angles ``[n, 7]``."""
    pan, lift, roll, elbow = np.ascontiguousarray(q.T[:4])
    x = np.cos(lift) * np.cos(elbow) - np.sin(lift) * np.cos(roll) * np.sin(elbow)
    angle: Floats = pan + np.arctan2(np.sin(roll) * np.sin(elbow), x)
    return angle


def _polar(places: Floats) -> tuple[Floats, Floats]:
    x, y = np.ascontiguousarray((places[:, :2] - SHOULDER).T)
    return np.arctan2(y, x), np.hypot(x, y)


def turned_left(places: Floats, goals: Floats) -> npt.NDArray[np.bool_]:
    """Whether goals lie to the left of places ``[n, 2]``, seen from the shoulder: the arm then rolls to the right."""
    left: npt.NDArray[np.bool_] = _polar(goals)[0] > _polar(places)[0]
    return left


def _along(way: Floats, angle: Floats) -> tuple[Floats, Floats]:
    """Vectors ``[n, 2]`` in frames turned by ``angle``: forwards, and to the left."""
    c, s = np.cos(angle), np.sin(angle)
    return way[:, 0] * c + way[:, 1] * s, way[:, 1] * c - way[:, 0] * s


def push(qpos: Floats, qvel: Floats, tips: Floats, cylinder: Floats, goal: Floats, side: Floats) -> Floats:
    """Torques ``[n, 7]``, not yet cut to the motors' limits.

    Args:
        qpos: joint angles ``[n, 7]``.
        qvel: their velocities.
        tips: the fork's bar ``[n, 3]``, metres.
        cylinder: its place ``[n, 3]``.
        goal: where it is to go ``[n, 3]``.
        side: ``[n]``, 1 where the upper arm rolls to the left.
    """
    facing = heading(qpos)
    ahead, left = _along((cylinder - tips)[:, :2], facing)
    taken = (ahead > 0) & (ahead < 0.15) & (np.abs(left) < 0.075) & (tips[:, 2] < -0.2)

    # Over the cylinder, then down: where the fork will point there is what its posture there implies.
    angle, radius = _polar(cylinder)
    turn = heading(joints(angle, radius - FAR, side))
    stand = joints(*_polar(cylinder - FAR * np.stack((np.cos(turn), np.sin(turn), np.zeros_like(turn)), axis=1)), side)
    above = np.abs((stand - qpos)[:, [0, 2, 3]]).max(axis=1) < CLOSE
    stand[:, 1] -= np.where(above, 0.0, RAISED / radius)

    # Around it: pressing from behind, and from the side, each as much as the way to the goal asks.
    forward, across = _along((goal - cylinder)[:, :2], facing)
    length = np.hypot(forward, across)
    effort = PRESS * np.minimum(length / GENTLE, 1) / np.maximum(length, 1e-9)
    behind = SNUG - (effort * forward).clip(-PRESS / 3, PRESS)
    beside = np.where(np.abs(across) < 0.1 * length, 0.0, SLACK * np.sign(across)) + effort * across
    c, s = np.cos(facing), np.sin(facing)
    lead = cylinder[:, :2] - np.stack((behind * c + beside * s, behind * s - beside * c), axis=1)

    wanted = np.where(taken[:, None], joints(*_polar(lead), side), stand)
    torque: Floats = STIFFNESS * (wanted - qpos) - DAMPING * qvel
    return torque
