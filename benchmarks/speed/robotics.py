"""Environment steps a second of the MuJoCo twins beside Gymnasium's vectors, EnvPool and MuJoCo's bare ``rollout``.

    python benchmarks/speed/robotics.py                                    # HalfCheetah-v5
    python benchmarks/speed/robotics.py --tasks Hopper-v5 Ant-v5 --envpool /path/to/python
    python benchmarks/speed/robotics.py --envpool /path/to/python --out docs/results/robotics-speed [--page]

Every contender steps for a moment, in turn, several times over; the tables show medians, and ratios within the run. The
bare rollout computes no observation, reward, info or reset and loses the solver's warm start between actions: it is the
physics' own limit. AsyncVectorEnv takes a process per environment.

EnvPool takes its turns in a process of its own, whose interpreter ``--envpool`` names: its wheels pin other libraries
than ours (``python -m venv X && X/bin/pip install 'envpool<1.2.6'``; from 1.2.6 on they need Python 3.12).
``--out`` keeps all rates, and a page of them, in a folder.
"""

import argparse
import os
import statistics
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv
from mujoco.rollout import Rollout

from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.studies._study import keep, write_again
from tiltyard.envs.catalogue import register_all

NUM_ENVS = 64  # of every vector but where more are named
MORE = (64, 128, 256)  # of ours
THREADS = (1, 2)
FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS.value
RESTART = {"Hopper-v5": 20, "Walker2d-v5": 20, "Ant-v5": 120}  # actions that random ones survive, else 1000
CHILD = """
import sys, time
from importlib.metadata import version
import envpool, numpy as np
name, n, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
env = envpool.make(name, env_type="gymnasium", num_envs=n, num_threads=threads, batch_size=n, seed=0)
low, high = env.action_space.low, env.action_space.high
actions = np.random.default_rng(0).uniform(low, high, (200, n, *low.shape))
env.reset()
print(version("envpool"), flush=True)
count = 0
for line in sys.stdin:
    begun, total = time.perf_counter(), 0
    while (spent := time.perf_counter() - begun) < float(line):
        env.step(actions[count % 200])
        count, total = count + 1, total + n
    print(total / spent, flush=True)
"""

Contender = Callable[[float], float]  # steps for about so many seconds, returns steps a second


def repeated(step: Callable[[], int]) -> Contender:
    """A contender of a function that steps once and says how many environment steps that was."""

    def measure(seconds: float) -> float:
        start, total = perf_counter(), 0
        while (spent := perf_counter() - start) < seconds:
            total += step()
        return total / spent

    return measure


def single(name: str) -> Contender:
    """Gymnasium's own environment, reset at its ends."""
    env = gymnasium.make(name)
    env.reset(seed=0)
    space: Any = env.action_space
    actions = np.random.default_rng(0).uniform(space.low, space.high, (1000, *space.shape)).astype(np.float32)
    count = 0

    def step() -> int:
        nonlocal count
        _, _, terminated, truncated, _ = env.step(actions[count % 1000])
        count += 1
        if terminated or truncated:
            env.reset()
        return 1

    return repeated(step)


def vector(env: VectorEnv[Any, Any, Any]) -> Contender:
    """A vector environment under random actions."""
    env.reset(seed=0)
    space: Any = env.action_space
    actions = np.random.default_rng(0).uniform(space.low, space.high, (200, *space.shape)).astype(np.float32)
    count = 0

    def step() -> int:
        nonlocal count
        env.step(actions[count % 200])
        count += 1
        return env.num_envs

    return repeated(step)


def ours(name: str, num_envs: int, threads: int) -> VectorEnv[Any, Any, Any]:
    """Our native vector."""
    how: dict[str, Any] = {"num_envs": num_envs, "vectorization_mode": "vector_entry_point", "nthread": threads}
    return gymnasium.make_vec(f"tiltyard/{name}", **how)


def bare_rollout(name: str, threads: int) -> Contender:
    """``mujoco.rollout`` alone: states, one action each, the frame skip inside; they restart as random episodes end."""
    env: Any = ours(name, 1, 1)
    model, skip, restart = env.batched.model, env.batched.frame_skip, RESTART.get(name, 1000)
    data = [mujoco.MjData(model) for _ in range(threads)]
    first = np.empty(mujoco.mj_stateSize(model, FULL))
    mujoco.mj_getState(model, data[0], first, FULL)
    start = np.tile(first, (NUM_ENVS, 1))
    start[:, 1 : 1 + model.nq] += np.random.default_rng(1).uniform(-0.005, 0.005, (NUM_ENVS, model.nq))
    low, high = model.actuator_ctrlrange.T
    actions = np.random.default_rng(0).uniform(low, high, (200, NUM_ENVS, 1, model.nu))
    out, sensors = np.empty((NUM_ENVS, skip, len(first))), np.empty((NUM_ENVS, skip, model.nsensordata))
    pool, models, warm = (
        Rollout(nthread=threads if threads > 1 else 0),
        [model] * NUM_ENVS,
        np.zeros((NUM_ENVS, model.nv)),
    )
    count, state = 0, start

    def step() -> int:
        nonlocal count, state
        pool.rollout(
            models,
            data,
            start if count % restart == 0 else state,
            np.repeat(actions[count % 200], skip, axis=1),
            skip_checks=True,
            nstep=skip,
            initial_warmstart=warm,
            state=out,
            sensordata=sensors,
        )
        state = out[:, -1].copy()
        count += 1
        return NUM_ENVS

    return repeated(step)


def envpool(python: str, name: str) -> tuple[str, Contender]:
    """EnvPool on two threads in a process of its own, and its version."""
    command = [python, "-c", CHILD, name, str(NUM_ENVS), str(THREADS[-1])]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    said, heard = child.stdin, child.stdout

    def measure(seconds: float) -> float:
        said.write(f"{seconds}\n")
        said.flush()
        return float(heard.readline())

    version = heard.readline().strip()
    if not version:
        raise SystemExit(f"{python} could not run envpool: install it there by `pip install 'envpool<1.2.6'`")
    return version, measure


def contenders(name: str, python: str | None) -> dict[str, Contender]:
    """All of them, in the table's order."""
    makers = [lambda: gymnasium.make(name)] * NUM_ENVS
    found = {
        "gymnasium, 1 env": single(name),
        f"gymnasium SyncVectorEnv, {NUM_ENVS} environments": vector(SyncVectorEnv(makers)),
        f"gymnasium AsyncVectorEnv, {NUM_ENVS} environments": vector(AsyncVectorEnv(makers)),
    }
    if python:
        version, found_envpool = envpool(python, name)
        found[f"EnvPool {version}, {NUM_ENVS} environments, {THREADS[-1]} threads"] = found_envpool
    for threads in THREADS:
        on = f"{threads} threads" if threads > 1 else "1 thread"
        found[f"bare rollout, {NUM_ENVS} states, {on}"] = bare_rollout(name, threads)
        for num_envs in MORE:
            found[f"ours, {num_envs} environments, {on}"] = vector(ours(name, num_envs, threads))
    return found


def measure(name: str, python: str | None, repeats: int, seconds: float) -> dict[str, list[float]]:
    """Steps a second of each contender in each repeat, which they take in turns."""
    measured = contenders(name, python)
    rates: dict[str, list[float]] = {key: [] for key in measured}
    for _ in range(repeats):
        for key, contender in measured.items():
            contender(seconds)  # threads that have slept need a moment to find their processors again
            rates[key].append(contender(seconds))
    return rates


def kilobytes_per_env(name: str, num_envs: int = 4096) -> float:
    """Resident memory of ``num_envs`` further environments after a step, over their number: all but MuJoCo's data.

    MuJoCo's own data are one ``MjData`` a thread, whatever the number of environments.
    """

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    few = ours(name, NUM_ENVS, 2)
    vector(few)(0.01)
    before = resident()
    many = ours(name, num_envs, 2)
    many.reset(seed=0)
    many.step(np.zeros(many.action_space.shape, np.float32))  # type: ignore[arg-type]
    return (resident() - before) / num_envs / 1000


def table(rates: Mapping[str, Sequence[float]]) -> list[list[str]]:
    """A head and rows: median rates, and their ratios to what stands in the columns' heads."""
    medians = {key: statistics.median(values) for key, values in rates.items()}
    heads = {"gymnasium, 1": "x single", "gymnasium Async": "x async", "EnvPool": "x EnvPool"}
    peers = [(head, rate) for start, head in heads.items() for key, rate in medians.items() if key.startswith(start)]
    rows = [["", "steps/s", *(head for head, _ in peers), "x rollout"]]
    for key, value in medians.items():
        bare = f"bare rollout, {NUM_ENVS} states, {key.rpartition(', ')[2]}"  # of as many threads
        beside = f"{value / medians[bare]:.2f}" if key.startswith("ours") else ""
        rows.append([key, f"{value:,.0f}", *(f"{value / rate:.2f}" for _, rate in peers), beside])
    return rows


def page(found: Mapping[str, Any]) -> str:
    """The page of ``results.json``."""
    tasks = {name: {**told, "table": table(told["rates"])} for name, told in found["tasks"].items()}
    return render("robotics_speed.md.jinja", **{**found, "tasks": tasks})


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", default=["HalfCheetah-v5"], help="Gymnasium ids")
    parser.add_argument("--envpool", help="a Python interpreter that has EnvPool")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each turn, after as long unmeasured")
    parser.add_argument("--out", type=Path, help="keep results.json and a page of it in this folder")
    parser.add_argument("--page", action="store_true", help="write the page again, from results.json in --out")
    given = parser.parse_args()
    if given.page:
        if given.out is None:
            parser.error("--page needs --out")
        write_again(given.out, page)
        return
    register_all()
    print(f"MuJoCo {mujoco.__version__}, Gymnasium {gymnasium.__version__}, {os.cpu_count()} processors")
    tasks = {}
    for name in given.tasks:
        rates = measure(name, given.envpool, given.repeats, given.seconds)
        tasks[name] = {"rates": rates, "kilobytes": kilobytes_per_env(name)}
        print(f"\n{name}")
        for first, *others in table(rates):
            print(f"  {first:<42}{others[0]:>9}" + "".join(f"{cell:>11}" for cell in others[1:]))
        print(f"  memory per environment: {tasks[name]['kilobytes']:.1f} kB")
    if given.out:
        keep(given.out, {"repeats": given.repeats, "seconds": given.seconds, "tasks": tasks}, page)


if __name__ == "__main__":
    main()
