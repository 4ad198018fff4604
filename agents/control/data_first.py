"""Agents with a memory that learn from a dataset first, and go on with whole episodes of their own."""

import time
from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.type_aliases import MaybeCallback
from stable_baselines3.common.utils import safe_mean

from .base import ControlAgent
from .offline import LearnsFromData, logged_updates

Self = TypeVar("Self", bound="DataFirst")
NO_DATA = "there are no data to learn from yet: call learn_offline(dataset, n) first"


class DataFirst(LearnsFromData, ControlAgent, BaseAlgorithm):
    """Training of such agents; each has ``settings.gradient_steps``, ``sample`` and ``update``."""

    needs_data: ClassVar[bool] = True
    settings: Any
    batch_size: int
    _running: list[list[tuple[Any, ...]]]
    _state: Any

    def train(self, gradient_steps: int, batch_size: int = 64) -> None:
        """Does ``gradient_steps`` updates on ``batch_size`` stretches of episodes each.

        Raises:
            ValueError: there are no data yet.
        """
        if self.demonstrations is None:
            raise ValueError(NO_DATA)
        self.policy.set_training_mode(True)
        logged_updates(self, gradient_steps, batch_size)

    @abstractmethod
    def step_on(self, callback: BaseCallback) -> bool:
        """One step of all environments; False if the callback says stop."""

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int | None = 100,
        tb_log_name: str | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Takes at least ``total_timesteps`` steps, and updates after each step of all environments.

        Args:
            total_timesteps: of all environments together.
            callback: SB3's; it may end the training.
            log_interval: steps of all environments between lines of the log; 0 or None for no logs.
            tb_log_name: of the run, for tensorboard; the class's if None.
            reset_num_timesteps: False to go on counting.
            progress_bar: show one.

        Raises:
            ValueError: there are no data yet, or a reward cannot be learnt from.
        """
        if self.demonstrations is None:
            raise ValueError(NO_DATA)
        name = tb_log_name or type(self).__name__
        total, told = self._setup_learn(total_timesteps, callback, reset_num_timesteps, name, progress_bar)
        if self._last_episode_starts is None or self._last_episode_starts.all() or len(self._running) != self.n_envs:
            self._running, self._state = [[] for _ in range(self.n_envs)], None
        told.on_training_start(locals(), globals())
        steps, updates = 0, self.settings.gradient_steps
        while self.num_timesteps < total and self.step_on(told):
            self._update_current_progress_remaining(self.num_timesteps, total)
            self.train(self.n_envs if updates < 0 else updates, self.batch_size)
            steps += 1
            if log_interval and steps % log_interval == 0:
                self.dump_logs()
        told.on_training_end()
        return self

    def dump_logs(self) -> None:
        """Writes what was recorded, with the means of late episodes."""
        seconds = max((time.time_ns() - self.start_time) / 1e9, 1e-9)
        self.logger.record("time/fps", int((self.num_timesteps - self._num_timesteps_at_start) / seconds))
        if self.ep_info_buffer:
            self.logger.record("rollout/ep_rew_mean", safe_mean([info["r"] for info in self.ep_info_buffer]))
        self.logger.dump(step=self.num_timesteps)
