"""The readers against others' readers of the same files, which the packages of the extra ``[maps]`` hold."""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tiltyard.envs.driving.maps import lanelet2, opendrive, sumo
from tiltyard.envs.driving.maps.build import Signal
from tiltyard.envs.driving.maps.description import nearest
from tiltyard.envs.driving.maps.graph import AMBER, GREEN, RED
from tiltyard.envs.driving.maps.lanelets import Primitives, following, primitives
from tiltyard.envs.driving.maps.load import find, installed, load

pytestmark = pytest.mark.maps

TOWNS = ("Town01", "Town02", "Town03", "Town04", "Town06", "Town07", "Town10HD")
Pairs = set[tuple[str, str]]


def theirs(path: Path) -> tuple[set[str], Pairs, Pairs]:
    """Lanelets, successors and conflicts that the package lanelet2 finds.

    CARLA's towns are written in a left-handed plane, so that it takes each lanelet's direction for the opposite.
    """
    import lanelet2 as package

    projector = package.projection.UtmProjector(package.io.Origin(0.0, 0.0))
    town = package.io.load(str(path), projector)
    rules = package.traffic_rules
    vehicle = rules.create(rules.Locations.Germany, rules.Participants.Vehicle)
    graph = package.routing.RoutingGraph(town, vehicle)
    lanelets = list(town.laneletLayer)
    after = {(str(b.id), str(a.id)) for a in lanelets for b in graph.following(a) if a.id != b.id}  # of no length
    beside = {(str(a.id), str(b.id)) for a in lanelets for b in graph.conflicting(a)}
    return {str(one.id) for one in lanelets}, after, beside


def shared_areas(found: Primitives) -> dict[tuple[str, str], float]:
    """m2 that lanelets share which do not follow one another, both ways round; any area over 0 counts."""
    import shapely

    shapes = {one.id: shapely.Polygon([*one.left, *one.right[::-1]]) for one in found.lanelets.values()}
    related = {(a, b) for a, after in following(list(found.lanelets.values())).items() for b in after}
    names = list(shapes)
    tree = shapely.STRtree([shapes[name] for name in names])
    areas = {}
    for i, name in enumerate(names):
        for other in (names[j] for j in tree.query(shapes[name]) if j > i):
            if (name, other) not in related and (other, name) not in related:
                area = shapes[name].intersection(shapes[other]).area
                if area > 0.0:
                    areas[name, other] = areas[other, name] = area
    return areas


@pytest.mark.parametrize("town", TOWNS)
def test_lanelets_and_successors_are_those_of_the_package(town: str) -> None:
    path = find(f"torchdrivesim:{town}")
    names, after, _ = theirs(path)
    found = lanelet2.describe(path)
    assert {lane.id for lane in found.lanes} == names
    assert {(lane.id, one) for lane in found.lanes for one in lane.successors} == after


def test_town03_equals_the_package() -> None:
    """417 lanelets, 503 successors, 1,568 conflicts; the graph's conflicts are those that share real area."""
    path = find("torchdrivesim:Town03")
    names, after, conflicts = theirs(path)
    assert (len(names), len(after), len(conflicts)) == (417, 503, 1568)
    areas = shared_areas(primitives(path, (0.0, 0.0), mirrored=True))
    assert set(areas) == conflicts
    graph = load(path)
    ids = graph.lane_ids
    ours = {(ids[i], ids[j]) for i in range(len(ids)) for j in graph.conflicts(i)}
    assert len(ours) == 660
    assert ours <= conflicts
    forks = {(ids[a], ids[b]) for i in range(len(ids)) for a in graph.successors(i) for b in graph.successors(i)}
    left_out = [areas[pair] for pair in conflicts - ours - forks]
    assert np.quantile(left_out, 0.95) < 0.1  # neighbours whose written bounds touch


@pytest.mark.parametrize("town", TOWNS)
def test_every_light_of_a_town_has_a_program_and_a_place(town: str) -> None:
    graph = load(f"torchdrivesim:{town}")
    c = graph.columns
    assert len(c.signal_offset) > 0
    warnings = graph.notes["warnings"]
    lost = sum(int(one.split()[0]) for one in warnings if "lie across no lane" in one)  # told, as Town06 has one
    assert len(set(range(len(c.signal_offset))) - set(c.stop_signal.tolist())) <= lost <= 2
    assert not [one for one in warnings if "program" in one]


@pytest.fixture(scope="module", params=["game/cross/cross", "game/bs3d/bs", "game/A10KW/osm", "grid"])
def xodr(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An OpenDRIVE file that netconvert writes: of a net of SUMO's, or a grid with crossings and lights."""
    import sumo as package

    home, folder = Path(package.SUMO_HOME), tmp_path_factory.mktemp("xodr")
    net = home / "tools" / f"{request.param}.net.xml"
    if request.param == "grid":
        net = folder / "grid.net.xml"
        options = ["--grid", "--grid.number=3", "--crossings.guess", "--sidewalks.guess", "--tls.guess"]
        subprocess.run([home / "bin" / "netgenerate", *options, "-o", net], check=True, capture_output=True)
    path = folder / "a.xodr"
    subprocess.run(
        [home / "bin" / "netconvert", "-s", net, "--opendrive-output", path], check=True, capture_output=True
    )
    return path


def carla_map(path: Path) -> object:
    import carla

    return carla.Map(path.stem, path.read_text())


def assert_waypoints(path: Path) -> None:
    """CARLA's waypoints lie on our middles, and its links are ours where both lanes are there."""
    theirs = carla_map(path)
    lanes = {lane.id: lane for lane in opendrive.describe(path).lanes if lane.kind == 0}
    places: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for one in theirs.generate_waypoints(1.0):  # type: ignore[attr-defined]
        place = one.transform.location
        places[f"{one.road_id}.{one.section_id}.{one.lane_id}"].append((place.x, -place.y, one.lane_width))
    assert set(places) == set(lanes)
    for name, rows in places.items():
        distance, _ = nearest(np.asarray(lanes[name].middle), np.array(rows)[:, :2])
        assert distance.max() < 0.1, name
    links = {tuple(f"{w.road_id}.{w.section_id}.{w.lane_id}" for w in pair) for pair in theirs.get_topology()}  # type: ignore[attr-defined]
    ours = {(name, one) for name, lane in lanes.items() for one in lane.successors}
    assert {(a, b) for a, b in links if a in lanes and b in lanes and a != b} <= ours


def test_opendrive_lanes_are_carlas_within_a_tenth_of_a_metre(xodr: Path) -> None:
    assert_waypoints(xodr)


def test_a_small_opendrive_map_with_arcs_and_spirals_is_carlas(write) -> None:
    assert_waypoints(write("small.xodr"))


def lights() -> Iterator[str]:
    return (
        name for name in installed("sumo") if name.startswith(("cross", "fkk_in", "hiking", "RiLSA1/", "RealWorld"))
    )


def colour_at(signal: Signal, time: float) -> int:
    """The colour of a signal at a time."""
    left = (time + signal.offset) % sum(signal.seconds)
    return signal.colours[int(np.searchsorted(np.cumsum(signal.seconds), left, side="right"))]


RUN = """
import sys
sys.path += sys.argv[2:]
import libsumo
libsumo.start(["sumo", "-n", sys.argv[1], "--step-length", "1", "--no-step-log", "--no-warnings", "--end", "400"])
for _ in range(300):
    for light in libsumo.trafficlight.getIDList():
        print(libsumo.simulation.getTime(), light, libsumo.trafficlight.getRedYellowGreenState(light), sep="|")
    libsumo.simulationStep()
"""


@pytest.mark.parametrize("name", ["cross/cross", "RiLSA1/rilsa1", "RealWorld/RiLSA_example4/rilsa4"])
def test_signals_show_what_libsumo_shows(name: str) -> None:
    """A process of its own, for libsumo keeps its state in the process. Times of changes are left out."""
    path = find(f"sumo:{name}")
    told = subprocess.run(
        [sys.executable, "-c", RUN, path, *sys.path], check=True, capture_output=True, text=True
    ).stdout
    found = sumo.describe(path)
    signals, walked = {one.id: one for one in found.signals}, {one.signal for one in found.crossings}
    letters = {**dict.fromkeys("Gg", GREEN), **dict.fromkeys("yY", AMBER), **dict.fromkeys("ru", RED)}
    compared = 0
    for line in told.splitlines():
        if line.count("|") != 2:
            continue
        time, light, state = line.split("|")
        for index, letter in enumerate(state):
            signal = signals.get(f"{light}:{index}")
            if signal is not None and colour_at(signal, float(time) - 0.5) == colour_at(signal, float(time) + 0.5):
                # the signal of a crossing is what vehicles see while pedestrians go
                shown = (RED if letter in "Gg" else GREEN) if signal.id in walked else letters[letter]
                assert colour_at(signal, float(time)) == shown, (time, light, index)
                compared += 1
    assert compared > 1000


@pytest.mark.parametrize("package", ["torchdrivesim", "sumo"])
def test_maps_of_packages_are_graphs(package: str) -> None:
    rail = {"rail/net", "rail_demo/net"}
    names = set(installed(package)) - rail
    assert len(names) >= 7
    for name in names:
        assert len(load(f"{package}:{name}")) > 0
