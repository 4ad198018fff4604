"""Stream learners: agents that see one sample at a time, scored by the episodes of their last quarter of training."""

import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch as th
from stable_baselines3 import A2C
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback

from ...agents.control.stream_x import StreamAC
from ...wrappers.spaces import sb3_env
from ..statistics import Floats

TASKS: dict[str, tuple[float, float]] = {  # return of a random policy, and of a solved task (Gymnasium's thresholds)
    "CartPole-v1": (22.0, 475.0),
    "Acrobot-v1": (-500.0, -100.0),
    "InvertedPendulum-v5": (6.0, 950.0),
}
Learner = Callable[[Any, float, int], BaseAlgorithm]
"""Makes an agent for an environment, a multiple of its steps' usual size, and a seed."""
A2C_RATE, SGD_RATE = 7e-4, 3e-4
"""What multiples are of: A2C's default in Stable-Baselines3, and a step that plain gradient descent can take."""


def stream_ac(env: Any, rate: float, seed: int) -> BaseAlgorithm:
    """stream-x with bounds on its steps ``rate`` times as wide; its learning rate alone does nothing within them."""
    return StreamAC("MlpPolicy", env, seed=seed, kappa_policy=3.0 / rate, kappa_value=2.0 / rate)


def one_step_a2c(env: Any, rate: float, seed: int) -> BaseAlgorithm:
    """A2C of Stable-Baselines3 with updates of one step, all else its defaults."""
    return A2C("MlpPolicy", env, n_steps=1, seed=seed, device="cpu", learning_rate=rate * A2C_RATE)


def without_obgd(env: Any, rate: float, seed: int) -> BaseAlgorithm:
    """stream-x with plain gradient descent in place of ObGD: no bound on its steps."""
    step = rate * SGD_RATE
    return StreamAC("MlpPolicy", env, seed=seed, kappa_policy=0.0, kappa_value=0.0, learning_rate=step)


class _Returns(BaseCallback):
    """Keeps the returns of episodes that end in the last quarter of training."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[float] = []

    def _on_step(self) -> bool:
        if self.num_timesteps > 0.75 * self.model._total_timesteps:
            self.found += [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
        return True


@dataclass(frozen=True, kw_only=True)
class Streams:
    """The testbed: several tasks, one sample at a time.

    Attributes:
        tasks: their returns of a random policy and solved.
        steps: of training.
        watched: steps over which memory is watched, after half as many.
    """

    tasks: Mapping[str, tuple[float, float]]
    steps: int = 12_000
    watched: int = 2000

    def run(self, condition: Learner, rate: float, seed: int) -> list[float]:
        """The normalised return of one agent on every task with steps of one size: 0 random, 1 solved."""
        return [self.final_return(condition, task, rate, seed) for task in self.tasks]

    @property
    def kilobytes(self) -> float:
        """Memory that stream-x gains over the steps watched."""
        return round(kilobytes_gained(start=self.watched // 2, steps=self.watched), 1)

    def by_task(self, values: Floats) -> dict[str, float]:
        """A number for each task, ``[tasks]``, rounded."""
        return dict(zip(self.tasks, values.round(3).tolist(), strict=True))

    def normalised(self, task: str, score: float) -> float:
        """0 for a random policy, 1 for a solved task."""
        low, high = self.tasks[task]
        return (score - low) / (high - low)

    def final_return(self, learner: Learner, task: str, rate: float, seed: int) -> float:
        """Trains one agent and returns its normalised return in the last quarter; random's where it diverged.

        An agent has diverged when its outputs are no longer numbers, which both libraries report as a ``ValueError``.
        """
        env, returns = sb3_env(task, 1, seed=seed), _Returns()
        try:
            learner(env, rate, seed).learn(self.steps, callback=returns)
        except ValueError as error:
            if "nan" not in str(error) and "diverged" not in str(error):
                raise
            return 0.0
        finally:
            env.close()
        return self.normalised(task, float(np.mean(returns.found)))

    def smallest(self) -> Self:
        """A few episodes of CartPole."""
        return replace(self, tasks={"CartPole-v1": TASKS["CartPole-v1"]}, steps=450, watched=100)


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
