"""A roundabout: who enters gives way to who is on the ring; driven counter-clockwise."""

import math
from collections.abc import Sequence

import numpy as np

from ..build import StopLine
from ..graph import GIVE_WAY, LaneGraph
from .curves import Line, Pose, arc, link, straight
from .draft import Draft
from .junctions import Arm, stop_distance, strip

REACH = 13.0  # m from the ring's outer edge to the end of the roads
RING_LIMIT = 25.0 / 3.6
RING_WIDTH = 4.0


def roundabout(
    rng: np.random.Generator, *, arms: int = 0, lanes: int = 1, length: float = 120.0, crossings: bool = True
) -> LaneGraph:
    """Roads that meet at a roundabout in the middle of the map, open at their other ends.

    Args:
        rng: draws what is not given, the radius, and the angles between the roads.
        arms: 3 to 5; 0: drawn.
        lanes: of the ring and of each direction of the roads, 1 or 2.
        length: of the roads, m.
        crossings: whether pedestrians cross the roads.
    """
    count = arms or int(rng.integers(3, 6))
    if count not in (3, 4, 5) or lanes not in (1, 2):
        raise ValueError(f"a roundabout has 3 to 5 arms and 1 or 2 lanes, not {count} and {lanes}")
    radius = float(rng.uniform(15.0, 19.0)) + 4.0 * (lanes - 1) + 2.0 * (count - 3)
    limit = float(rng.choice([30.0, 40.0, 50.0])) / 3.6
    gap = 2.0 * math.pi / count
    angles = gap * np.arange(count) + rng.uniform(-0.08, 0.08, count) * gap + rng.uniform(0.0, 2.0 * math.pi)
    draft = Draft("roundabout")
    found = []
    for at, angle in enumerate(angles):
        pose = Pose(0.0, 0.0, float(angle)).ahead(radius + 0.5 * RING_WIDTH + REACH)
        road = draft.road(f"road{at}", straight(pose, length), lanes, lanes, width=3.4, limit=limit)
        found.append(Arm(pose, road.backward, road.forward, road.width, crossing=crossings))
    ring(draft, "ring", (0.0, 0.0), radius, found)
    return draft.built()


def ring(draft: Draft, name: str, centre: tuple[float, float], radius: float, arms: Sequence[Arm]) -> None:
    """Joins arms by a ring of as many lanes as they have.

    Args:
        draft: where the arms are drawn.
        name: of the junction.
        centre: of the ring, m.
        radius: of the middle of its outermost lane, m.
        arms: all of one or all of two lanes each way, which point to the centre.
    """
    arms = sorted(arms, key=lambda arm: math.atan2(arm.pose.y - centre[1], arm.pose.x - centre[0]))
    angles = np.array([math.atan2(arm.pose.y - centre[1], arm.pose.x - centre[0]) for arm in arms])
    gaps = np.diff(np.concatenate([angles, angles[:1] + 2.0 * math.pi]))
    half = min(0.62, 0.36 * float(gaps.min()))  # rad from an arm to where one enters and leaves
    for lane in range(len(arms[0].into)):
        far = radius - (len(arms[0].into) - 1 - lane) * RING_WIDTH  # lane 0 is the innermost
        for at, (arm, angle, gap) in enumerate(zip(arms, angles, gaps, strict=True)):
            past = _ring_part(draft, f"{name}:past{at}.{lane}", centre, far, angle - half, 2.0 * half, name)
            on = _ring_part(draft, f"{name}:on{at}.{lane}", centre, far, angle + half, float(gap) - 2.0 * half, name)
            draft.follow(past, on)
            _link(draft, f"{name}:in{at}.{lane}", arm.into[lane], on, name, 1)
            draft.stops.append(StopLine(arm.into[lane], -stop_distance(arm), GIVE_WAY))
        for at, arm in enumerate(arms):
            on = f"{name}:on{(at - 1) % len(arms)}.{lane}"
            draft.follow(on, f"{name}:past{at}.{lane}")
            _link(draft, f"{name}:out{at}.{lane}", on, arm.out[lane], name, 2)
    draft.crossings += [strip(arm) for arm in arms if arm.crossing]


def _ring_part(
    draft: Draft, name: str, centre: tuple[float, float], radius: float, angle: float, turn: float, junction: str
) -> str:
    """An arc of the ring, counter-clockwise from ``angle``."""
    pose = Pose(*centre, angle).ahead(radius).turned(0.5 * math.pi)
    return _add(draft, name, arc(pose, radius, turn), junction, 3)


def _link(draft: Draft, name: str, before: str, after: str, junction: str, rank: int) -> None:
    """A lane onto the ring or off it."""
    line = link(draft.end(before), draft.lines[after].begin, 0.36)
    _add(draft, name, line, junction, rank)
    draft.follow(before, name)
    draft.follow(name, after)


def _add(draft: Draft, name: str, line: Line, junction: str, rank: int) -> str:
    draft.lane(name, line, width=RING_WIDTH, limit=RING_LIMIT)
    draft.lanes[name].junction, draft.lanes[name].rank = junction, rank
    return name
