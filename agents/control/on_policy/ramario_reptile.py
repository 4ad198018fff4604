r"""Reptile over levels of a game: PPO whose parameters are an initialization from which few updates suit a level.

    agent = make("ramario-reptile", level)
    agent.levels = levels  # environments with the same spaces
    agent.learn(200_000)
    adapted = agent.adapt(new_level, updates=5)  # an agent of its own, that began from the initialization

Paper: Jain, RAMario: Experimental Approach to Reptile Algorithm (2023), which applies Nichol et al., On First-Order
Meta-Learning Algorithms (2018), algorithm 1. "The authors' code" is github.com/openai/supervised-reptile of the latter.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, TypeVar

import torch as th
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.type_aliases import GymEnv, MaybeCallback, Schedule
from stable_baselines3.common.utils import FloatSchedule
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from .fast_ppo import FastPPO
from .rollout import Rollout
from .sources import source_of

Self = TypeVar("Self", bound="RAMarioReptile")


def toward(initial: Tensor, adapted: Sequence[Tensor], step_size: float) -> Tensor:
    r""":math:`\theta + \epsilon \, \frac1n \sum_i (\phi_i - \theta)`.

    Args:
        initial: theta, ``[P]``.
        adapted: phi_i of each task, ``[P]``.
        step_size: epsilon.
    """
    return initial + step_size * (th.stack(list(adapted)).mean(dim=0) - initial)


def parameters_of(policy: ActorCriticPolicy) -> Tensor:
    """A policy's parameters as one vector ``[P]`` of their own."""
    return th.cat([one.detach().flatten() for one in policy.parameters()])


@th.no_grad()
def put_parameters(policy: ActorCriticPolicy, flat: Tensor) -> None:
    """Fills a policy's parameters from :func:`parameters_of`."""
    parameters = list(policy.parameters())
    for one, part in zip(parameters, th.split(flat, [one.numel() for one in parameters]), strict=True):
        one.copy_(part.view_as(one))


class RAMarioReptile(FastPPO):
    r"""Reptile with PPO as the update of each task.

    A task is a level. The parameters :math:`\theta` are copied, PPO learns from ``inner_updates`` rollouts in the
    level and ends at :math:`\phi_i`, and after ``meta_batch_size`` levels

    .. math::
        \theta \leftarrow \theta + \epsilon \, \frac1n \sum_i (\phi_i - \theta)

    :meth:`predict` and checkpoints are those of :math:`\theta`, also within a task; :meth:`adapt` learns a level from
    there. Moments of observations and rewards are of all levels.

    Departures: the paper's script copies parameters without a gradient step between, so that the algorithm is Nichol
    et al.'s; the optimiser begins every task anew, where theirs goes on, so that what is learnt is an initialization
    alone; levels are drawn without replacement until all have had their turn. The defaults of ``inner_updates`` (the
    paper's script), ``meta_batch_size`` and ``meta_step_size`` (the authors' commands, in which it falls to 0) are
    theirs.

    Args:
        policy: as of :class:`~.fast_ppo.FastPPO`.
        env: a level, and the only one unless :attr:`levels` are given.
        learning_rate: of PPO's updates.
        n_steps: of each environment in a rollout.
        batch_size: as of PPO.
        n_epochs: as of PPO.
        gamma: discount.
        gae_lambda: lambda of generalised advantage estimation.
        ent_coef: weight of the entropy.
        inner_updates: rollouts that are learnt from in a task.
        meta_batch_size: tasks for each step of the initialization.
        meta_step_size: epsilon, or a function of the remaining progress.
        norm_obs: whether observations are normalised.
        norm_reward: whether rewards are divided by the deviation of the discounted return.
        stats_window_size: episodes that logged means are of.
        tensorboard_log: folder of logs.
        policy_kwargs: of the policy.
        verbose: 0 to 2.
        seed: of everything random.
        device: of the networks.
    """

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: GymEnv | str,
        learning_rate: float | Schedule = 3e-4,
        n_steps: int = 64,
        batch_size: int = 2048,
        n_epochs: int = 4,
        gamma: float = 0.99,
        gae_lambda: float = 0.95,
        ent_coef: float = 0.0,
        *,
        inner_updates: int = 5,
        meta_batch_size: int = 5,
        meta_step_size: float | Schedule = 1.0,
        norm_obs: bool = True,
        norm_reward: bool = True,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        self.inner_updates, self.meta_batch_size = inner_updates, meta_batch_size
        self.meta_step_size = meta_step_size
        self._levels: list[VecEnv] = []
        self._level: VecEnv | None = None  # of the task under way
        self._waiting: list[int] = []  # levels that have not had their turn
        self._adapted: list[Tensor] = []  # phi of the tasks since the last step of theta
        self._updates_done = 0  # in the task under way
        common: dict[str, Any] = {"stats_window_size": stats_window_size, "tensorboard_log": tensorboard_log}
        common |= {"policy_kwargs": policy_kwargs, "verbose": verbose, "seed": seed, "device": device}
        common |= {"norm_obs": norm_obs, "norm_reward": norm_reward, "_init_setup_model": _init_setup_model}
        common |= {"gae_lambda": gae_lambda, "ent_coef": ent_coef}
        super().__init__(policy, env, learning_rate, n_steps, batch_size, n_epochs, gamma, **common)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.meta_step_size = FloatSchedule(self.meta_step_size)
        self._learner = deepcopy(self.policy)  # phi, which acts and learns in a task
        self._acting = self._acting_by(self._learner)

    @property
    def levels(self) -> list[VecEnv]:
        """The levels that tasks are drawn from: environments with the agent's spaces. Checkpoints do not hold them."""
        return self._levels

    @levels.setter
    def levels(self, envs: Sequence[Any]) -> None:
        wrapped = [self._wrap_env(env, self.verbose) for env in envs]
        for index, env in enumerate(wrapped):
            given = env.observation_space, env.action_space, env.num_envs
            wanted = self.observation_space, self.action_space, self.n_envs
            if given != wanted:
                raise ValueError(
                    f"level {index} has observations {given[0]}, actions {given[1]} and {given[2]} environments, where "
                    f"the agent's are {wanted[0]}, {wanted[1]} and {wanted[2]}: levels differ in none of these"
                )
            if self.seed is not None:
                env.seed((self.seed * len(wrapped) + index) * self.n_envs)
        self._levels, self._waiting = wrapped, []

    def _setup_learn(self, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        found = super()._setup_learn(*args, **kwargs)
        self._learner.load_state_dict(self.policy.state_dict())
        self._level, self._adapted, self._updates_done = None, [], 0
        return found

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 1,
        tb_log_name: str = "Reptile",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """As in SB3; a task and a batch of tasks that end early count as far as they came."""
        super().learn(total_timesteps, callback, log_interval, tb_log_name, reset_num_timesteps, progress_bar)
        if self._updates_done:
            self._end_task()
        if self._adapted:
            self._move()
        return self

    def collect_rollouts(  # type: ignore[override]
        self, env: VecEnv, callback: BaseCallback, rollout_buffer: Rollout, n_rollout_steps: int
    ) -> bool:
        """A rollout of the task under way, in its level."""
        if self._level is None:
            self._level = self._drawn() if self._levels else env
            self._last_obs = self._level.reset()  # type: ignore[assignment]
            self._source = source_of(self._level)
            self.reward_scale.reset(self._level.num_envs)
            put_parameters(self._learner, parameters_of(self.policy))
            self._learner.optimizer.state.clear()
        return super().collect_rollouts(self._level, callback, rollout_buffer, n_rollout_steps)

    def _drawn(self) -> VecEnv:
        if not self._waiting:
            self._waiting = th.randperm(len(self._levels)).tolist()
        return self._levels[self._waiting.pop()]

    def train(self) -> None:
        """Learns from the last rollout; after the last one of a task and of a batch of tasks theta moves."""
        initial, self.policy = self.policy, self._learner
        try:
            super().train()
        finally:
            self.policy = initial
        self._updates_done += 1
        if self._updates_done == self.inner_updates:
            self._end_task()
        if len(self._adapted) == self.meta_batch_size:
            self._move()

    def _end_task(self) -> None:
        self._adapted.append(parameters_of(self._learner))
        self._level, self._updates_done = None, 0

    def _move(self) -> None:
        """A step of theta; it takes the learner's moments of observations over."""
        step_size = self.meta_step_size(self._current_progress_remaining)  # type: ignore[operator]
        initial = parameters_of(self.policy)
        moved = toward(initial, self._adapted, step_size)
        self.policy.load_state_dict(self._learner.state_dict())
        put_parameters(self.policy, moved)
        self.logger.record("train/meta_step_size", step_size)
        self.logger.record("train/meta_distance", float((moved - initial).norm()))
        self._adapted = []

    def adapt(self, env: Any, updates: int | None = None, *, seed: int | None = None) -> FastPPO:
        """PPO that has learnt a level from the initialization; this agent stays as it is.

        Args:
            env: the level, with the agent's spaces and any number of environments.
            updates: rollouts that are learnt from; 0 for the initialization itself, ``inner_updates`` if None.
            seed: of everything random; goes on where it is if None.

        Returns:
            An agent with SB3's API that can learn on.

        Raises:
            ValueError: other spaces, or fewer than 0 updates.
        """
        count = self.inner_updates if updates is None else updates
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ValueError(f"updates must be a whole number of at least 0, got {count!r}")
        level = self._wrap_env(env, self.verbose)
        if (level.observation_space, level.action_space) != (self.observation_space, self.action_space):
            raise ValueError(
                f"the level has observations {level.observation_space} and actions {level.action_space}, where the "
                f"agent was trained with {self.observation_space} and {self.action_space}"
            )
        own = {"seed", "inner_updates", "meta_batch_size", "meta_step_size"}
        settings = {name: value for name, value in self._given.items() if name not in own}
        found = FastPPO(env=level, seed=seed, device=self.device, **settings)
        found.policy.load_state_dict(self.policy.state_dict())
        found.reward_scale.load_state_dict(self.reward_scale.state_dict())
        return found.learn(count * self.n_steps * level.num_envs)

    def _excluded_save_params(self) -> list[str]:
        own = ["_levels", "_level", "_waiting", "_adapted", "_learner"]
        return [*super()._excluded_save_params(), *own]
