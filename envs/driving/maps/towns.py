"""What lies beside a town of the package ``torchdrivesim``: origin, stop lines and programs of the lights (JSON)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .build import Lane, Signal, StopLine
from .description import Description, crossed, merged, place_stop, predecessors
from .document import MapError
from .graph import AMBER, GIVE_WAY, GREEN, RED, SIGNAL, STOP_SIGN

COLOURS = {"red": RED, "yellow": AMBER, "green": GREEN}
KINDS = {
    "traffic_light": SIGNAL, "traffic-light": SIGNAL, "stop_sign": STOP_SIGN, "stop-sign": STOP_SIGN,
    "yield_sign": GIVE_WAY, "yield-sign": GIVE_WAY, "yield": GIVE_WAY,
}  # fmt: skip


@dataclass
class Town:
    """What the files say; nothing if there are none."""

    origin: tuple[float, float] | None = None
    mirrored: bool | None = None
    stops: list[dict[str, Any]] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)


def read(path: Path) -> Town:
    """The files beside ``NAME.osm``: ``metadata.json``, the stop lines and the lights' programs.

    Raises:
        MapError: one of them is broken.
    """
    told = path.parent / "metadata.json"
    if not told.is_file():
        return Town()
    try:
        about = dict(_json(told))
        latitude, longitude = about.get("lanelet_map_origin") or (0.0, 0.0)
        town = Town((float(latitude), float(longitude)), about.get("left_handed_coordinates"))
    except (TypeError, ValueError) as error:
        raise _broken(told, error) from None
    lines = path.with_name(f"{path.stem}_stoplines.json")
    lights = path.with_name(f"{path.stem}_traffic_light_controller.json")
    town.stops = [_stop(one, lines) for one in _json(lines)] if lines.is_file() else []
    town.signals = [one for group in _json(lights) for one in _signals(group, lights)] if lights.is_file() else []
    return town


def _broken(path: Path, error: Exception) -> MapError:
    return (
        error
        if isinstance(error, MapError)
        else MapError(f"{path.name}, line 1: not as torchdrivesim writes it ({error!r})")
    )


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise MapError(f"{path.name}, line {error.lineno}: {error.msg}; it is no whole JSON") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise MapError(f"{path.name}, line 1: it is no JSON ({error})") from None


def _stop(one: Any, path: Path) -> dict[str, Any]:
    try:
        row = {name: float(one[name]) for name in ("x", "y", "width", "orientation")}
        if not np.isfinite(list(row.values())).all():
            raise ValueError(f"stop line {one['actor_id']} has numbers that are not finite")
        return {**row, "id": str(one["actor_id"]), "kind": KINDS[one["agent_type"]]}
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(path, error) from None


def _signals(group: Any, path: Path) -> list[Signal]:
    """The lights of one controller, whose states follow one another from the first on."""
    try:
        order, at = [0], int(group[0]["next_state"])
        while at != 0 and len(order) < len(group):
            order.append(at)
            at = int(group[at]["next_state"])
        states = [group[i] for i in order]
        seconds = [float(state["duration"]) for state in states]
        return [
            Signal(name, *merged(seconds, [COLOURS[state["actor_states"][name]] for state in states]))
            for name in states[0]["actor_states"]
        ]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise _broken(path, error) from None


def add(found: Description, town: Town) -> None:
    """Adds a town's signals and stop lines; lanes behind a stop or yield sign rank below the others."""
    if not town.stops:
        return
    lanes = {lane.id: lane for lane in found.lanes}
    before = predecessors(found.lanes)
    found.signals += town.signals
    known = {signal.id for signal in found.signals}
    lost = 0
    for stop in town.stops:
        if stop["kind"] == SIGNAL and stop["id"] not in known:
            found.signals.append(Signal(stop["id"], [1.0], [RED]))
            found.warnings.append(f"traffic light {stop['id']} has no program: it stays red")
        placed = _placed(stop, -1.0 if town.mirrored else 1.0, lanes, before)
        found.stops += [one for one in placed if one not in found.stops]
        lost += not placed
        if stop["kind"] != SIGNAL:
            for one in placed:
                for name in lanes[one.lane].successors:
                    lanes[name].rank = -1
    if lost:
        found.warnings.append(f"{lost} stop lines lie across no lane")


def _placed(
    stop: Mapping[str, Any], side: float, lanes: Mapping[str, Lane], before: Mapping[str, list[str]]
) -> list[StopLine]:
    """Stop lines of the lanes that go over a line in its direction (within 45 degrees)."""
    middle = np.array([stop["x"], side * stop["y"]])
    heading = side * stop["orientation"]
    ahead = np.array([np.cos(heading), np.sin(heading)])
    half = 0.5 * max(float(stop["width"]), 1.0) * np.array([-ahead[1], ahead[0]])
    signal = stop["id"] if stop["kind"] == SIGNAL else ""
    found = []
    for lane in lanes.values():
        line = np.asarray(lane.middle)
        if (line.min(axis=0) > middle + 6.0).any() or (line.max(axis=0) < middle - 6.0).any():
            continue
        s = crossed(line, middle - half, middle + half)
        if s is None or not _same_way(line, s, ahead):
            continue
        found += place_stop(lane, s, stop["kind"], signal, lanes, before)
    return list({(one.lane, round(one.s, 3)): one for one in found}.values())


def _same_way(line: Any, s: float, ahead: Any) -> bool:
    step = np.diff(line, axis=0)
    reached = np.cumsum(np.hypot(*step.T))
    one = step[min(int(np.searchsorted(reached, s)), len(step) - 1)]
    return bool(one @ ahead > np.cos(np.pi / 4) * np.hypot(*one))
