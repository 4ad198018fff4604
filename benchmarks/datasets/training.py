"""Training up to a wished-for return."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from stable_baselines3.common.callbacks import BaseCallback

from ..evaluation import TUNING_FROM, evaluation_seeds, play_episodes
from ..threads import one_thread

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv


class UntilGood(BaseCallback):
    """Stops training as soon as the agent, sampling from its policy on tuning problems, returns enough.

    Args:
        env: to be looked at in, one environment an episode.
        normalise: a mean return as a score.
        target: the score that is enough.
        every: steps between two looks.
        progress: is told the steps done.
    """

    def __init__(
        self,
        env: "VecEnv",
        normalise: Callable[[float], float],
        target: float,
        *,
        every: int,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        super().__init__()
        self._env, self._normalise, self._target = env, normalise, target
        self._every, self._due, self._progress = every, every, progress
        self.reached = self.best = float("-inf")
        """The last and the best score."""
        self.looked = False

    def _on_step(self) -> bool:
        if self.num_timesteps < self._due:
            return True
        self._due += self._every
        if self._progress is not None:
            self._progress(self.num_timesteps)
        num_envs = self._env.num_envs
        seeds = evaluation_seeds(TUNING_FROM, num_envs)
        found = play_episodes(self.model, self._env, num_envs, seeds=seeds, deterministic=False)
        self.reached, self.looked = self._normalise(found.mean), True
        self.best = max(self.best, self.reached)
        return self.reached < self._target


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """PyTorch's generator (SB3's policies sample from it) starts at ``seed``, on one thread; then all is as before."""
    with torch.random.fork_rng(devices=[]), one_thread():
        torch.manual_seed(seed)
        yield
