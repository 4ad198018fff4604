"""Stop lines and programs beside a Lanelet2 map, as torchdrivesim has them for CARLA's towns."""

import json
from pathlib import Path

import pytest

from tiltyard.envs.driving.maps import lanelet2
from tiltyard.envs.driving.maps.document import MapError
from tiltyard.envs.driving.maps.graph import AMBER, GIVE_WAY, GREEN, RED, SIGNAL

STOPS = [
    {"actor_id": 5, "agent_type": "traffic_light", "x": 40.0, "y": 2.0, "width": 3.5, "orientation": 0.0, "length": 1},
    {"actor_id": 6, "agent_type": "yield_sign", "x": 75.0, "y": -10.0, "width": 3.5, "orientation": 1.57, "length": 1},
    {"actor_id": 7, "agent_type": "stop_sign", "x": 900.0, "y": 0.0, "width": 3.5, "orientation": 0.0, "length": 1},
]
STATES = [
    {"actor_states": {"5": colour}, "duration": seconds, "state": i, "next_state": (i + 1) % 3}
    for i, (colour, seconds) in enumerate([("red", "2"), ("green", "15"), ("yellow", "5")])
]


def town(path: Path, stops: object = STOPS, lights: object = (STATES,), about: object = None) -> Path:
    about = {"lanelet_map_origin": [0.0, 0.0], "left_handed_coordinates": False} if about is None else about
    for name, content in (
        ("metadata", about),
        ("small_stoplines", stops),
        ("small_traffic_light_controller", lights),
    ):
        text = content if isinstance(content, str) else json.dumps(content)
        (path.parent / f"{name}.json").write_text(text)
    return path


def test_stop_lines_and_programs_of_a_town(write) -> None:
    found = lanelet2.describe(town(write("small.osm")))
    stops = [(one.lane, round(one.s, 0), one.kind, one.signal) for one in found.stops if one.kind == SIGNAL]
    assert stops == [("10", 40.0, SIGNAL, "5")]
    assert ("13", GIVE_WAY) in [(one.lane, one.kind) for one in found.stops]
    assert [(one.id, one.seconds, one.colours) for one in found.signals] == [
        ("5", [2.0, 15.0, 5.0], [RED, GREEN, AMBER])
    ]
    assert found.warnings == ["1 stop lines lie across no lane"]


def test_a_light_without_a_program_stays_red(write) -> None:
    found = lanelet2.describe(
        town(write("small.osm"), lights=[[{**STATES[0], "actor_states": {"9": "red"}, "next_state": 0}]])
    )
    assert [one.colours for one in found.signals if one.id == "5"] == [[RED]]
    assert "traffic light 5 has no program: it stays red" in found.warnings


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"stops": '[\n{"x": 1,\n'}, "small_stoplines.json, line 3: "),
        ({"stops": [{"x": 1}]}, "small_stoplines.json, line 1: not as torchdrivesim writes it"),
        ({"stops": [{**STOPS[0], "x": "NaN"}]}, "numbers that are not finite"),
        ({"stops": [{**STOPS[0], "agent_type": "gnome"}]}, "gnome"),
        ({"lights": [[{**STATES[0], "next_state": 7}, STATES[1]]]}, "controller.json, line 1: not as"),
        ({"lights": [[{**STATES[0], "actor_states": {"5": "blue"}}]]}, "'blue'"),
        ({"lights": "[" * 100_000}, "small_traffic_light_controller.json, line 1"),
        ({"about": {"lanelet_map_origin": "here"}}, "metadata.json, line 1: not as"),
        ({"about": "no JSON"}, "metadata.json, line 1: Expecting value"),
    ],
)  # fmt: skip
def test_damage_is_told(write, parts: dict, sentence: str) -> None:
    with pytest.raises(MapError) as error:
        lanelet2.read(town(write("small.osm"), **parts))
    assert sentence in str(error.value)
