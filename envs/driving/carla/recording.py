"""From scenes to the log of an episode (:mod:`..metrics.log`): a row a tick, and what happened."""

from collections.abc import Sequence
from math import cos, hypot, inf, nan, sin
from typing import Any

import numpy as np

from ..metrics.fault import at_fault, side
from ..metrics.log import UNITS, EpisodeLog, Event
from ..metrics.ttc import time_to_collision
from ..traffic import idm
from .scene import Body, Scene, kind_of
from .server import TICK

AFTER = 5.0  # s for which having run a signal or sign is still against priority
HEADWAY, ACCEL, BRAKE = 1.5, 1.5, 2.0  # of the follower were the ego not there: IDM's


class Recorder:
    """Keeps the log of one episode.

    Args:
        route_length: m.
        problem: what names it.
    """

    def __init__(self, route_length: float, problem: dict[str, str | int | float]) -> None:
        self.route_length, self.problem = route_length, problem
        self._rows: list[dict[str, float | bool]] = []
        self.events: list[Event] = []
        self._before: dict[int, Body] = {}
        self._was: Scene | None = None
        self._hit: set[int] = set()
        self._trespass = -inf

    @property
    def clock(self) -> float:
        """Seconds since the first scene."""
        return max(len(self._rows) - 1, 0) * TICK

    def happened(self, kind: str) -> None:
        """Notes an event at the last scene."""
        assert self._was is not None
        if kind in ("red_light", "stop_sign"):
            self._trespass = self.clock
        self.events.append(Event(kind=kind, time=self.clock, x=self._was.ego.x, y=self._was.ego.y))

    def see(self, scene: Scene, touched: Sequence[Any]) -> list[bool]:
        """Adds a scene, and the collisions that the server told of since the one before.

        Returns:
            Of each new collision, whether it was the ego's fault; contacts with the same other go on and are none.
        """
        moved = 0.0 if self._was is None else self._along(self._was.ego, scene)
        was, self._was = self._was or scene, scene
        self._rows.append(self._row(scene, moved))
        found = []
        for one in touched:
            event = self._collision(was, one.other_actor)
            if event is not None:
                self.events.append(event)
                found.append(at_fault(event))
        self._before = {other.id: other for other in scene.others}
        return found

    def _along(self, before: Body, scene: Scene) -> float:
        if scene.place.off_lanes:
            return 0.0
        heading = scene.ego.heading - scene.place.turn
        return (scene.ego.x - before.x) * cos(heading) + (scene.ego.y - before.y) * sin(heading)

    def _collision(self, was: Scene, other: Any) -> Event | None:
        kind, before = kind_of(other.type_id), self._before.get(int(other.id))
        number = int(other.id) if kind != "static" else -1
        if number in self._hit:
            return None
        if number >= 0:
            self._hit.add(number)
        elif self.events and self.events[-1].other == "static" and self._near(self.events[-1], was.ego):
            return None
        moving = before is not None and kind != "static"
        return Event(
            kind="collision",
            time=self.clock,
            x=was.ego.x,
            y=was.ego.y,
            other=kind,
            other_id=number,
            side=_side(was.ego, before),
            ego_speed=was.ego.v,
            other_speed=abs(before.v) if moving and before is not None else 0.0,
            one_lane=was.place.over <= 0.0,
            against_priority=self.clock - self._trespass <= AFTER or was.place.wrong_way,
        )

    @staticmethod
    def _near(event: Event, ego: Body) -> bool:
        return hypot(event.x - ego.x, event.y - ego.y) < 5.0

    def imposed(self) -> tuple[float, float]:
        """The follower's acceleration, and the one it would have without the ego; NaN: no follower."""
        row = self._rows[-1]
        return float(row["follower_accel"]), float(row["follower_without"])

    @property
    def ttc(self) -> float:
        """Of the last scene, s."""
        return float(self._rows[-1]["ttc"])

    def _row(self, scene: Scene, moved: float) -> dict[str, float | bool]:
        ego, at = scene.ego, scene.place
        about = [[*other.box[:3], other.v, *other.box[3:]] for other in scene.others if other.id not in self._hit]
        lateral = at.over > 0.0 or at.junction
        follower_accel, follower_without = _follower(scene)
        speeds = [abs(other.v) for other in scene.others if other.kind == "vehicle"]
        return {
            "x": ego.x,
            "y": ego.y,
            "heading": ego.heading,
            "speed": ego.v,
            "accel": ego.accel,
            "lateral_accel": ego.lateral_accel,
            "yaw_rate": ego.yaw_rate,
            "offset": at.offset,
            "limit": nan if at.off_lanes else scene.limit,
            "ttc": time_to_collision([*ego.box[:3], ego.v, *ego.box[3:]], about, lateral=lateral),
            "progress": scene.s,
            "ahead": moved,
            "outside": at.outside,
            "follower_accel": follower_accel,
            "follower_without": follower_without,
            "traffic_speed": float(np.mean(speeds)) if speeds else nan,
            "one_lane": at.over <= 0.0,
            "off_route": at.off_lanes or at.wrong_way,
        }

    def log(self, ended: str) -> EpisodeLog:
        """The log so far.

        Raises:
            ValueError: nothing has been driven yet.
        """
        columns = {name: [row[name] for row in self._rows] for name in (*UNITS, "one_lane", "off_route")}
        return EpisodeLog(
            route_length=self.route_length,
            dt=TICK,
            life=np.zeros(len(self._rows), np.int64),
            events=tuple(self.events),
            ended=ended,
            problem=self.problem,
            **columns,  # type: ignore[arg-type]
        )


def _side(ego: Body, other: Body | None) -> str:
    """What of the ego was touched, by the poses a tick before.

    The simulator lets nothing overlap, so the ego's front is moved on by what two ticks of closing in make, and 0.3 m.
    """
    if other is None:
        return "front" if ego.v >= 0 else "rear"
    closing = max(ego.v - other.v * cos(other.heading - ego.heading), 0.0)
    grown = 2.0 * (0.3 + 2.0 * TICK * closing)
    x, y, heading, length, width = ego.box
    if side(ego.box, other.box) == "rear":
        return "rear"
    return side((x, y, heading, length + grown, width), other.box)


def _follower(scene: Scene) -> tuple[float, float]:
    follower, behind = scene.follower()
    if follower is None:
        return nan, nan
    leader, ahead = scene.leader()
    gap = behind + scene.ego.length + ahead
    lead = follower.v if leader is None else leader.v
    without = idm(max(follower.v, 0.0), lead, gap, max(scene.limit, 1.0), HEADWAY, ACCEL, BRAKE)
    return follower.accel, float(without)
