"""The loop of learning that language agents share: iterations, callbacks, logs, and what a checkpoint goes on from."""

import time
from abc import abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, ConvertCallback, ProgressBarCallback
from stable_baselines3.common.type_aliases import MaybeCallback
from stable_baselines3.common.utils import safe_mean

from ..checkpoint import SafeCheckpoint
from ..models.language_model import LanguageModel
from .episodes import StopTraining
from .metrics import completion_metrics
from .rollouts import Rollouts

Self = TypeVar("Self", bound="Loop")


class Loop(SafeCheckpoint, BaseAlgorithm):
    """Iterations until enough completions have been graded; subclasses say what one iteration is.

    A checkpoint holds all that learning goes on from: an agent that is saved and loaded, and trained on with
    ``reset_num_timesteps=False``, ends with the weights that it would have had without that, bit for bit (except
    with ``max_staleness`` above 0, where completions that have been sampled and not been learnt from are lost). Of the
    environment nothing is needed, because problems are drawn by the agent's own generator, a seed a problem. What a
    callback saves in the middle of an iteration is where that iteration began, ``num_timesteps`` included.
    """

    counters: ClassVar[tuple[str, ...]] = (*SafeCheckpoint.counters, "_iteration", "streams")
    policy: LanguageModel  # type: ignore[assignment]  # a model of the user's own need not be SB3's BasePolicy
    rng: np.random.Generator

    _iteration: int = 0
    _begun: dict[str, Any] | None = None  # the counters as they were when the iteration under way began

    @abstractmethod
    def iterate(self) -> None:
        """One iteration: episodes, then gradient steps.

        Raises:
            StopTraining: a callback asked for it.
        """

    def prepare(self) -> None:
        """What comes before each iteration; what a callback saves meanwhile is where this began.

        Raises:
            StopTraining: a callback asked for it.
        """

    def finish(self) -> None:
        """What comes after the last iteration, also where an error ends it."""

    @abstractmethod
    def warm_start(self) -> list[float]:
        """What comes before the first iteration, once; returns losses."""

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int | None = 1,
        tb_log_name: str | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Trains until ``total_timesteps`` completions have been graded; the warm start comes first, once.

        Args:
            total_timesteps: completions, one a turn, rounded up to whole iterations.
            callback: SB3 callbacks; ``on_step`` is called after each environment step, of ``n_envs`` completions.
            log_interval: iterations between log lines (None: never).
            tb_log_name: name of the run in TensorBoard (None: the class's).
            reset_num_timesteps: start counting at 0; False goes on counting.
            progress_bar: show one.

        Raises:
            ValueError: the agent was loaded without an environment and has not been given one.
        """
        if self.env is None:
            raise ValueError("this agent has no environment to learn in: call set_env(env) first")
        total_timesteps, self._callback = self._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name or type(self).__name__, progress_bar
        )
        self._iteration = 0 if reset_num_timesteps else self._iteration
        self._callback.on_training_start(locals(), globals())
        losses = self.warm_start()
        if losses:
            self.logger.record("warm_start/loss", np.mean(losses[-50:]))
        try:
            while self.num_timesteps < total_timesteps:
                self._update_current_progress_remaining(self.num_timesteps, total_timesteps)
                self._begun = self._counted()
                self.prepare()
                self._begun = self._counted()
                self._iteration += 1
                self.iterate()
                self._begun = None
                self._update_current_progress_remaining(self.num_timesteps, total_timesteps)
                if log_interval is not None and self._iteration % log_interval == 0:
                    self.dump_logs(self._iteration)
        except StopTraining:
            pass
        finally:
            self._begun = None
            self.finish()
        self._callback.on_training_end()
        return self

    def dump_logs(self, iteration: int = 0) -> None:
        """Writes the log line of an iteration."""
        elapsed = max((time.time_ns() - self.start_time) / 1e9, 1e-9)
        if self.ep_info_buffer:
            self.logger.record("rollout/ep_rew_mean", safe_mean([info["r"] for info in self.ep_info_buffer]))
            self.logger.record("rollout/ep_len_mean", safe_mean([info["l"] for info in self.ep_info_buffer]))
        if self.ep_success_buffer:
            self.logger.record("rollout/success_rate", safe_mean(self.ep_success_buffer))
        self.logger.record("time/iterations", iteration, exclude="tensorboard")
        self.logger.record("time/episodes", self._episode_num, exclude="tensorboard")
        self.logger.record("time/fps", int((self.num_timesteps - self._num_timesteps_at_start) / elapsed))
        self.logger.record("time/time_elapsed", int(elapsed), exclude="tensorboard")
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.dump(step=self.num_timesteps)

    def _log_completions(self, rollouts: Rollouts) -> None:
        for name, value in completion_metrics(rollouts).items():
            self.logger.record(f"rollout/{name}", value)

    @property
    def streams(self) -> dict[str, Any]:
        """Where the generators of problems and completions stand, and the episodes that logs are averaged over."""
        drawn = self.policy.generator
        assert drawn is not None
        episodes = list(self.ep_info_buffer or ())
        return {
            "problems": self.rng.bit_generator.state,
            "answers": {"device": drawn.device.type, "state": bytes(drawn.get_state().tolist()).hex()},
            "episodes": {name: np.array([info[name] for info in episodes]) for name in ("r", "l", "t")},
            "successes": [bool(success) for success in self.ep_success_buffer or ()],
        }

    @streams.setter
    def streams(self, state: dict[str, Any]) -> None:
        self.rng.bit_generator.state = state["problems"]
        drawn = self.policy.generator
        if drawn is not None and drawn.device.type == state["answers"]["device"]:  # each kind has draws of its own
            drawn.set_state(torch.tensor(list(bytes.fromhex(state["answers"]["state"])), dtype=torch.uint8))
        rows = zip(*(state["episodes"][name] for name in ("r", "l", "t")), strict=True)
        episodes = [dict(zip(("r", "l", "t"), row, strict=True)) for row in rows]
        self.ep_info_buffer = deque(episodes, maxlen=self._stats_window_size)
        self.ep_success_buffer = deque(state["successes"], maxlen=self._stats_window_size)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickles, which go on as a loaded checkpoint does: without what belongs to the run under way.

        That is the callback, the logger's files, and demonstrations that have been drawn and not been learnt from.
        """
        rng = np.random.default_rng()
        rng.bit_generator.state = self.streams["problems"]
        own = {"_callback"} | (set() if self._custom_logger else {"_logger"})
        return {name: value for name, value in vars(self).items() if name not in own} | {"rng": rng, "_batches": None}

    def _counted(self) -> dict[str, Any]:
        return super()._counted() if self._begun is None else self._begun

    @contextmanager
    def _rollout(self) -> Iterator[None]:
        """Tells callbacks that episodes begin, and that they have been graded."""
        self._callback.on_rollout_start()
        yield
        self._callback.on_rollout_end()

    def _on_step(self, infos: list[dict[str, Any]]) -> bool:
        dones = np.array(["terminal_observation" in info for info in infos])
        self.num_timesteps += len(infos)
        self._episode_num += int(dones.sum())
        self._update_info_buffer(infos, dones)
        self._callback.update_locals({"self": self, "infos": infos, "dones": dones})
        return bool(self._callback.on_step())

    def _init_callback(self, callback: MaybeCallback, progress_bar: bool = False) -> BaseCallback:
        if progress_bar:
            given = callback if isinstance(callback, list | BaseCallback) else ConvertCallback(callback)
            callback = [*(given if isinstance(given, list) else [given]), TimestepBar()]
        return super()._init_callback(callback)


class TimestepBar(ProgressBarCallback):
    """SB3's progress bar for steps that not all environments take."""

    def _on_training_start(self) -> None:
        super()._on_training_start()
        self.start = self.model.num_timesteps

    def _on_step(self) -> bool:
        self.pbar.update(self.num_timesteps - self.start - self.pbar.n)
        return True
