"""Environment steps a second of the runners, beside Gymnasium's own and beside MuJoCo's bare ``rollout``.

``python benchmarks/speed/robotics.py`` prints medians over interleaved repeats, and ratios within the same run: to
Gymnasium's SyncVectorEnv, and to the bare rollout with as many threads (which computes no observation, reward, info or
reset, and loses the solver's warm start between actions).
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.vector import SyncVectorEnv
from mujoco.rollout import Rollout

from tiltyard.envs.robotics.ant import AntVectorEnv
from tiltyard.envs.robotics.batched import model_path
from tiltyard.envs.robotics.locomotion import HalfCheetahVectorEnv, HopperVectorEnv, Walker2dVectorEnv

LANES, REPEATS, SECONDS = 64, 7, 0.4
TASKS: dict[str, tuple[Any, str, int]] = {
    "HalfCheetah-v5": (HalfCheetahVectorEnv, "half_cheetah.xml", 5),
    "Hopper-v5": (HopperVectorEnv, "hopper.xml", 4),
    "Walker2d-v5": (Walker2dVectorEnv, "walker2d_v5.xml", 4),
    "Ant-v5": (AntVectorEnv, "ant.xml", 5),
}
FULL = mujoco.mjtState.mjSTATE_FULLPHYSICS.value
Contender = Callable[[], int]  # takes one batched step, returns how many environment steps that was


def gymnasium_single(name: str) -> Contender:
    """Gymnasium's own environment, reset at its ends."""
    env = gymnasium.make(name)
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-1, 1, (1000, *env.action_space.shape)).astype(np.float32)  # type: ignore[misc]
    count = 0

    def step() -> int:
        nonlocal count
        _, _, terminated, truncated, _ = env.step(actions[count % 1000])
        count += 1
        if terminated or truncated:
            env.reset()
        return 1

    return step


def vector(env: gymnasium.vector.VectorEnv) -> Contender:
    """A vector environment under random actions."""
    env.reset(seed=0)
    batch = np.random.default_rng(0).uniform(-1, 1, (200, *env.action_space.shape)).astype(np.float32)  # type: ignore[misc]
    count = 0

    def step() -> int:
        nonlocal count
        env.step(batch[count % 200])
        count += 1
        return env.num_envs

    return step


def bare_rollout(xml: str, skip: int, threads: int) -> Contender:
    """``mujoco.rollout`` alone: 64 states, one action each, the frame skip inside; states restart every 50 actions."""
    model = mujoco.MjModel.from_xml_path(str(model_path(xml)))
    data = [mujoco.MjData(model) for _ in range(threads)]
    first = np.empty(mujoco.mj_stateSize(model, FULL))
    mujoco.mj_getState(model, data[0], first, FULL)
    start = np.tile(first, (LANES, 1))
    start[:, 1 : 1 + model.nq] += np.random.default_rng(1).uniform(-0.005, 0.005, (LANES, model.nq))
    batch = np.random.default_rng(0).uniform(-1, 1, (200, LANES, 1, model.nu))
    out, sensors = np.empty((LANES, skip, len(first))), np.empty((LANES, skip, model.nsensordata))
    pool, models, warm = Rollout(nthread=threads if threads > 1 else 0), [model] * LANES, np.zeros((LANES, model.nv))
    count, state = 0, start

    def step() -> int:
        nonlocal count, state
        control = np.repeat(batch[count % 200], skip, axis=1)
        pool.rollout(
            models,
            data,
            start if count % 50 == 0 else state,
            control,
            skip_checks=True,
            nstep=skip,
            initial_warmstart=warm,
            state=out,
            sensordata=sensors,
        )
        state = out[:, -1].copy()
        count += 1
        return LANES

    return step


def rate(step: Contender) -> float:
    """Steps a second over about ``SECONDS``."""
    total, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < SECONDS:
        total += step()
    return total / spent


def measure(name: str) -> dict[str, float]:
    """Median steps a second of each contender, their repeats taken in turns."""
    native, xml, skip = TASKS[name]
    contenders: dict[str, Contender] = {
        "gymnasium, 1 env": gymnasium_single(name),
        f"gymnasium SyncVectorEnv, {LANES} lanes": vector(SyncVectorEnv([lambda: gymnasium.make(name)] * LANES)),
        "ours, 1 lane": vector(native(1, max_episode_steps=1000)),
    }
    for threads in (1, 2):
        contenders[f"bare rollout, {LANES} states, {threads} threads"] = bare_rollout(xml, skip, threads)
        env = native(LANES, max_episode_steps=1000, nthread=threads)
        contenders[f"ours, {LANES} lanes, {threads} threads"] = vector(env)
    rates: dict[str, list[float]] = {key: [] for key in contenders}
    for _ in range(REPEATS):
        for key, step in contenders.items():
            rates[key].append(rate(step))
    return {key: statistics.median(values) for key, values in rates.items()}


def main() -> None:
    """Prints the tables."""
    for name in TASKS:
        medians = measure(name)
        sync = medians[f"gymnasium SyncVectorEnv, {LANES} lanes"]
        print(f"\n{name}{'steps/s':>38}{'x sync':>9}{'x rollout':>11}")
        for key, value in medians.items():
            threads = key[-9:] if key.startswith(f"ours, {LANES}") else None
            bare = f"{value / medians[f'bare rollout, {LANES} states, {threads}']:11.2f}" if threads else ""
            print(f"  {key:<40}{value:>9,.0f}{value / sync:>9.2f}{bare}")


if __name__ == "__main__":
    main()
