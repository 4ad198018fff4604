"""Triggers put on maps: the rows of :mod:`.triggers` at the places of :mod:`.sites`, as arrays for compiled code."""

from collections.abc import Sequence

import numpy as np

from ..maps.graph import NONE, Columns, LaneGraph
from ..town.scripts import PLAYS
from ..town.staging import BODIES, PART, STAGE, Stages
from .sites import Site, sites
from .triggers import TRIGGERS, Actor

BACK = 120.0  # m of lanes before a place on which actors may begin
ON = 60.0  # m behind it
APPROACH, APPROACH_TIME = 45.0, 2.5  # m, and s at the limit: of the ego's way before the place, at most
MARGIN = 6.0  # m from a lane's beginning at which the ego begins
LEAST = 35.0  # m of the ego's way before the place


def most_actors(names: Sequence[str]) -> int:
    """The most road users that one of the triggers needs."""
    return max((sum(actor.count for actor in TRIGGERS[name].actors) for name in names), default=0)


def stages(graphs: Sequence[LaneGraph], lane_first: Sequence[int], names: Sequence[str]) -> Stages:
    """All places of all maps at which the triggers can be played.

    Args:
        graphs: the maps.
        lane_first: what is added to a map's lanes to number them through all maps.
        names: of the triggers.

    Raises:
        ValueError: none of the triggers fits on any map.
    """
    rows: list[tuple[float, ...]] = []
    parts: list[tuple[float, ...]] = []
    chains: list[int] = []
    first, played = [0], set()
    for graph, base in zip(graphs, lane_first, strict=True):
        for name in names:
            for site in sites(graph, TRIGGERS[name]):
                begin = _begin(graph.columns, site)
                if begin is None:
                    continue
                one = len(parts)
                for actor in TRIGGERS[name].actors:
                    parts += _parts(graph.columns, site, actor, int(base), chains)
                number = tuple(TRIGGERS).index(name)
                rows.append((number, site.lane + base, site.s, begin[0] + base, begin[1], one, len(parts)))
                played.add(name)
            first.append(len(rows))
    if not played:
        raise ValueError(f"no map of this scene has a place for {', '.join(names)}")
    return Stages(
        stage=np.array(rows, STAGE),
        first=np.array(first, np.int32),
        part=np.array(parts, PART),
        chain=np.array(chains or [NONE], np.int32),
        triggers=len(names),
    )


def _before(c: Columns, lane: int) -> list[int]:
    return [int(one) for one in c.previous_lane[c.previous_first[lane] : c.previous_first[lane + 1]]]


def _after(c: Columns, lane: int) -> list[int]:
    return [int(one) for one in c.next_lane[c.next_first[lane] : c.next_first[lane + 1]]]


def _bend(c: Columns, lane: int) -> float:
    angle = float(c.heading[c.first[lane + 1] - 1] - c.heading[c.first[lane]])
    return abs((angle + np.pi) % (2.0 * np.pi) - np.pi)


def _begin(c: Columns, site: Site) -> tuple[int, float] | None:
    """Where the ego begins: so far before the place that it is not surprised, on a lane outside junctions."""
    wanted = APPROACH + APPROACH_TIME * float(c.limit[site.lane])
    lane, away = site.lane, site.s
    seen = {lane}
    while away < LEAST + MARGIN or c.junction[lane] != NONE:
        steps = [one for one in _before(c, lane) if one not in seen]
        if not steps or away > 2.0 * BACK:
            return None
        lane = max(steps, key=lambda one: float(c.length[one]))
        seen.add(lane)
        away += float(c.length[lane])
    return lane, max(MARGIN, min(away - wanted, float(c.length[lane]) - MARGIN))


def _chain(c: Columns, lane: int, s: float) -> tuple[list[int], float]:
    """Lanes that lead to and from a place, straight on where they may, and how far along them it is."""
    lanes, along = [lane], s
    while along < BACK and len(lanes) < 5:
        steps = [one for one in _before(c, lanes[0]) if one not in lanes]
        if not steps:
            break
        lanes.insert(0, min(steps, key=lambda one: _bend(c, one)))
        along += float(c.length[lanes[0]])
    left = float(c.length[lane]) - s
    while left < ON and len(lanes) < 8:
        ways = [one for one in _after(c, lanes[-1]) if one not in lanes]
        if not ways:
            break
        lanes.append(min(ways, key=lambda one: _bend(c, one)))
        left += float(c.length[lanes[-1]])
    return lanes, along


def _parts(c: Columns, site: Site, actor: Actor, base: int, chains: list[int]) -> list[tuple[float, ...]]:
    """The records of an actor, one for each of its count; its lanes are added to ``chains``."""
    lane, s = site.roles[actor.on]
    lanes, along = _chain(c, lane, s)
    begin = len(chains)
    chains += [one + base for one in lanes]
    target = {"change-left": c.left[lane], "change-right": c.right[lane]}.get(actor.then, NONE)
    speed = actor.pace if actor.body == "person" else actor.pace * float(c.limit[lane])
    swing = float(c.width[c.first[lane]]) - 0.4
    return [
        (
            *(BODIES.index(actor.body), PLAYS.index(actor.first), PLAYS.index(actor.then)),
            *(begin, len(chains), along, actor.ahead - number * actor.apart, actor.aside, actor.near, actor.eta),
            *(actor.seconds, speed, actor.lead - number * actor.apart, actor.lag),
            *(int(target) + base if target != NONE else NONE, swing),
        )
        for number in range(actor.count)
    ]
