"""From keypoints to a way: the shortest along lanes and permitted lane changes, as a line with length and direction.

Only the client's waypoints are asked, so that it works on any map of a server. From here on coordinates are ours: y to
the left, angles counter-clockwise in radians; CARLA's y points right and its yaw is in degrees clockwise.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from math import cos, hypot, radians, sin
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
STEP = 2.0  # m between two points of a way
SEARCH = 200_000  # waypoints that are looked at before a way is given up
CHANGE = 6.0  # m that a lane change costs in the search, so that none is made without need
DIAGONAL = 10.0  # m along the lane within which it is made
NEAR = 1.5 * STEP


class Unreachable(ValueError):
    """No way leads from one keypoint to the next."""


@dataclass(frozen=True)
class Way:
    """A route as a line, in our frame.

    Attributes:
        x, y: ``[n]`` m.
        z: m, of CARLA's height where it begins.
        s: ``[n]`` m since the beginning.
        heading: ``[n]`` rad, of the lane there.
        width: ``[n]`` m, of the lane there.
        junction: ``[n]`` whether in a junction.
    """

    x: Array
    y: Array
    z: float
    s: Array
    heading: Array
    width: Array
    junction: npt.NDArray[np.bool_]

    @property
    def length(self) -> float:
        """In m."""
        return float(self.s[-1])

    def project(self, x: float, y: float, near: float, window: float = 30.0) -> tuple[float, float]:
        """Where a point is: m along the way, and m to the left of it.

        Args:
            x: of the point.
            y: of the point.
            near: m along the way of where it was before; only ``window`` around that is looked at, since a way may
                cross itself.
            window: m.
        """
        low = max(int(np.searchsorted(self.s, near - window)) - 1, 0)
        high = min(int(np.searchsorted(self.s, near + window)) + 1, len(self.s) - 1)
        ax, ay = self.x[low:high], self.y[low:high]
        dx, dy = self.x[low + 1 : high + 1] - ax, self.y[low + 1 : high + 1] - ay
        length = np.maximum(np.hypot(dx, dy), 1e-9)
        share = np.clip(((x - ax) * dx + (y - ay) * dy) / length**2, 0.0, 1.0)
        far = np.hypot(ax + share * dx - x, ay + share * dy - y)
        k = int(np.argmin(far))
        left = (dx[k] * (y - ay[k]) - dy[k] * (x - ax[k])) / length[k]
        beyond = far[k] if left >= 0 else -far[k]
        return float(self.s[low + k] + share[k] * length[k]), float(left if 0.0 < share[k] < 1.0 else beyond)

    def at(self, s: float) -> tuple[float, float, float, float]:
        """x, y, heading and width ``s`` metres along; beyond an end those of the end."""
        x, y = np.interp(s, self.s, self.x), np.interp(s, self.s, self.y)
        k = min(max(int(np.searchsorted(self.s, s, side="right")) - 1, 0), len(self.s) - 1)
        return float(x), float(y), float(self.heading[k]), float(self.width[k])


def way(waypoints: Sequence[Any]) -> Way:
    """The line through waypoints.

    Raises:
        ValueError: fewer than two that differ in place.
    """
    kept = [waypoints[0]] if waypoints else []
    for one in waypoints[1:]:
        if _apart(one, kept[-1]) > 0.1:
            kept.append(one)
    if len(kept) < 2:
        raise ValueError("a way needs two places that differ")
    places = [one.transform.location for one in kept]
    x, y = np.array([p.x for p in places]), -np.array([p.y for p in places])
    s = np.r_[0.0, np.cumsum(np.hypot(np.diff(x), np.diff(y)))]
    heading = np.array([-radians(one.transform.rotation.yaw) for one in kept])
    width = np.array([one.lane_width for one in kept])
    return Way(x, y, float(places[0].z), s, heading, width, np.array([bool(one.is_junction) for one in kept]))


def wander(start: Any, length: float, draw: Callable[[int], int]) -> list[Any]:
    """Waypoints of a way of ``length`` metres from ``start``, with a drawn turn at each fork; shorter at a dead end.

    Args:
        start: a waypoint.
        length: m.
        draw: from the number of choices to the index of one.
    """
    found = [start]
    while (len(found) - 1) * STEP < length:
        following = sorted(found[-1].next(STEP), key=_key)
        if not following:
            break
        found.append(following[draw(len(following)) if len(following) > 1 else 0])
    return found


def connect(world_map: Any, keypoints: Sequence[Any], where: str = "") -> list[Any]:
    """Waypoints of the shortest way through keypoints (locations of CARLA), each put on the nearest driving lane.

    Raises:
        Unreachable: a keypoint is near no lane, or no way leads to it; the sentence names it.
    """
    ends = []
    for number, point in enumerate(keypoints):
        found = world_map.get_waypoint(point)
        if found is None:
            raise Unreachable(f"{where}: no lane is near keypoint {number} ({point.x:g}, {point.y:g})")
        ends.append(found)
    whole = [ends[0]]
    for number, goal in enumerate(ends[1:], start=1):
        leg = _search(whole[-1], goal)
        if leg is None:
            raise Unreachable(f"{where}: no way leads from keypoint {number - 1} to keypoint {number}")
        whole += leg[1:]
    return whole


def _search(start: Any, goal: Any) -> list[Any] | None:
    order = count()  # so that two equal costs never compare waypoints
    heap: list[tuple[float, int, float, Any, tuple[int, ...] | None]] = [(0.0, next(order), 0.0, start, None)]
    came: dict[tuple[int, ...], tuple[Any, tuple[int, ...] | None]] = {}
    while heap and len(came) < SEARCH:
        _, _, cost, here, before = heapq.heappop(heap)
        key = _key(here)
        if key in came:
            continue
        came[key] = (here, before)
        if _reached(here, goal):
            return [*_back(came, key), goal]
        for following, price in _moves(here):
            if _key(following) not in came:
                ahead = cost + price + _apart(following, goal)
                heapq.heappush(heap, (ahead, next(order), cost + price, following, key))
    return None


def _back(came: dict[tuple[int, ...], tuple[Any, tuple[int, ...] | None]], key: tuple[int, ...]) -> list[Any]:
    found, at = [], key
    while True:
        one, before = came[at]
        found.append(one)
        if before is None:
            return found[::-1]
        at = before


def _moves(here: Any) -> list[tuple[Any, float]]:
    moves = [(following, STEP) for following in here.next(STEP)]
    allowed = str(here.lane_change)
    for side, beside in (("Left", here.get_left_lane), ("Right", here.get_right_lane)):
        if allowed in (side, "Both"):
            other = beside()
            if other is not None and other.lane_id * here.lane_id > 0 and str(other.lane_type) == "Driving":
                lane = (other.road_id, other.lane_id)
                ahead = [one for one in other.next(DIAGONAL) if (one.road_id, one.lane_id) == lane]
                moves += [(one, DIAGONAL + CHANGE) for one in ahead]
    return moves


def _reached(here: Any, goal: Any) -> bool:
    place = goal.transform.location
    if (here.road_id, here.lane_id) != (goal.road_id, goal.lane_id) or _apart(here, goal) > NEAR:
        return False
    yaw = radians(here.transform.rotation.yaw)
    own = here.transform.location
    return bool((place.x - own.x) * cos(yaw) + (place.y - own.y) * sin(yaw) >= 0.0)


def _key(one: Any) -> tuple[int, ...]:
    return (one.road_id, one.section_id, one.lane_id, int(one.s / STEP))


def _apart(a: Any, b: Any) -> float:
    one, two = a.transform.location, b.transform.location
    return float(hypot(one.x - two.x, one.y - two.y))
