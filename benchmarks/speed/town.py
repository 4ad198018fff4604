"""Agent-steps per second of the towns, beside highway-env, EnvPool and libsumo in one run.

    python benchmarks/speed/town.py --peers PYTHON    # the interpreter that has them; of those it lacks it says so

One agent-step is one agent in one policy step of 0.2 s (two ticks), rules, collisions and events included. First the
kernel alone; then whole ``env.step`` calls, with observations, rewards, infos and resets, where the agents of policies
are driven by the scripted expert, whose own time is not counted; then the peers. All rates are per second of CPU time
of one thread, so that they mean something on a machine that is shared; contenders take turns. With ``--threads 2`` the
environments share their worlds among two threads, and their rates are per second on the clock: for an idle machine.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from tiltyard.benchmarks.speed.town_peers import PEERS, SUMO
from tiltyard.envs.driving.maps.catalogue import make
from tiltyard.envs.driving.scenarios.driving import DrivingVectorEnv
from tiltyard.envs.driving.scenarios.library import library
from tiltyard.envs.driving.scenarios.self_play import SelfPlayVectorEnv
from tiltyard.envs.driving.town.atlas import Atlas, atlas
from tiltyard.envs.driving.town.state import ABSENT, SUBSTEPS, Batch, allocate, bytes_a_world
from tiltyard.envs.driving.town.step import begin_worlds, step_worlds

WORLDS = 64
EGOS = {"vector": 16_384, "bev": 4096}  # the more environments share a step, the less NumPy and Python cost each
SLOTS = 16_384
Rates = dict[str, float]
Contender = Callable[[float], Rates]


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


def kernel(name: str, agents: int) -> Contender:
    """Agent-steps/s of WORLDS worlds of scripted drivers."""
    batch, maps = begin(name, WORLDS, agents)
    active = np.ones(WORLDS, np.bool_)

    def measure(seconds: float) -> Rates:
        start, done = process_time(), 0
        while process_time() - start < seconds:
            for _ in range(20):
                step_worlds(batch, maps, active, SUBSTEPS, 0, WORLDS)
                batch.worlds["events"] = 0
            done += 20 * int((batch.agents["controller"] != ABSENT).sum())
        rate = done / (process_time() - start)
        return {"agents": rate, "bytes": bytes_a_world(batch)}

    return measure


def environment(envs: Any, policies: int, clock: Callable[[], float]) -> Contender:
    """Steps/s of whole ``env.step`` calls under the expert: of policies' agents, and of all agents."""
    envs.reset(seed=0)
    batched = envs.batched
    envs.step(batched.expert_actions())  # compiles what is not compiled

    def measure(seconds: float) -> Rates:
        spent, egos, agents = 0.0, 0, 0
        while spent < seconds:
            actions = batched.expert_actions()
            start = clock()
            envs.step(actions)
            spent += clock() - start
            egos += envs.num_envs
            agents += int((batched.agents["controller"] != ABSENT).sum())
        size = bytes_a_world(batched.batch) + policies * batched.episodes.itemsize
        return {"ego": egos / spent, "agents": agents / spent, "bytes": size}

    return measure


def environments(threads: int) -> dict[str, Contender]:
    """One ego among 16 scripted vehicles, by vector and by raster, and self-play."""
    found: dict[str, Contender] = {}
    clock = process_time if threads == 1 else perf_counter
    for observation, egos in EGOS.items():
        settings: dict[str, Any] = {"scene": "intersection", "maps": 1, "pedestrians": 0, "threads": threads}
        settings["observation"] = observation
        kilometres = float(library("intersection", "train", 1).places.kilometres[0])
        ego: Any = DrivingVectorEnv(egos, action="discrete", density=16.0 / kilometres, **settings)
        found[f"ego and 16 scripted vehicles, {observation}"] = environment(ego, 1, clock)
    for agents in (32, 64):
        settings = {"agents": agents, "action": "discrete", "maps": 1, "density": 0.0, "pedestrians": 0}
        envs = SelfPlayVectorEnv(SLOTS, threads=threads, **settings)
        found[f"self-play, {agents} policies a world"] = environment(envs, agents, clock)
    return found


def peer(python: str, name: str) -> Contender:
    """A simulator in its own interpreter."""

    def measure(seconds: float) -> Rates:
        script = Path(__file__).with_name("town_peers.py")
        done = subprocess.run([python, script, name, str(seconds)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name} did not run in {python}:\n{done.stderr}")
        return dict(json.loads(done.stdout.splitlines()[-1]))

    return measure


def median(rates: list[Rates], key: str) -> float | None:
    """Of the repeats; None where a contender has no such rate."""
    values = [one[key] for one in rates if key in one]
    return statistics.median(values) if values else None


def report(rates: dict[str, list[Rates]], peers: dict[str, list[Rates]]) -> None:
    """Prints the tables; ratios are to libsumo's vehicle-steps and to the fastest EnvPool task."""
    base = median(peers.get(f"libsumo {SUMO}", []), "agents")
    egos = [value for name, one in peers.items() if name.startswith("EnvPool") and (value := median(one, "ego"))]
    best = max(egos, default=None)
    columns = (("agents", "agent-steps/s", base), ("ego", "ego-steps/s", best))
    print(f"{'':44}" + "".join(f"{title:>15}{'ratio':>8}" for _, title, _ in columns) + f"{'KB/world':>10}")
    for name, one in {**rates, **peers}.items():
        if "missing" in one[0]:
            print(f"{name:44} {one[0]['missing']} is not installed")
            continue
        row = f"{name:44}"
        for key, _, beside in columns:
            value = median(one, key)
            row += f"{value:15,.0f}" if value else f"{'-':>15}"
            row += f"{value / beside:7.1f}x" if value and beside else f"{'-':>8}"
        size = median(one, "bytes")
        print(row + (f"{size / 1000:10.1f}" if size else f"{'-':>10}"))


def main() -> None:
    """Measures and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="of CPU time, per contender and repeat")
    parser.add_argument("--threads", type=int, default=1, help="of the environments; with more the clock counts")
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="interpreter that has the peers")
    arguments = parser.parse_args()
    ours = {
        f"kernel, {name}, {WORLDS} worlds of {agents}": kernel(name, agents)
        for name in ("town", "intersection", "roundabout", "highway")
        for agents in (32, 64)
    }
    ours |= environments(arguments.threads)
    others = {name: peer(arguments.peers, name) for name in PEERS}
    rates: dict[str, list[Rates]] = {name: [] for name in (*ours, *others)}
    for _ in range(arguments.repeats):
        for name, measure in (*ours.items(), *others.items()):
            rates[name].append(measure(arguments.seconds))
    report({name: rates[name] for name in ours}, {name: rates[name] for name in others})


if __name__ == "__main__":
    main()
