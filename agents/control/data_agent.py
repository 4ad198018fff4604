"""What agents share that can learn from a dataset: checked, taken in whole, and kept for online batches to hold."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.type_aliases import MaybeCallback

from .base import OffPolicyAgent
from .datasets import Transitions
from .replay import DATASET, Batch, Columns, Demonstrations, FloatArray, fits
from .trajectory_weighting import sampling_weights

if TYPE_CHECKING:
    from minari import MinariDataset

Self = TypeVar("Self", bound="DataAgent")


class DataAgent(OffPolicyAgent):
    """An off-policy agent that can also learn from a dataset."""

    needs_data: ClassVar[bool] = False
    """Whether there is nothing to learn before a dataset is given."""

    demonstrations: Demonstrations | None
    sampler: str
    sampler_temperature: float

    @abstractmethod
    def train(self, gradient_steps: int, batch_size: int = 256) -> None:
        """Does ``gradient_steps`` updates."""

    def learn_offline(
        self: Self,
        dataset: "MinariDataset | str | Transitions",
        gradient_steps: int,
        *,
        callback: MaybeCallback = None,
        log_interval: int = 1000,
        tb_log_name: str = "run",
        progress_bar: bool = False,
    ) -> Self:
        """Learns from a dataset, without an environment's step; keeps it for :meth:`learn` to mix in.

        Meanwhile ``num_timesteps`` counts updates, so that SB3's callbacks (evaluation, checkpoints) work as they are;
        afterwards it is again the number of steps taken in an environment.

        Args:
            dataset: a Minari dataset or the id of a local one, or transitions already read.
            gradient_steps: updates; 0 only takes the data in.
            callback: SB3's, called once an update.
            log_interval: updates between lines of the log.
            tb_log_name: of the log.
            progress_bar: show one.

        Raises:
            FileNotFoundError: no such dataset.
            TypeError, ValueError: it does not fit this agent, or holds what cannot be learnt from; nothing has changed.
        """
        if isinstance(gradient_steps, bool) or not isinstance(gradient_steps, int) or gradient_steps < 0:
            raise ValueError(f"gradient_steps must be an integer of at least 0, got {gradient_steps!r}")
        self.demonstrations = self._demonstrations(dataset)
        if gradient_steps:
            self._learn_updates(gradient_steps, callback, log_interval, tb_log_name, progress_bar)
        return self

    def _learn_updates(
        self, gradient_steps: int, callback: MaybeCallback, log_interval: int, tb_log_name: str, progress_bar: bool
    ) -> None:
        seen = self._last_obs  # an environment is neither needed nor reset
        self._last_obs = self._last_obs if seen is not None else np.empty(0)  # type: ignore[assignment]
        taken, self.num_timesteps = self.num_timesteps, 0
        total, told = self._setup_learn(gradient_steps, callback, False, tb_log_name, progress_bar)
        self._last_obs = seen
        told.on_training_start(locals(), globals())
        while self.num_timesteps < total:
            self.train(1, self.batch_size)
            self.num_timesteps += 1
            self._update_current_progress_remaining(self.num_timesteps, total)
            if not told.on_step():
                break
            if log_interval and self.num_timesteps % log_interval == 0:
                self.logger.dump(self.num_timesteps)
        told.on_training_end()
        self.num_timesteps = taken

    def _demonstrations(self, dataset: "MinariDataset | str | Transitions") -> Demonstrations:
        if not fits(self.observation_space, self.action_space):
            raise TypeError(
                f"learning from a dataset needs flat Box observations and actions, not {self.observation_space} and "
                f"{self.action_space}"
            )
        if isinstance(dataset, Transitions):
            dataset.check(self.observation_space, self.action_space)
        else:
            dataset = Transitions.from_minari(dataset, self.observation_space, self.action_space)
        assert isinstance(self.action_space, Box)
        columns = Columns(dataset.observations.shape[1], dataset.actions.shape[1])
        rows = np.zeros((len(dataset), columns.width), np.float32)
        rows[:, columns.observation], rows[:, columns.next_observation] = (
            dataset.observations,
            dataset.next_observations,
        )
        rows[:, columns.action] = self.policy.scale_action(dataset.actions)
        rows[:, columns.reward], rows[:, columns.done] = dataset.rewards, dataset.terminations
        weights = self.sampling_weights(dataset)
        returns = th.from_numpy(self.reference_returns(dataset))
        taken = Demonstrations(th.from_numpy(rows), returns, None if weights is None else th.as_tensor(weights))
        self.take_in(dataset)
        return taken

    def take_in(self, transitions: Transitions) -> None:
        """Called with each dataset once it is known to fit, for what else a method wants to know of it."""

    def reference_returns(self, transitions: Transitions) -> FloatArray:
        """What batches of a dataset hold as ``returns``, ``[N]``."""
        return transitions.returns(self.gamma)

    def sampling_weights(self, transitions: Transitions) -> Any:
        """How often each transition of a dataset is drawn, ``[N]``; None for equally often."""
        return sampling_weights(transitions, self.sampler, self.sampler_temperature)

    def _sample_action(self, learning_starts: int, *args: Any, **kwargs: Any) -> Any:
        taught = self.demonstrations is not None and self._n_updates > 0  # random actions would only spoil what it does
        return super()._sample_action(0 if taught else learning_starts, *args, **kwargs)

    def demonstrated(self, n: int, source: int = DATASET) -> Batch:
        """``n`` transitions of the dataset; ``source`` is what the batch says of where they come from."""
        assert self.demonstrations is not None
        found = self.demonstrations.draw(n)
        rows = self.demonstrations.rows.index_select(0, found).to(self.device)
        return self._columns().batch(rows, self.gamma, source, self.demonstrations.returns[found].to(self.device))

    def _columns(self) -> Columns:
        observations, actions = self.observation_space.shape, self.action_space.shape
        assert observations is not None
        assert actions is not None
        return Columns(observations[0], actions[0])
