"""Level junctions: which lane leads where, who goes first, and the signals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..build import Crossing, Signal, StopLine
from ..graph import AMBER, GIVE_WAY, GREEN, RED, SIGNAL, STOP_SIGN
from .curves import Pose
from .draft import Draft

Control = Literal["signal", "stop", "all-way-stop", "give-way", "none"]
Turns = Literal["permitted", "protected"]

LEFT, STRAIGHT, RIGHT = 0, 1, 2
TURN = math.radians(45.0)  # from which a movement is a turn
AMBER_TIME, CLEAR_TIME = 3.0, 2.0  # s
RADIUS, CLEAR = 8.0, 2.5  # m: of the tightest turn; from the edge of the crossing road
STRAIGHT_ON = math.radians(150.0)  # from which angle between two arms on the one is the other's continuation
WALK = 1.1  # m/s of slow pedestrians, who still reach the other side
CROSSING, CROSSING_EDGE, STOP_GAP = 3.0, 1.0, 1.0  # m: width, from the junction, from the stop line


@dataclass
class Arm:
    """A road at a junction: the pose of its middle at the edge of the junction, facing away from it.

    Attributes:
        pose: see above.
        into: lanes that lead in, from the middle of the road outwards.
        out: lanes that lead out, likewise.
        width: of a lane, m.
        major: of the road that has priority where signs rule.
        crossing: whether pedestrians cross it.
    """

    pose: Pose
    into: Sequence[str]
    out: Sequence[str]
    width: float
    major: bool = True
    crossing: bool = True


def reach(direction: float, half: float, others: Sequence[tuple[float, float]], width: float) -> float:
    """How far from the middle of a junction an arm begins, so that right turns have :data:`RADIUS`, m.

    Args:
        direction: of the arm, away from the junction, rad.
        half: of the arm's width, m.
        others: the same of the other arms.
        width: of a lane, m.

    The middles of the outermost lanes of two arms that are an angle p apart cross (b + a cos p) / sin p along the arm,
    a and b from the arms' middles; an arc of radius R between them begins R / tan(p / 2) further out.
    """
    a = half - 0.5 * width
    least = max(other for _, other in others) + CLEAR
    for one, other in others:
        apart = abs((one - direction + math.pi) % (2.0 * math.pi) - math.pi)
        if apart < STRAIGHT_ON:
            meet = (other - 0.5 * width + a * math.cos(apart)) / math.sin(apart)
            least = max(least, meet + RADIUS / math.tan(0.5 * apart))
    return least


def movement(arm: Arm, other: Arm) -> int:
    """Which way one goes from an arm to another."""
    angle = (other.pose.heading - arm.pose.heading - math.pi + math.pi) % (2.0 * math.pi) - math.pi
    return STRAIGHT if abs(angle) < TURN else LEFT if angle > 0.0 else RIGHT


def movements(arm: Arm, arms: Sequence[Arm], protected: bool) -> list[tuple[str, str, int]]:
    """Which lanes of an arm lead to which lanes of the others: ``(lane, lane, movement)``.

    Left from the innermost lane to the innermost, right from the outermost to the outermost, straight on from all; with
    protected turns not from a lane of the left turn, if there is another.
    """
    ways = [(other, movement(arm, other)) for other in arms if other is not arm and other.out]
    kinds = {kind for _, kind in ways}
    own = protected and len(arm.into) > 1 and kinds >= {LEFT, STRAIGHT}
    found = []
    for other, kind in ways:
        pairs = list(zip(arm.into, other.out, strict=False))
        if kind == STRAIGHT:  # the outermost lanes lead to the outermost
            pairs = list(zip(arm.into[::-1], other.out[::-1], strict=False))
            pairs = [pair for pair in pairs if not (own and pair[0] == arm.into[0])]
        elif kind == LEFT and len(ways) > 1:
            pairs = pairs[:1]
        elif kind == RIGHT and len(ways) > 1:
            pairs = [(arm.into[-1], other.out[-1])]
        found += [(lane, after, kind) for lane, after in pairs]
    idle = [lane for lane in arm.into if lane not in {lane for lane, _, _ in found}]
    return found + [(lane, ways[0][0].out[0], ways[0][1]) for lane in idle]


def junction(
    draft: Draft,
    name: str,
    arms: Sequence[Arm],
    control: Control,
    *,
    turns: Turns = "permitted",
    green: float = 15.0,
    offset: float = 0.0,
) -> None:
    """Connects the arms of a junction, and rules who goes when.

    Where two lanes conflict, going straight comes before turning right, and that before turning left; major roads come
    before minor ones. At an all-way stop it is who comes first.

    Args:
        draft: where the arms are drawn.
        name: of the junction.
        arms: in any order; arms with opposite directions are green together.
        control: signals; signs at minor arms; signs at all; or nothing.
        turns: of signals: left turns yield to oncoming traffic, or have a phase of their own (arms of one lane then
            take turns).
        green: seconds that a phase is green.
        offset: of the signals' program, s.
    """
    protected = control == "signal" and turns == "protected"
    used: dict[str, set[int]] = {}
    for arm in arms:
        for lane, after, kind in movements(arm, arms, protected):
            rank = (1, 3, 2)[kind] + (3 if arm.major and control in ("stop", "give-way") else 0)
            draft.connect(lane, after, junction=name, rank=0 if control in ("all-way-stop", "none") else rank)
            used.setdefault(lane, set()).add(kind)
    for arm in arms:
        if control == "all-way-stop" or (control in ("stop", "give-way") and not arm.major):
            kind = GIVE_WAY if control == "give-way" else STOP_SIGN
            draft.stops += [StopLine(lane, -stop_distance(arm), kind) for lane in arm.into]
    if control == "signal":
        _signals(draft, name, arms, phases(arms, used, protected), green, offset)
    else:
        draft.crossings += [strip(arm) for arm in arms if arm.crossing]


def stop_distance(arm: Arm) -> float:
    """From the stop line to the end of its lane, m."""
    return CROSSING_EDGE + CROSSING + STOP_GAP if arm.crossing else STOP_GAP


def strip(arm: Arm, signal: str = "") -> Crossing:
    """The crossing of an arm, from one edge of the road to the other and 0.5 m further."""
    middle = arm.pose.ahead(CROSSING_EDGE + 0.5 * CROSSING)
    left, right = (len(lanes) * arm.width + 0.5 for lanes in (arm.into, arm.out))
    a, b = middle.ahead(0.0, left), middle.ahead(0.0, -right)
    return Crossing((a.x, a.y), (b.x, b.y), CROSSING, signal)


def phases(arms: Sequence[Arm], used: dict[str, set[int]], protected: bool) -> list[list[str]]:
    """Lanes that are green together, phase by phase: opposite arms; left turns before, if they are protected."""
    left = [arm for arm in arms if arm.into]
    found: list[list[str]] = []
    while left:
        arm = left.pop(0)
        opposite = [other for other in left if movement(arm, other) == STRAIGHT]
        pair = [arm, *opposite[:1]]
        left = [other for other in left if other not in pair]
        if not protected or len(pair) == 1:
            found.append([lane for one in pair for lane in one.into])
        elif any(LEFT in used[lane] and used[lane] != {LEFT} for one in pair for lane in one.into):
            found += [list(one.into) for one in pair]
        else:
            turning = [lane for one in pair for lane in one.into if used[lane] == {LEFT}]
            going = [lane for one in pair for lane in one.into if used[lane] != {LEFT}]
            found += [phase for phase in (turning, going) if phase]
    return found


def _signals(
    draft: Draft, name: str, arms: Sequence[Arm], program: list[list[str]], green: float, offset: float
) -> None:
    """One signal a phase and arm; and one for each crossing, red (so that pedestrians go) while its arm's lanes are."""
    slot = green + AMBER_TIME + CLEAR_TIME
    cycle = slot * len(program)
    for at, arm in enumerate(arms):
        mine = [[lane for lane in phase if lane in arm.into] for phase in program]
        for number, lanes in enumerate(mine):
            if lanes:
                signal = f"{name}/{at}/{number}"
                seconds = [number * slot, green, AMBER_TIME, cycle - number * slot - green - AMBER_TIME]
                draft.signals.append(_signal(signal, seconds, [RED, GREEN, AMBER, RED], offset))
                draft.stops += [StopLine(lane, -stop_distance(arm), SIGNAL, signal) for lane in lanes]
        if arm.crossing:
            signal = f"{name}/{at}/walk"
            busy = [number for number, lanes in enumerate(mine) if lanes]
            draft.signals.append(_walk(signal, arm, busy, slot, len(program), offset))
            draft.crossings.append(strip(arm, signal))


def _signal(name: str, seconds: list[float], colours: list[int], offset: float) -> Signal:
    """A signal without its phases of no time."""
    pairs = [(second, colour) for second, colour in zip(seconds, colours, strict=True) if second > 0.0]
    return Signal(name, [second for second, _ in pairs], [colour for _, colour in pairs], offset)


def _walk(name: str, arm: Arm, busy: list[int], slot: float, count: int, offset: float) -> Signal:
    """The signal of a crossing: green while its arm's lanes are not all red, amber before, until everyone is across."""
    across = (len(arm.into) + len(arm.out)) * arm.width + 1.0
    clear = across / WALK
    colours = [GREEN if number in busy else RED for number in range(count)]
    seconds: list[float] = []
    shown: list[int] = []
    for number, colour in enumerate(colours):
        following = colours[(number + 1) % count]
        if colour == RED and following == GREEN:
            wait = max(slot - clear, 0.0)
            seconds += [wait, slot - wait]
            shown += [RED, AMBER]
        else:
            seconds.append(slot)
            shown.append(colour)
    return _signal(name, seconds, shown, offset)
