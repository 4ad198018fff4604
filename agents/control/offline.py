"""Learning from a dataset without an environment's step: what ``ActorCritic.learn_offline`` does."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.type_aliases import MaybeCallback
from stable_baselines3.common.utils import configure_logger
from torch import Tensor

from .datasets import Transitions
from .replay import Columns, Demonstrations, fits

if TYPE_CHECKING:
    from minari import MinariDataset

    from .actor_critic import ActorCritic


def check_updates(gradient_steps: int) -> None:
    """Raises ``ValueError`` unless ``gradient_steps`` is a whole number of updates."""
    if isinstance(gradient_steps, bool) or not isinstance(gradient_steps, int) or gradient_steps < 0:
        raise ValueError(f"gradient_steps must be an integer of at least 0, got {gradient_steps!r}")


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


def learn_updates(
    agent: "ActorCritic",
    gradient_steps: int,
    callback: MaybeCallback,
    log_interval: int,
    tb_log_name: str,
    progress_bar: bool,
) -> None:
    """So many updates, each of which is a step to callbacks; see ``learn_offline``."""
    seen = agent._last_obs  # an environment is neither needed nor reset
    agent._last_obs = agent._last_obs if seen is not None else np.empty(0)  # type: ignore[assignment]
    taken, agent.num_timesteps = agent.num_timesteps, 0
    total, told = agent._setup_learn(gradient_steps, callback, False, tb_log_name, progress_bar)
    agent._last_obs = seen
    told.on_training_start(locals() | {"self": agent}, globals())
    while agent.num_timesteps < total:
        agent.train(1, agent.batch_size)
        agent.num_timesteps += 1
        agent._update_current_progress_remaining(agent.num_timesteps, total)
        if not told.on_step():
            break
        if log_interval and agent.num_timesteps % log_interval == 0:
            agent.logger.dump(agent.num_timesteps)
    told.on_training_end()
    agent.num_timesteps = taken


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
