"""Learning from a dataset without an environment's step: what ``ActorCritic.learn_offline`` does."""

import math
import warnings
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, ProgressBarCallback
from stable_baselines3.common.type_aliases import MaybeCallback
from stable_baselines3.common.utils import configure_logger
from torch import Tensor

from .base import ControlAgent, check_callback
from .datasets import Transitions
from .replay import Columns, Demonstrations, fits

if TYPE_CHECKING:
    from minari import MinariDataset

    from .actor_critic import ActorCritic
    from .goal_data import GoalTransitions

Self = TypeVar("Self", bound="LearnsFromData")


def check_updates(gradient_steps: Any) -> int:
    """The number of updates, of which 1e4 may be written for 10,000.

    Raises:
        ValueError: a negative number, or none that is whole.
    """
    number = not isinstance(gradient_steps, bool) and isinstance(gradient_steps, int | float | np.integer | np.floating)
    if not (number and gradient_steps >= 0 and float(gradient_steps).is_integer()):  # so written that NaN is refused
        raise ValueError(f"gradient_steps must be an integer of at least 0, got {gradient_steps!r:.200}")
    return int(gradient_steps)


def logged_updates(agent: Any, gradient_steps: int, batch_size: int) -> None:
    """``train`` of agents that have ``sample(batch_size)`` and ``update(batch)``: so many updates, the last logged."""
    if not hasattr(agent, "_logger"):  # as learn() does; here train() may come first
        agent._logger = configure_logger(agent.verbose, agent.tensorboard_log)
    agent._update_learning_rate(agent.policy.optimizers)
    metrics: dict[str, Tensor] = {}
    for _ in range(gradient_steps):
        metrics = agent.update(agent.sample(batch_size).to(agent.device))
        agent._n_updates += 1
    agent.logger.record("train/n_updates", agent._n_updates, exclude="tensorboard")
    for name, value in metrics.items():
        agent.logger.record(f"train/{name}", value.item())


def from_data(batch_size: int, data: int, stored: int, ratio: float | None) -> int:
    """How many transitions of a batch are the dataset's, rounded up as often as the rest asks for.

    Args:
        batch_size: of all transitions.
        data: transitions in the dataset.
        stored: transitions in the replay buffer.
        ratio: share of the dataset; None for both as if they were one buffer.
    """
    if not data or not stored:
        return batch_size if data else 0
    share = data / (data + stored) if ratio is None else ratio
    return math.floor(batch_size * share + th.rand(()).item())


def check_unnormalised(agent: Any) -> None:
    """Refuses to mix a dataset, which stays as it is, with steps that ``VecNormalize`` normalises.

    Raises:
        TypeError: the agent's environment is in a ``VecNormalize`` that normalises anything.
    """
    norm = agent._vec_normalize_env
    if norm is not None and (norm.norm_obs or norm.norm_reward):
        raise TypeError(
            f"{type(agent).__name__} learns from a dataset as it is, and VecNormalize would normalise the "
            "environment's steps alone: take VecNormalize off the environment"
        )


class UpdateBar(ProgressBarCallback):
    """SB3's progress bar, of updates."""

    def _on_step(self) -> bool:
        self.pbar.update(1)
        return True


def learn_updates(
    agent: Any,
    gradient_steps: int,
    callback: MaybeCallback,
    log_interval: int | None,
    tb_log_name: str,
    progress_bar: bool,
) -> None:
    """So many updates, each of which is a step to callbacks; see ``learn_offline``."""
    check_callback(callback)
    agent.warn_of_new_optimizers()
    seen, taken = agent._last_obs, agent.num_timesteps  # an environment is neither needed nor reset
    try:
        agent._last_obs, agent.num_timesteps = np.empty(0) if seen is None else seen, 0
        total, told = BaseAlgorithm._setup_learn(agent, gradient_steps, callback, False, tb_log_name)
        agent._last_obs = seen
        _update(agent, total, told, log_interval, progress_bar)
    finally:  # an interrupted agent too goes on where its environment is
        agent._last_obs, agent.num_timesteps = seen, taken


def _update(agent: Any, total: int, told: BaseCallback, log_interval: int | None, progress_bar: bool) -> None:
    if progress_bar:
        told = CallbackList([told, UpdateBar()])
        told.init_callback(agent)
    told.on_training_start(locals() | {"self": agent, "total_timesteps": total}, globals())
    while agent.num_timesteps < total:
        agent.train(1, agent.batch_size)
        agent.num_timesteps += 1
        agent._update_current_progress_remaining(agent.num_timesteps, total)
        if not told.on_step():
            break
        if log_interval and agent.num_timesteps % log_interval == 0:
            agent.logger.dump(agent.num_timesteps)
    told.on_training_end()


def taken_in(agent: "ActorCritic", dataset: "MinariDataset | str | Transitions") -> Demonstrations:
    """A dataset as rows to draw from.

    Raises:
        TypeError, ValueError: it does not fit the agent.
    """
    if not fits(agent.observation_space, agent.action_space):
        raise TypeError(
            f"learning from a dataset needs flat Box observations and actions, not {agent.observation_space} and "
            f"{agent.action_space}"
        )
    if isinstance(dataset, Transitions):
        dataset.check(agent.observation_space, agent.action_space)
    else:
        dataset = Transitions.from_minari(dataset, agent.observation_space, agent.action_space)
    assert isinstance(agent.action_space, Box)
    columns = Columns(dataset.observations.shape[1], dataset.actions.shape[1])
    rows = np.zeros((len(dataset), columns.width), np.float32)
    rows[:, columns.observation], rows[:, columns.next_observation] = dataset.observations, dataset.next_observations
    rows[:, columns.action] = agent.policy.scale_action(dataset.actions)
    rows[:, columns.reward], rows[:, columns.done] = dataset.rewards, dataset.terminations
    weights = agent.sampling_weights(dataset)
    returns = th.from_numpy(agent.reference_returns(dataset))
    taken = Demonstrations(th.from_numpy(rows), returns, None if weights is None else th.as_tensor(weights))
    agent.on_dataset(dataset)
    return taken


class LearnsFromData(ABC):
    """An agent that learns from a dataset before it acts, or beside; mix it in first.

    Attributes:
        demonstrations: the dataset as the agent draws from it, None as long as there is none.
    """

    demonstrations: Any
    mixes_data: ClassVar[bool] = True
    """Whether :meth:`learn` too learns from the dataset."""
    _taught: int
    """1 once a dataset was given, in checkpoints too, which do not hold the dataset itself."""
    counters: ClassVar[tuple[str, ...]] = (*ControlAgent.counters, "_taught")

    @abstractmethod
    def _demonstrations(self, dataset: Any) -> Any:
        """A dataset as the agent draws from it; raises ``TypeError`` or ``ValueError`` before anything has changed."""

    def learn_offline(
        self: Self,
        dataset: "MinariDataset | str | Transitions | GoalTransitions",
        gradient_steps: int,
        *,
        callback: MaybeCallback = None,
        log_interval: int | None = 1000,
        tb_log_name: str | None = None,
        progress_bar: bool = False,
    ) -> Self:
        """Learns from a dataset, without an environment's step; keeps it for ``learn`` to mix in.

        Meanwhile ``num_timesteps`` counts updates, so that SB3's callbacks (evaluation, checkpoints) work as they are;
        afterwards it is again the number of steps taken in an environment.

        Args:
            dataset: a Minari dataset or the id of a local one, or transitions already read: of a goal environment as
                :class:`.GoalTransitions`, with several rewards as :class:`.VectorTransitions`.
            gradient_steps: updates; 0 only takes the data in.
            callback: SB3's, called once an update.
            log_interval: updates between lines of the log; 0 or None for no logs.
            tb_log_name: of the log; the class's if None.
            progress_bar: show one.

        Raises:
            FileNotFoundError: no such dataset.
            TypeError, ValueError: it does not fit this agent, or holds what cannot be learnt from, or ``VecNormalize``
                normalises the environment, as it does not the dataset; nothing has changed.

        Warns:
            UserWarning: at ``learn``, an agent that was given a dataset before it was saved goes on without it.
        """
        updates = check_updates(gradient_steps)
        check_unnormalised(self)
        self.demonstrations = self._demonstrations(dataset)
        self._taught = 1
        if updates:
            name = tb_log_name or type(self).__name__
            learn_updates(self, updates, callback, log_interval, name, progress_bar)
        return self

    def _setup_learn(self, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        """As in SB3; says once that a loaded agent goes on without the dataset that it had before it was saved."""
        if self.demonstrations is not None:
            check_unnormalised(self)
        elif vars(self).pop("_taught", 0) and self.mixes_data and getattr(self, "offline_ratio", None) != 0:
            warnings.warn(
                f"this {type(self).__name__} was loaded without the dataset that it learnt from, and goes on from its "
                "own steps alone: call learn_offline(dataset, 0) before learn() to mix the dataset in again",
                stacklevel=5,
            )
        found: tuple[int, BaseCallback] = super()._setup_learn(*args, **kwargs)  # type: ignore[misc]
        return found

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "demonstrations"]  # type: ignore[misc]
