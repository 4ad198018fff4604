"""Agent-steps per second of the kernel of towns, beside SUMO's own loop where ``libsumo`` is installed.

    python benchmarks/speed/town.py            # the peer is included where `pip install libsumo` has been run

One agent-step is one agent in one policy step of 0.2 s (two ticks), rules, collisions and events included; observations
are not. Rates are per second of CPU time of one thread, so that they mean something on a machine that is shared; parts
of a step are timed by leaving them out.
"""

import argparse
import statistics
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np

from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.town.atlas import Atlas, atlas
from tiltyard.envs.driving.town.collisions import collide
from tiltyard.envs.driving.town.state import ABSENT, SUBSTEPS, Batch, allocate, bytes_a_world
from tiltyard.envs.driving.town.step import begin_worlds, decide, step_worlds

PEER = "libsumo, IDM on a ring"


def begin(name: str, worlds: int, agents: int) -> tuple[Batch, Atlas]:
    """Worlds on one map that have run for a minute."""
    graph = make(name, 0)
    maps = atlas([graph])
    batch = allocate(worlds, agents, crossings=len(graph.columns.crossing))
    keys = np.random.default_rng(0).integers(0, 2**63, worlds).astype(np.uint64)
    mix = np.array([agents, 0.0, 0.0, 0.0])
    begin_worlds(batch, maps, np.arange(worlds), keys, np.zeros(worlds, np.int32), mix)
    step_worlds(batch, maps, np.ones(worlds, np.bool_), 600, 0, worlds)
    return batch, maps


def rate(batch: Batch, maps: Atlas, seconds: float) -> float:
    """Agent-steps per CPU second."""
    active = np.ones(len(batch.worlds), np.bool_)
    start, done = process_time(), 0
    while process_time() - start < seconds:
        for _ in range(5):
            step_worlds(batch, maps, active, SUBSTEPS, 0, len(active))
            done += int((batch.agents["controller"] != ABSENT).sum())
        batch.worlds["events"] = 0
    return done / (process_time() - start)


def parts(batch: Batch, maps: Atlas, seconds: float) -> tuple[float, float]:
    """Nanoseconds per agent and tick of deciding and of finding collisions (each called again on one state)."""
    present = int((batch.agents["controller"][0] != ABSENT).sum())
    costs = []
    for call in (
        lambda: decide(batch, maps, 0),
        lambda: collide(batch.worlds[0], batch.agents[0], batch.order[0], batch.events[0]),
    ):
        call()  # type: ignore[no-untyped-call]
        start, done = process_time(), 0
        while process_time() - start < seconds:
            for _ in range(200):
                call()  # type: ignore[no-untyped-call]
            done += 200
        costs.append(1e9 * (process_time() - start) / done / max(present, 1))
    batch.worlds["events"] = 0
    return costs[0], costs[1]


def sumo(seconds: float) -> float:
    """Vehicle-steps per CPU second of libsumo: IDM cars on a grid of signalled crossings, 0.2 s a step."""
    import libsumo  # type: ignore[import-not-found]
    import sumo as package  # type: ignore[import-not-found]

    with TemporaryDirectory() as folder:
        net, trips = Path(folder) / "net.xml", Path(folder) / "trips.xml"
        binary = Path(package.SUMO_HOME) / "bin" / "netgenerate"
        import subprocess

        subprocess.run(
            [binary, "--grid", "--grid.number=3", "--tls.guess=true", "-o", net], check=True, capture_output=True
        )
        flows = '<routes><vType id="c" carFollowModel="IDM"/>' + "".join(
            f'<flow id="f{i}" type="c" begin="0" end="9999" period="3" from="{a}" to="{b}"/>'
            for i, (a, b) in enumerate([("A0B0", "B2C2"), ("C2B2", "B0A0"), ("A2A1", "C1C0"), ("C0C1", "A1A2")])
        )
        trips.write_text(flows + "</routes>")
        libsumo.start(
            ["sumo", "-n", str(net), "-r", str(trips), "--step-length", "0.2", "--no-step-log", "--no-warnings"]
        )
        for _ in range(600):
            libsumo.simulationStep()
        start, done = process_time(), 0
        while process_time() - start < seconds:
            libsumo.simulationStep()
            done += libsumo.vehicle.getIDCount()
        spent = process_time() - start
        libsumo.close()
    return done / spent


def main() -> None:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="of CPU time, per contender and repeat")
    arguments = parser.parse_args()
    base = None
    if find_spec("libsumo") and find_spec("sumo"):
        base = statistics.median(sumo(arguments.seconds) for _ in range(arguments.repeats))
        print(f"{PEER}: {base:,.0f} vehicle-steps/s")
    print(f"{'':34}{'agent-steps/s':>14}{'ratio':>8}{'decide ns':>11}{'collide ns':>11}{'KB/world':>9}")
    for name in ("town", "intersection", "roundabout", "highway"):
        for agents in (32, 64):
            batch, maps = begin(name, 64, agents)
            value = statistics.median(rate(batch, maps, arguments.seconds) for _ in range(arguments.repeats))
            decided, collided = parts(batch, maps, 0.3)
            ratio = f"{value / base:.1f}x" if base else "-"
            row = f"{value:14,.0f}{ratio:>8}{decided:11,.0f}{collided:11,.0f}{bytes_a_world(batch) / 1000:9.1f}"
            print(f"{f'{name}, 64 worlds of {agents}':34}{row}")


if __name__ == "__main__":
    main()
