"""Does stream-x learn from single samples where others do not?

Three agents learn from one environment, one sample at a time, each used once and forgotten, with one set of settings
for all tasks:

* stream-x, with its defaults;
* A2C of Stable-Baselines3 with one environment and updates of one step: batch 1, no buffer, all else its defaults
  (PPO has no such form: an advantage normalised within a batch of one is nothing);
* stream-x without the bound on its steps: ObGD replaced by plain gradient descent with the same traces, networks and
  normalisation. Its step size is the best of 1e-2, 1e-3, 3e-4 and 1e-4 in a trial with two other seeds on CartPole and
  InvertedPendulum.

Scored is the mean return of the episodes that end in the last quarter of training, exploration included, as a stream
learner is judged while it acts; 0 is a random policy, 1 a solved task. The effect compares stream-x with whichever of
the two others has the higher interquartile mean.
"""

import tracemalloc
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import torch as th
from stable_baselines3 import A2C
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

from ...agents.control.stream_x import StreamAC
from ...envs.catalogue import find
from ...wrappers.spaces import sb3_env
from ..statistics import Floats, Interval, bootstrap_interval, iqm
from .claim import Claim, Measurement

CLAIM = Claim(
    handle="stream-x",
    sentence="With one set of hyperparameters stream-x learns from single samples, without replay or batches, where "
    "other methods so restricted fail (Elsayed, Vasan and Mahmood 2024, abstract)",
    effect="IQM of stream-x's normalised return minus that of the better of batch-1 A2C and stream-x without ObGD",
)

_HOPPER = find("tiltyard/Hopper-v5")
TASKS: dict[str, tuple[float, float]] = {  # return of a random policy, and of a solved task (Gymnasium's thresholds)
    "CartPole-v1": (22.0, 475.0),
    "Acrobot-v1": (-500.0, -100.0),
    "InvertedPendulum-v5": (6.0, 950.0),
    "tiltyard/Hopper-v5": (_HOPPER.random_score, _HOPPER.expert_score),
}
SEEDS = 5
STEPS = 6500
SGD_STEP = 3e-4
UNBOUNDED: dict[str, Any] = {"kappa_policy": 0.0, "kappa_value": 0.0}
AGENTS: dict[str, Callable[[Any, int], BaseAlgorithm]] = {
    "stream-x": lambda env, seed: StreamAC("MlpPolicy", env, seed=seed),
    "A2C, batch 1": lambda env, seed: A2C("MlpPolicy", env, n_steps=1, seed=seed, device="cpu"),
    "stream-x without ObGD": lambda env, seed: StreamAC(
        "MlpPolicy", env, seed=seed, learning_rate=SGD_STEP, **UNBOUNDED
    ),
}


class _Returns(BaseCallback):
    """Keeps the returns of episodes that end in the last quarter of training."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[float] = []

    def _on_step(self) -> bool:
        if self.num_timesteps > 0.75 * self.model._total_timesteps:
            self.found += [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
        return True


def normalized(task: str, score: float) -> float:
    """0 for a random policy, 1 for a solved task."""
    low, high = TASKS[task]
    return (score - low) / (high - low)


def final_return(name: str, task: str, seed: int) -> float:
    """Trains one agent and returns its normalised return in the last quarter; random's where it broke down.

    An agent breaks down when its outputs are no longer numbers, which both libraries report as a ``ValueError``.
    """
    env, returns = sb3_env(task, 1, seed=seed), _Returns()
    try:
        AGENTS[name](env, seed).learn(STEPS, callback=returns)
    except ValueError as error:
        if "nan" not in str(error) and "diverged" not in str(error):
            raise
        return 0.0
    finally:
        env.close()
    return normalized(task, float(np.mean(returns.found)))


def kilobytes_gained(task: str = "CartPole-v1", *, start: int = 1000, steps: int = 2000) -> float:
    """Memory that stream-x gains over ``steps`` steps after the first ``start``, which fill SB3's episode statistics.

    Counts Python's and NumPy's allocations and the tensors of its checkpoint.
    """
    agent = StreamAC("MlpPolicy", sb3_env(task, 1, seed=0), seed=0, stats_window_size=10)
    agent.learn(start)
    tracemalloc.start()
    try:
        agent.learn(100, reset_num_timesteps=False)
        before = tracemalloc.get_traced_memory()[0] + _tensor_bytes(agent.get_parameters())
        agent.learn(steps, reset_num_timesteps=False)
        after = tracemalloc.get_traced_memory()[0] + _tensor_bytes(agent.get_parameters())
    finally:
        tracemalloc.stop()
    return (after - before) / 1024


def _tensor_bytes(state: Any) -> int:
    if isinstance(state, th.Tensor):
        return state.nbytes
    parts = state.values() if isinstance(state, dict) else state if isinstance(state, list) else ()
    return sum(map(_tensor_bytes, parts))


def _lead(scores: Floats) -> float:
    """IQM of the first block of columns minus the larger IQM of the other two."""
    ours, *others = np.split(scores, 3, axis=1)
    return iqm(ours) - max(map(iqm, others))


def _interval(scores: Floats, statistic: Callable[[Floats], float], index: int) -> Interval:
    return bootstrap_interval(scores, statistic, rng=np.random.default_rng([2410, index]))


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains all agents on all tasks with ``seeds`` seeds (5 by default), on one thread: about six minutes."""
    count = SEEDS if seeds is None else seeds
    scores = {
        name: np.array([[final_return(name, task, seed) for task in TASKS] for seed in range(count)]) for name in AGENTS
    }
    details = {
        "seeds": count,
        "steps": STEPS,
        "normalised return, IQM over tasks": {
            name: asdict(_interval(values, iqm, i)) for i, (name, values) in enumerate(scores.items())
        },
        "mean normalised return by task": {
            name: dict(zip(TASKS, values.mean(axis=0).round(3).tolist(), strict=True))
            for name, values in scores.items()
        },
        "deviation over seeds by task": {
            name: dict(zip(TASKS, values.std(axis=0).round(3).tolist(), strict=True)) for name, values in scores.items()
        },
        "kilobytes stream-x gained in 2000 steps": round(kilobytes_gained(), 1),
        "step size without ObGD": SGD_STEP,
    }
    return Measurement(_interval(np.hstack(list(scores.values())), _lead, 9), details)
