"""The log of an episode: what one road user, the ego, did and what happened to it. All scores are functions of it.

A simulator fills it and scores nothing; a score reads it and simulates nothing. It can be stored as JSON and read
again, so that a new version of a score can be computed from old episodes. Units are SI, angles in radians,
counter-clockwise.

**State columns** are ``[T]``: entry 0 is the state at reset, entry ``t`` the one ``t * dt`` seconds later. A fact about
a step (``ahead``, ``follower_accel``) stands at the state that the step led to, with 0 or NaN at entry 0.

**Harm is never the ego's fault by default**: a collision carries the facts that decide (:mod:`.fault`), and one without
them is refused. **Nor does a respawn hide it**: all lives of an episode are one log, told apart by ``life``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from math import isfinite
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

KINDS = (
    "",
    "collision",
    "red_light",
    "stop_sign",
    "give_way",  # took the priority of another, who had to brake or stop for it
    "emergency",  # kept an emergency vehicle behind itself
    "scenario_timeout",  # a triggered scenario was not driven through in time
    "blocked",  # stood for too long
    "deviation",  # left the route
    "off_road",
    "wrong_way",
    "timeout",  # of the route
    "respawn",  # was put somewhere else; value: metres along the route that this skipped, or 0
)
"""Kinds of events. Compiled code may write the index."""
OTHERS = ("", "vehicle", "cyclist", "pedestrian", "static")
"""What was hit; the first means nothing."""
SIDES = ("", "front", "rear", "side")
"""Where on the ego: the front bumper touched (front), the other's middle is behind (rear), or neither (side)."""
ENDS = (
    "",
    "completed",
    "collision",
    "red_light",
    "stop_sign",
    "off_road",
    "wrong_way",
    "blocked",
    "deviation",
    "timeout",
    "truncated",
    "lost",
)
"""Why the log ends: ``truncated`` by the step limit, ``lost`` when the simulator died; the first means it goes on."""


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened.

    Attributes:
        kind: of :data:`KINDS`.
        time: s since the log began.
        x, y: of the ego, m.
        life: of the ego, 0 until its first respawn.
        value: what the kind says; ``None`` where it says nothing.
        other: of :data:`OTHERS`; required of a collision, as is the rest.
        other_id: to tell one other from another; -1 where there is none.
        side: of :data:`SIDES`: what of the ego was touched.
        ego_speed: just before, m/s, negative when reversing.
        other_speed: the same of the other; 0 of what cannot move.
        one_lane: whether the ego's whole body was in one lane, or in lanes that follow each other.
        against_priority: whether the ego was where a signal, a sign or a priority forbade it to be.
    """

    kind: str
    time: float
    x: float = 0.0
    y: float = 0.0
    life: int = 0
    value: float | None = None
    other: str = ""
    other_id: int = -1
    side: str = ""
    ego_speed: float | None = None
    other_speed: float | None = None
    one_lane: bool | None = None
    against_priority: bool | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS[1:]:
            raise ValueError(f"an event's kind is one of {', '.join(KINDS[1:])}, got {self.kind!r}")
        if not (isfinite(self.time) and self.time >= 0):
            raise ValueError(f"an event's time is in seconds since the log began, got {self.time!r}")
        if self.kind == "collision":
            self._check_collision()

    def _check_collision(self) -> None:
        missing = [name for name in ("other", "side") if not getattr(self, name)]
        missing += [name for name in ("ego_speed", "other_speed") if not isfinite(_number(getattr(self, name)))]
        missing += [name for name in ("one_lane", "against_priority") if getattr(self, name) is None]
        if missing:
            raise ValueError(f"whose fault a collision was cannot be said without {', '.join(missing)}")
        if self.other not in OTHERS or self.side not in SIDES:
            raise ValueError(f"a collision is with {OTHERS[1:]} at {SIDES[1:]}, got {self.other!r}, {self.side!r}")


_STATES = {
    "x": "m",
    "y": "m",
    "heading": "rad",
    "speed": "m/s, negative when reversing",
    "accel": "m/s2, along the heading",
    "lateral_accel": "m/s2, to the left",
    "yaw_rate": "rad/s",
    "offset": "m, of the ego's middle to the left of its lane's; NaN where no lane is near",
    "limit": "m/s, of its lane; NaN where no lane is near",
    "ttc": "s, minimal time to collision (:mod:`.ttc`); infinite: none ahead",
    "progress": "m along the route since its beginning, may fall back",
    "ahead": "m moved in this step in the direction of its lane; negative: against it; 0 where there is no lane",
    "outside": "m by which the farthest corner of its body is outside the drivable area; 0: all inside",
    "follower_accel": "m/s2, of the follower whom it makes brake hardest; NaN: there is no vehicle behind",
    "follower_without": "m/s2, the acceleration that this follower would have were the ego not there",
    "traffic_speed": "m/s, mean over the other vehicles; NaN: there are none",
}
_INFINITE = {"ttc": np.inf}  # what JSON's null means; NaN elsewhere
_MAY_LACK = ("offset", "limit", "ttc", "follower_accel", "follower_without", "traffic_speed")


@dataclass(frozen=True, kw_only=True, eq=False)
class EpisodeLog:
    """An episode of one ego; see the module for what stands where.

    Attributes:
        route_length: m.
        dt: s between two states.
        x, y, heading, speed, accel, lateral_accel, yaw_rate, offset, limit, ttc, progress, ahead, outside,
            follower_accel, follower_without, traffic_speed: ``[T]``, as :data:`UNITS` says.
        one_lane: ``[T]`` the whole body in one lane, or in lanes that follow each other.
        off_route: ``[T]`` more than half a metre outside all lanes, or in one of the opposite direction.
        life: ``[T]`` 0 until the first respawn, then 1 more at each.
        events: in order of time.
        ended: of :data:`ENDS`.
        problem: what names the episode: map, seed, scenario, versions.

    Raises:
        ValueError: lengths differ, numbers are not finite where they must be, a life goes back; the sentence names it.
    """

    route_length: float
    dt: float
    x: Floats
    y: Floats
    heading: Floats
    speed: Floats
    accel: Floats
    lateral_accel: Floats
    yaw_rate: Floats
    offset: Floats
    limit: Floats
    ttc: Floats
    progress: Floats
    ahead: Floats
    outside: Floats
    follower_accel: Floats
    follower_without: Floats
    traffic_speed: Floats
    one_lane: Bools
    off_route: Bools
    life: Ints
    events: tuple[Event, ...] = ()
    ended: str = ""
    problem: Mapping[str, str | int | float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds: dict[str, Any] = {**dict.fromkeys(_STATES, np.float64), "one_lane": np.bool_, "off_route": np.bool_}
        for name, kind in {**kinds, "life": np.int64}.items():
            column = np.array(getattr(self, name), dtype=kind)
            column.setflags(write=False)
            object.__setattr__(self, name, column)
        object.__setattr__(self, "events", tuple(self.events))
        self._check()

    def _check(self) -> None:
        if not (isfinite(self.route_length) and self.route_length > 0 and isfinite(self.dt) and self.dt > 0):
            raise ValueError(f"route_length and dt are above 0, got {self.route_length!r} m and {self.dt!r} s")
        if self.x.ndim != 1 or len(self.x) < 2:
            raise ValueError(f"a log has two states at least, got x of shape {self.x.shape}")
        for name in (*_STATES, "one_lane", "off_route", "life"):
            column = getattr(self, name)
            if column.shape != self.x.shape:
                raise ValueError(f"{name} has shape {column.shape}, x has {self.x.shape}")
            if name not in _MAY_LACK and not np.isfinite(column).all():
                raise ValueError(f"{name} is not finite at state {int(np.flatnonzero(~np.isfinite(column))[0])}")
        if np.isnan(self.ttc).any() or (self.ttc < 0).any() or (self.outside < 0).any():
            raise ValueError("times to collision and distances outside are numbers from 0 on")
        if self.life[0] < 0 or (np.diff(self.life) < 0).any():
            raise ValueError("life begins at 0 and never goes back")
        if self.ended not in ENDS:
            raise ValueError(f"a log ends for one of {', '.join(ENDS[1:])}, got {self.ended!r}")
        late = [event for event in self.events if event.time > self.seconds + self.dt]
        if late:
            raise ValueError(f"the log is {self.seconds:g} s long and has a {late[0].kind} at {late[0].time:g} s")

    def __len__(self) -> int:
        return len(self.x)

    @property
    def seconds(self) -> float:
        """From the first state to the last."""
        return (len(self) - 1) * self.dt

    @property
    def same_life(self) -> Bools:
        """``[T - 1]`` whether a step began and ended in the same life; a respawn is no motion."""
        return np.asarray(np.diff(self.life) == 0, np.bool_)

    @property
    def driven(self) -> float:
        """Metres driven, in all lives."""
        moved = np.hypot(np.diff(self.x), np.diff(self.y))
        return float(moved[self.same_life].sum())

    @property
    def completed(self) -> float:
        """Share of the route that was driven, 0 to 1: what came after the first respawn does not count."""
        first = self.progress[self.life == self.life[0]]
        return float(np.clip(first.max() / self.route_length, 0.0, 1.0))

    def of(self, *kinds: str) -> tuple[Event, ...]:
        """The events of these kinds, in all lives."""
        return tuple(event for event in self.events if event.kind in kinds)

    def lives(self) -> Sequence[slice]:
        """The states of each life."""
        cuts = [0, *(np.flatnonzero(~self.same_life) + 1).tolist(), len(self)]
        return [slice(a, b) for a, b in zip(cuts[:-1], cuts[1:], strict=True)]

    def to_json(self) -> str:
        """As JSON of the standard (no NaN): what is lacking is ``null``."""
        columns = {name: [_plain(v) for v in getattr(self, name).tolist()] for name in _STATES}
        whole = {name: getattr(self, name).tolist() for name in ("one_lane", "off_route", "life")}
        happened = [asdict(event) for event in self.events]
        rest = {"route_length": self.route_length, "dt": self.dt, "ended": self.ended, "problem": dict(self.problem)}
        return json.dumps({**rest, **columns, **whole, "events": happened}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What :meth:`to_json` wrote.

        Raises:
            ValueError: it is no JSON, fields are missing or unknown, or their values make no log.
        """
        try:
            stored = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"this is no stored log, as it is no whole JSON: {error}") from error
        if not isinstance(stored, dict):
            raise ValueError(f"a stored log is a JSON object, got {text!r:.60}")
        if different := set(stored) ^ {f.name for f in fields(cls)}:
            raise ValueError(f"a stored log has other fields: {', '.join(sorted(different))}")
        for name in (*_STATES, "events"):
            if not isinstance(stored[name], list):
                raise ValueError(f"{name} of a stored log is a list, got {stored[name]!r:.60}")
        for name in _STATES:
            lacking = _INFINITE.get(name, np.nan)
            stored[name] = [lacking if value is None else value for value in stored[name]]
        told = {f.name for f in fields(Event)}
        for one in stored["events"]:
            if not isinstance(one, dict) or not {"kind", "time"} <= set(one) <= told:
                raise ValueError(f"an event of a stored log has the fields {', '.join(sorted(told))}, got {one!r:.100}")
        stored["events"] = tuple(Event(**one) for one in stored["events"])
        return cls(**stored)


UNITS: Mapping[str, str] = _STATES
"""Unit and sense of every column of numbers."""


def _plain(value: float) -> float | None:
    return value if isfinite(value) else None


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
