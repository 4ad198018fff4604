"""What other simulators of traffic do in a second of CPU time; run by ``town.py``, in the interpreter that has them.

    python benchmarks/speed/town_peers.py NAME SECONDS    # prints one line of JSON; without NAME: all names

Imports nothing of ours, so that the peers may live in an environment of their own.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

HIGHWAY_ENV = ("highway-fast-v0", "merge-v0", "roundabout-v0", "intersection-v0")
ENVPOOL = ("HighwayFast-v0", "Merge-v0", "Roundabout-v0", "Intersection-v0")
SUMO = "IDM, grid of signalled crossings"
Rates = dict[str, float]


def highway_env(task: str, seconds: float) -> Rates:
    """Random manoeuvres, resets included; vehicles of the scene are counted."""
    import gymnasium
    import highway_env
    import numpy as np

    gymnasium.register_envs(highway_env)
    env: Any = gymnasium.make(task)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    start, steps, agents = process_time(), 0, 0
    while process_time() - start < seconds:
        _, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
        steps += 1
        agents += len(env.unwrapped.road.vehicles)
        if terminated or truncated:
            env.reset()
    spent = process_time() - start
    return {"ego": steps / spent, "agents": agents / spent}


def envpool(task: str, seconds: float) -> Rates:
    """Random manoeuvres in 64 environments on one thread, resets included; how many vehicles they have is not told."""
    import envpool  # type: ignore[import-not-found]
    import numpy as np

    envs = envpool.make(task, env_type="gymnasium", num_envs=64, num_threads=1)
    envs.reset()
    actions = np.random.default_rng(0).integers(0, envs.action_space.n, (64, 64))
    start, steps = process_time(), 0
    while process_time() - start < seconds:
        envs.step(actions[steps % 64])
        steps += 1
    return {"ego": 64 * steps / (process_time() - start)}


def libsumo(task: str, seconds: float) -> Rates:
    """IDM cars on a grid of signalled crossings, 0.2 s a step; no ego, nothing is observed."""
    import libsumo  # type: ignore[import-not-found]
    import sumo  # type: ignore[import-not-found]

    with TemporaryDirectory() as folder:
        net, trips = Path(folder) / "net.xml", Path(folder) / "trips.xml"
        binary = Path(sumo.SUMO_HOME) / "bin" / "netgenerate"
        grid = [str(binary), "--grid", "--grid.number=3", "--tls.guess=true", "-o", str(net)]
        subprocess.run(grid, check=True, capture_output=True)
        ways = [("A0B0", "B2C2"), ("C2B2", "B0A0"), ("A2A1", "C1C0"), ("C0C1", "A1A2")]
        flows = "".join(
            f'<flow id="f{i}" type="c" begin="0" end="9999" period="3" from="{a}" to="{b}"/>'
            for i, (a, b) in enumerate(ways)
        )
        trips.write_text(f'<routes><vType id="c" carFollowModel="IDM"/>{flows}</routes>')
        quiet = ["--step-length", "0.2", "--no-step-log", "--no-warnings"]
        libsumo.start(["sumo", "-n", str(net), "-r", str(trips), *quiet])
        for _ in range(600):
            libsumo.simulationStep()
        start, agents = process_time(), 0
        while process_time() - start < seconds:
            libsumo.simulationStep()
            agents += libsumo.vehicle.getIDCount()
        spent = process_time() - start
        libsumo.close()
    return {"agents": agents / spent}


PEERS: dict[str, tuple[str, str, Callable[[str, float], Rates]]] = {
    **{f"highway-env {task}": ("highway-env", task, highway_env) for task in HIGHWAY_ENV},
    **{f"EnvPool {task}": ("envpool", task, envpool) for task in ENVPOOL},
    f"libsumo {SUMO}": ("libsumo", SUMO, libsumo),
}
"""By name: the distribution, its task, and what measures it."""


def main() -> None:
    """Prints the rates of one peer, or its absence."""
    if len(sys.argv) < 2:
        print("\n".join(PEERS))
        return
    package, task, measure = PEERS[sys.argv[1]]
    if find_spec(package.replace("-", "_")) is None:
        print(json.dumps({"missing": package}))
        return
    rates = measure(task, float(sys.argv[2]))
    print(json.dumps({**rates, "version": version(package)}))


if __name__ == "__main__":
    main()
