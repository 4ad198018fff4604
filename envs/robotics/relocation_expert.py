"""The expert of object relocation, a policy of what the agent sees and nothing else, without memory; and the scene.

What to do follows from where things are now, so that it goes on from any state, also from its own slips:

- a block in the goal: open the fingers and wait;
- a block between the fingers, both touching: up, over, down;
- a block with room beside it for both fingers: above it, turn, down, close;
- a block without, at a wall or leaning on one: press the closed fingers on it and drag it to the bin's middle.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import Bools, Floats

MIDDLE = 0.48  # x of the bins' middle
BIN = 0.1  # y of the left bin's middle; the right one's is the negative
LONG, NEAR, FAR = 0.09, 0.01, 0.19  # the bins' insides: x from their middle, least and most y from the wall's middle
HALF = 0.02  # half the block's side
ORIGIN = np.array([MIDDLE, 0.0, 0.1])  # from which the tool is observed
YAW, YAW_LIMIT = np.pi / 2, 1.0  # as well, and how far the tool turns from it either way

# What one unit of the observation is, in SI: so chosen that a network sees numbers around one.
PARTS = (3, 3, 2, 1, 3, 3, 1, 3, 1, 2, 2, 3, 3, 1)
UNITS = np.repeat([0.05, 0.1, 1.0, 0.5, 0.1, 0.1, 0.5, 0.1, 1.0, 0.04, 0.01, 10.0, 0.02, 0.1], PARTS)

TIPS = 0.01  # the fingertips are this far below the tool's point
REACH, DEPTH = 0.046, 0.012  # half of what the fingers, 6 cm apart, take up along and across the way they close
AJAR = 0.5  # the action for 6 cm
MARGIN = 0.002, 0.012  # of room beside the walls: to begin a grasp, and to end a drag
HOVER = 0.02  # of the fingertips above the block, which is as high as the walls
CRUISE = 0.085  # height of a carried block, so that it passes 2.5 cm above the wall
PRESS = 4.0  # newtons on a block that is dragged


class Seen(NamedTuple):
    """What the expert makes of an observation; ``[n]`` or ``[n, 3]``, metres, radians, newtons."""

    block: Floats
    """From the tool's point."""
    goal: Floats
    """From the block."""
    tool: Floats
    yaw: Floats
    turn: Floats
    """Of the nearest grasp within the limit from the tool."""
    tilt: Floats
    opening: Floats
    asked: Floats
    gap: Floats
    """The larger of the two."""
    push: Floats
    """Upward on the tool."""

    @property
    def place(self) -> Floats:
        """Of the block."""
        return self.tool + self.block

    @property
    def aside(self) -> Floats:
        """How far the block is from below the tool, along x or y."""
        distance: Floats = np.abs(self.block[:, :2]).max(axis=1)
        return distance


def look(observations: npt.NDArray[np.float32]) -> Seen:
    """Reads observations ``[n, 31]`` of :class:`.ObjectRelocation`."""
    parts = np.split(observations * UNITS, np.cumsum(PARTS)[:-1], axis=1)
    block, goal, fold, tilt, _, tool, yaw, _, _, opening, gaps, force, _, _ = parts
    turn = np.arctan2(fold[:, 1], fold[:, 0]) / 4
    turn -= np.pi / 2 * np.sign(turn) * (np.abs(yaw[:, 0] + turn) > YAW_LIMIT - 0.02)
    return Seen(
        block,
        goal,
        tool + ORIGIN,
        yaw[:, 0] + YAW,
        turn,
        tilt[:, 0],
        opening[:, 0],
        opening.sum(axis=1),
        gaps.max(axis=1),
        force[:, 2],
    )


def relocate(observations: npt.NDArray[np.float32]) -> Floats:
    """What to do ``[n, 5]``: a move in metres, a turn in radians, the gripper's action."""
    seen = look(observations)
    moves = _grasp(seen)
    for where, others in ((_hemmed(seen), _drag(seen)), (_held(seen), _carry(seen)), (_there(seen), _release(seen))):
        moves[where] = others[where]
    return moves


def _there(seen: Seen) -> Bools:
    """The block lies on the goal's floor."""
    side = seen.place[:, 1] * np.sign(seen.place[:, 1] + seen.goal[:, 1])
    return (side > NEAR) & (seen.goal[:, 2] > -0.003) & (seen.tilt < 0.1)


def _held(seen: Seen) -> Bools:
    """Both fingers touch the block and press on it."""
    return (seen.gap < 0.0015) & (seen.asked < seen.opening - 0.01)


def _hemmed(seen: Seen) -> Bools:
    """Fingers that take the block as it lies would stand on a wall; or it leans. A block on a wall is free."""
    heading = seen.yaw + seen.turn
    across, along = np.abs(np.sin(heading)), np.abs(np.cos(heading))  # fingers close along (-sin, cos)
    x, y = np.abs(seen.place[:, 0] - MIDDLE), np.abs(seen.place[:, 1])
    wide, high = REACH * across + DEPTH * along, REACH * along + DEPTH * across
    room = np.min((LONG - x - wide, y - high - NEAR, FAR - y - high), axis=0)
    dragging = (seen.opening < 0.02) & (seen.aside < 0.02)
    low = seen.place[:, 2] < HALF + 0.02
    hemmed: Bools = low & ((room < np.where(dragging, MARGIN[1], MARGIN[0])) | (seen.tilt > 0.15))
    return hemmed


def _above(seen: Seen) -> tuple[Floats, Bools]:
    """The move to above the block, up first, then across; and whether the fingers are high enough to cross walls."""
    rise = seen.block[:, 2] + HALF + TIPS + HOVER
    clear = rise < 0.6 * HOVER
    return np.column_stack((seen.block[:, :2] * clear[:, None], rise)), clear


def _grasp(seen: Seen) -> Floats:
    move, _ = _above(seen)
    turn, grip = seen.turn.copy(), np.full(len(move), AJAR)
    aligned = (seen.aside < 0.005) & (np.abs(turn) < 0.1)
    down = aligned & (seen.opening > 0.052)
    move[down] = seen.block[down]
    close = aligned & (np.abs(seen.block[:, 2]) < 0.006)
    move[close], turn[close], grip[close] = 0.0, 0.0, -1.0
    return np.column_stack((move, turn, grip))


def _drag(seen: Seen) -> Floats:
    move, clear = _above(seen)
    on_top = (seen.aside < 0.015) & (seen.opening < 0.02)
    move[on_top, 2] = -0.005
    pressing = on_top & (seen.push > PRESS)
    away = np.column_stack((MIDDLE - seen.place[:, 0], np.copysign(BIN, seen.place[:, 1]) - seen.place[:, 1]))
    move[pressing, :2] = np.clip(away[pressing], -0.01, 0.01)
    return np.column_stack((move, np.zeros(len(move)), np.where(clear | on_top, -1.0, AJAR)))


def _carry(seen: Seen) -> Floats:
    far = np.abs(seen.goal[:, :2]).max(axis=1) > 0.012
    rise = CRUISE - seen.place[:, 2]
    move = np.column_stack((seen.goal[:, :2], np.where(far, rise, seen.goal[:, 2])))
    move[far & (rise > 0.015), :2] = 0.0
    return np.column_stack((move, np.zeros(len(move)), np.full(len(move), -1.0)))


def _release(seen: Seen) -> Floats:
    return np.tile((0.0, 0.0, 0.0, 0.0, 1.0), (len(seen.gap), 1))
