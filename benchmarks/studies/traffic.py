"""Whether rule-following traffic keeps the rules: collisions, red lights, stop signs and standstills on seven maps.

    python benchmarks/studies/traffic.py --steps 10000000
    python benchmarks/studies/traffic.py --steps 10000000 --jaywalkers 6 --parked 6
    python benchmarks/studies/traffic.py --sumo PYTHON    # the flow on a ring beside libsumo's, which PYTHON has

Worlds of 24 drivers (with pedestrians if asked for) run on every map of the catalogue, drawn from another seed each
round, until that many vehicle-steps (of 0.1 s) are done. A table a map shows vehicle-steps, events, mean speed and the
longest standstill. ``--careless`` shows that the counters count: a share of drivers then ignores the rules. Parked cars
and jaywalkers are per km of lane, on streets; collisions are those of anybody with anybody.

``--sumo`` is another study: a net that SUMO's netconvert makes, a ring, is read into a lane graph, and as many IDM
drivers with the same parameters go round it here and in libsumo; flows are density times mean speed after 5 minutes.
"""

import argparse
import json
import subprocess
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from tiltyard.envs.driving.maps.catalogue import NAMES, make
from tiltyard.envs.driving.maps.graph import DRIVING, LaneGraph
from tiltyard.envs.driving.maps.load import load
from tiltyard.envs.driving.town.atlas import Atlas, atlas
from tiltyard.envs.driving.town.jaywalkers import start_jaywalkers
from tiltyard.envs.driving.town.parked import park
from tiltyard.envs.driving.town.spawn import put
from tiltyard.envs.driving.town.state import (
    ARRIVAL,
    BRAKING,
    CAR,
    COLLISION,
    DRIVER,
    EVENTS,
    NONE,
    RED_LIGHT,
    RIGHT_OF_WAY,
    STANDSTILL,
    STOP_SIGN,
    WALKER,
    Batch,
    allocate,
)
from tiltyard.envs.driving.town.step import begin_worlds, step_worlds

COLUMNS = {
    "collisions": COLLISION,
    "red lights": RED_LIGHT,
    "stop signs": STOP_SIGN,
    "right of way": RIGHT_OF_WAY,
    "standstills": STANDSTILL,
    "hard braking": BRAKING,
    "trips": ARRIVAL,
}
WORLDS, MINUTES = 4, 10
MOST_KERBSIDE = 40  # parked cars, and jaywalkers, of a world
COUNTS = (30, 50, 80, 120)
"""Vehicles on the ring."""
SETTLE, WATCH = 3000, 600  # ticks
V0, HEADWAY, ACCEL, BRAKE, LENGTH, JAM_GAP = 15.0, 1.5, 1.5, 2.0, 4.8, 2.0  # as in sumo_ring.py


class Mix(NamedTuple):
    """Who is about in a world."""

    drivers: int = 24
    walkers: int = 0
    careless: float = 0.0  # share of drivers
    lorries: float = 0.08  # share of vehicles; as in driving scenes
    parked: float = 0.0  # per km of lane
    jaywalkers: float = 0.0


def begin(graph: LaneGraph, maps: Atlas, seed: int, mix: Mix) -> Batch:
    """WORLDS worlds with those of a mix for whom there is a place."""
    kilometres = float(graph.columns.length[graph.columns.kind == DRIVING].sum()) / 1000.0
    parked, jaywalkers = (min(int(one * kilometres + 0.5), MOST_KERBSIDE) for one in (mix.parked, mix.jaywalkers))
    first = mix.drivers + mix.walkers
    batch = allocate(WORLDS, first + parked + jaywalkers, crossings=len(graph.columns.crossing))
    keys = np.random.default_rng([7, seed]).integers(0, 2**63, WORLDS).astype(np.uint64)
    counts = np.array([mix.drivers, mix.walkers, mix.lorries, mix.careless])
    begin_worlds(batch, maps, np.arange(WORLDS), keys, np.zeros(WORLDS, np.int32), counts)
    for world in range(WORLDS):
        stream = keys[world : world + 1] ^ np.uint64(0x5EED)
        park(maps, batch, world, first, parked, stream)
        start_jaywalkers(maps, batch, world, first + parked, jaywalkers, stream)
    return batch


def crossed(batch: Batch) -> int:
    """Streets that jaywalkers have crossed."""
    jaywalkers = batch.agents[(batch.agents["controller"] == WALKER) & (batch.agents["target"] == NONE)]
    return int((jaywalkers["odometer"] // jaywalkers["gap"]).sum())


def one_round(name: str, seed: int, mix: Mix) -> tuple[Counter[str], float, float]:
    """WORLDS worlds for MINUTES; returns counts, the sum of speeds and the longest stand in s."""
    graph = make(name, seed)
    maps = atlas([graph])
    batch = begin(graph, maps, seed, mix)
    counts: Counter[str] = Counter()
    speeds = longest = 0.0
    active = np.ones(WORLDS, np.bool_)
    for _ in range(MINUTES * 60):
        step_worlds(batch, maps, active, 10, 0, WORLDS)
        driving = batch.agents["controller"] == DRIVER
        counts["vehicle-steps"] += 10 * int(driving.sum())
        speeds += 10.0 * float(batch.agents["v"][driving].sum())
        longest = max(longest, float(batch.agents["still"][driving].max(initial=0.0)))
        for world in range(WORLDS):
            found = int(batch.worlds["events"][world])
            counts["lost events"] += max(0, found - EVENTS)
            kinds = batch.events["kind"][world, : min(found, EVENTS)].tolist()
            counts.update(column for column, kind in COLUMNS.items() for one in kinds if one == kind)
        batch.worlds["events"] = 0
    counts["crossed"] = crossed(batch)
    return counts, speeds, longest


def ring_speed(graph: LaneGraph, count: int) -> float:
    """Mean speed of ``count`` IDM drivers, evenly spread at first, after five minutes on a ring."""
    maps, batch = atlas([graph]), allocate(1, count)
    batch.worlds["agents"] = count
    ends = np.cumsum(graph.columns.length)
    stream = np.ones(1, np.uint64)
    for k in range(count):
        car, s = batch.agents[0][k], k * float(ends[-1]) / count
        lane = int(np.searchsorted(ends, s, "right"))
        car["kind"], car["controller"], car["length"], car["width"] = CAR, DRIVER, LENGTH, 1.9
        car["pace"], car["desired"], car["headway"], car["accel"], car["brake"] = 1.0, V0, HEADWAY, ACCEL, BRAKE
        put(
            batch.worlds[0],
            stream,
            maps,
            car,
            batch.routes[0, k],
            lane,
            s - float(ends[lane] - graph.columns.length[lane]),
        )
        car["patience"] = 1e9
    total, active = 0.0, np.ones(1, np.bool_)
    step_worlds(batch, maps, active, SETTLE, 0, 1)
    for _ in range(WATCH):
        step_worlds(batch, maps, active, 1, 0, 1)
        total += float(batch.agents["v"].mean())
    return total / WATCH


def equilibrium(gap: float) -> float:
    """The speed at which IDM keeps a gap: of (s0 + v T) / sqrt(1 - (v / v0)^4) = gap."""
    speeds = np.linspace(0.0, 0.9999 * V0, 20_000)
    return float(np.interp(gap, (JAM_GAP + HEADWAY * speeds) / np.sqrt(1.0 - (speeds / V0) ** 4), speeds))


def fundamental(python: str) -> None:
    """Prints flows at four densities: IDM's equation, here, and in libsumo."""
    with TemporaryDirectory() as folder:
        script = Path(__file__).with_name("sumo_ring.py")
        command = [python, str(script), folder, *map(str, COUNTS)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"libsumo did not run in {python}:\n{done.stderr}")
        speeds = json.loads(done.stdout.splitlines()[-1])
        graph = load(Path(folder) / "ring.net.xml")
    around = float(graph.columns.length.sum())
    print(f"{'vehicles/km':>12}{'equation':>10}{'here':>10}{'libsumo':>10}  vehicles/h{'here / libsumo':>18}")
    for count in COUNTS:
        here, there = ring_speed(graph, count), speeds[str(count)]
        wanted = equilibrium(around / count - LENGTH)
        flows = "".join(f"{3600.0 * count / around * v:10,.0f}" for v in (wanted, here, there))
        print(f"{1000.0 * count / around:12.1f}{flows}{'':12}{here / there:18.3f}")


def main() -> None:
    """Runs and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000, help="vehicle-steps, over all maps")
    usual = Mix()
    parser.add_argument("--drivers", type=int, default=usual.drivers)
    parser.add_argument("--walkers", type=int, default=usual.walkers)
    parser.add_argument("--careless", type=float, default=usual.careless, help="share of drivers who ignore rules")
    parser.add_argument("--lorries", type=float, default=usual.lorries, help="share of vehicles")
    parser.add_argument("--parked", type=float, default=usual.parked, help="cars along the streets, per km of lane")
    parser.add_argument("--jaywalkers", type=float, default=usual.jaywalkers, help="likewise")
    parser.add_argument("--sumo", metavar="PYTHON", help="compare the flow on a ring with this interpreter's libsumo")
    arguments = parser.parse_args()
    if arguments.sumo:
        fundamental(arguments.sumo)
        return
    totals = {name: Counter[str]() for name in NAMES}
    speeds = dict.fromkeys(NAMES, 0.0)
    longest = dict.fromkeys(NAMES, 0.0)
    mix = Mix(*(getattr(arguments, name) for name in Mix._fields))
    seed = 0
    while sum(total["vehicle-steps"] for total in totals.values()) < arguments.steps:
        for name in NAMES:
            counts, speed, still = one_round(name, seed, mix)
            totals[name] += counts
            speeds[name] += speed
            longest[name] = max(longest[name], still)
        seed += 1
    print(f"{'map':18}{'vehicle-steps':>14}" + "".join(f"{one:>14}" for one in COLUMNS) + f"{'m/s':>8}{'stood s':>9}")
    for name, total in totals.items():
        row = "".join(f"{total[one]:14,}" for one in COLUMNS)
        steps = max(total["vehicle-steps"], 1)
        print(f"{name:18}{steps:14,}{row}{speeds[name] / steps:8.2f}{longest[name]:9.1f}")
    everything = sum(total["vehicle-steps"] for total in totals.values())
    lost = sum(total["lost events"] for total in totals.values())
    print(f"{everything:,} vehicle-steps, maps of {seed} seeds; {lost} events lost")
    if mix.jaywalkers:
        print(f"{sum(total['crossed'] for total in totals.values()):,} streets crossed by jaywalkers")


if __name__ == "__main__":
    main()
