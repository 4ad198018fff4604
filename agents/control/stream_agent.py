"""The loop that all stream-x agents share: one environment, one sample at a time, constant memory.

Paper: Elsayed, Vasan and Mahmood, Streaming Deep Reinforcement Learning Finally Works, 2024 (arXiv 2410.14606).
"""

import math
import sys
import time
from abc import abstractmethod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import MaybeCallback, Schedule
from stable_baselines3.common.utils import safe_mean, update_learning_rate

from ..diverged import Diverged
from .base import ControlAgent, check_spaces
from .obgd import ObGD
from .stream_networks import Doubles, Floats, StreamNetwork, StreamPolicy

LIMIT = 1e8  # of rewards and observations: one sample beyond it would drown the statistics of the stream
_FLATTEN = "flatten others with gymnasium.wrappers.FlattenObservation"

Action = npt.NDArray[Any] | int
Self = TypeVar("Self", bound="StreamAgent")


class StreamAgent(ControlAgent, BaseAlgorithm):
    r"""What all stream-x agents share: the loop over one environment, its statistics, and ``learn``.

    Every step's observation is normalised by the mean and deviation of all observations so far, this one included, and
    every reward divided by the deviation of the discounted return so far,

    .. math:: u \leftarrow \gamma (1 - done) u + r, \quad r' = r / \sqrt{Var[u] + 10^{-8}}.

    One departure from the authors' code: it gives networks the time within the episode and treats time limits as ends;
    here values are bootstrapped at time limits, so that ``predict`` needs an observation alone. (For the former wrap
    the environment with ``gymnasium.wrappers.TimeAwareObservation``.)
    """

    policy: StreamPolicy
    critic_optimizer: ObGD

    def __init__(
        self,
        policy: str | type[StreamPolicy],
        env: Any,
        *,
        learning_rate: float | Schedule,
        gamma: float,
        trace_lambda: float,
        kappa_value: float,
        stats_window_size: int,
        tensorboard_log: str | None,
        policy_kwargs: dict[str, Any] | None,
        verbose: int,
        seed: int | None,
        device: th.device | str,
        _init_setup_model: bool,
    ) -> None:
        name = type(self).__name__
        if str(device) not in {"auto", "cpu"}:
            raise ValueError(f"{name} learns from single samples on the processor: device='cpu', not {str(device)!r}")
        super().__init__(
            policy,
            env,
            learning_rate,
            policy_kwargs=policy_kwargs,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            verbose=verbose,
            device="cpu",
            support_multi_env=True,  # refused below, in clearer words
            seed=seed,
        )
        if self.n_envs != 1:
            raise ValueError(f"{name} learns from one stream: give it one environment (n_envs=1), not {self.n_envs}")
        check_spaces(type(self), self.observation_space, self.action_space)
        if not isinstance(self.observation_space, Box):
            raise ValueError(f"{name} observes Box spaces, not {self.observation_space}: {_FLATTEN}")
        if not isinstance(self.action_space, self.acts_in):
            kinds = " or ".join(kind.__name__ for kind in self.acts_in)
            raise ValueError(f"{name} acts in {kinds} spaces, not in {self.action_space}: choose another agent")
        self.gamma, self.trace_lambda, self.kappa_value = gamma, trace_lambda, kappa_value
        if _init_setup_model:
            self._setup_model()

    def _get_policy_from_name(self, policy_name: str) -> type[BasePolicy]:
        if policy_name not in self.policy_aliases:
            known = ", ".join(map(repr, self.policy_aliases))
            raise ValueError(f"{type(self).__name__} has no {policy_name!r} but {known}, for Box spaces: {_FLATTEN}")
        return super()._get_policy_from_name(policy_name)

    def _setup_model(self) -> None:
        self._setup_lr_schedule()
        self.set_random_seed(self.seed)
        self.policy = self.policy_class(
            self.observation_space, self.action_space, self.lr_schedule, **self.policy_kwargs
        )  # type: ignore[assignment]
        self.critic_optimizer = self._optimizer(self._critic, self.kappa_value)
        self._features: Floats | None = None  # of the last observation, as it was normalised then
        self._return = 0.0  # u above
        self._td_error, self._bound = 0.0, 0.0

    def _optimizer(self, network: StreamNetwork, kappa: float) -> ObGD:
        lr = self.lr_schedule(1)
        return ObGD(network.parameters(), lr=lr, gamma=self.gamma, trace_lambda=self.trace_lambda, kappa=kappa)

    @property
    def _critic(self) -> StreamNetwork:
        critic: StreamNetwork = self.policy.critic  # type: ignore[assignment]
        return critic

    def set_random_seed(self, seed: int | None = None) -> None:
        """Seeds all randomness, the choice of actions while learning included."""
        super().set_random_seed(seed)
        self._rng = np.random.default_rng(seed)

    @abstractmethod
    def _act(self, features: Floats) -> Action:
        """Chooses the action to learn from."""

    @abstractmethod
    def _update(self, features: Floats, reward: float, after: Floats, ended: bool, done: bool) -> float:
        """Learns from the action chosen last and returns the temporal-difference error.

        Args:
            features: when the action was chosen.
            reward: scaled.
            after: features of what followed.
            ended: nothing can follow.
            done: the episode is over, for whatever reason.
        """

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int | None = 100,
        tb_log_name: str = "stream",
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """Takes ``total_timesteps`` steps and learns from each at once; callbacks are called after its update.

        Args:
            total_timesteps: steps to take.
            callback: as in SB3; a step is a rollout.
            log_interval: episodes between logs; 0 or None for no logs.
            tb_log_name: of the run, for tensorboard.
            reset_num_timesteps: False to go on counting.
            progress_bar: show one.

        Raises:
            ValueError: a reward or observation that is not finite or beyond :data:`LIMIT`; nothing is learnt from it.
        """
        fresh = reset_num_timesteps or self._last_obs is None
        total_timesteps, callback = self._setup_learn(
            total_timesteps, callback, reset_num_timesteps, tb_log_name, progress_bar
        )
        if fresh:
            self._begin()
        callback.on_training_start(locals(), globals())
        going = True
        while going and self.num_timesteps < total_timesteps:
            callback.on_rollout_start()
            actions, new_obs, rewards, dones, infos = self._step()
            callback.update_locals(locals())
            going = callback.on_step()
            callback.on_rollout_end()
            if dones[0] and log_interval and self._episode_num % log_interval == 0:
                self.dump_logs()
        callback.on_training_end()
        return self

    def _begin(self) -> None:
        """Forgets what belonged to an episode that was left; called after the environment was reset."""
        for name in self._get_torch_save_params()[0]:
            if isinstance(optimizer := getattr(self, name), ObGD):
                optimizer.forget()
        self._return = 0.0
        self._features = self._observe(self._checked(self._last_obs[0]))  # type: ignore[index]

    def _step(self) -> tuple[npt.NDArray[Any], Any, npt.NDArray[Any], npt.NDArray[Any], list[dict[str, Any]]]:
        """One step in the environment and the update it gives."""
        features, env = self._features, self.env
        assert features is not None
        assert env is not None
        actions = np.asarray(self._act(features))[None]
        new_obs, rewards, dones, infos = env.step(actions)
        done, reward = bool(dones[0]), float(rewards[0])
        last = infos[0].get("terminal_observation", new_obs[0]) if done else new_obs[0]  # type: ignore[index]
        first = new_obs[0]  # type: ignore[index]
        seen, begun = self._checked(last, reward), self._checked(first) if done else None
        after, scaled = self._observe(seen), self._scaled(reward, done)
        ended = done and not infos[0].get("TimeLimit.truncated", False)
        self._follow_schedules()
        self._td_error = self._update(features, scaled, after, ended, done)
        self._features = after if begun is None else self._observe(begun)
        self._last_obs = new_obs  # type: ignore[assignment]
        self.num_timesteps += 1
        self._n_updates += 1
        self._episode_num += done
        self._update_info_buffer(infos, dones)
        return actions, new_obs, rewards, dones, infos

    def _checked(self, observation: Any, reward: float = 0.0) -> Doubles:
        """The observation, flat."""
        flat = np.asarray(observation, np.float64).ravel()
        if abs(reward) <= LIMIT and np.abs(flat).max(initial=0.0) <= LIMIT:
            return flat
        self._last_obs = None  # the stream is broken: the next learn() begins a new episode
        what = "an observation" if abs(reward) <= LIMIT else f"a reward of {reward:g}"
        raise ValueError(
            f"the environment gave {what} that is not finite or beyond {LIMIT:g}: nothing was learnt from it; "
            "correct or rescale it in the environment"
        )

    def _delta(self, reward: float, following: float, value: float) -> float:
        """The temporal-difference error; :class:`Diverged` once learning has, before any harm is done."""
        delta = reward + self.gamma * following - value
        if not math.isfinite(delta):
            raise Diverged(f"learning diverged at step {self.num_timesteps}: lower learning_rate or raise the kappas")
        return delta

    def _observe(self, observation: Doubles) -> Floats:
        moments = self.policy.observations
        moments.observe(observation)
        return moments.normalize(observation)

    def _scaled(self, reward: float, done: bool) -> float:
        self._return = self.gamma * (1 - done) * self._return + reward
        self.policy.returns.observe(np.array([self._return]))
        return reward / self.policy.returns.scale

    def _follow_schedules(self) -> None:
        """Has optimisers follow the learning rate, and ``gamma`` and ``trace_lambda``, which may have been set anew."""
        self._update_current_progress_remaining(self.num_timesteps, self._total_timesteps)
        for name in self._get_torch_save_params()[0]:
            if isinstance(optimizer := getattr(self, name), ObGD):
                for group in optimizer.param_groups:
                    group.update(gamma=self.gamma, trace_lambda=self.trace_lambda)
                if callable(self.learning_rate):
                    update_learning_rate(optimizer, self.lr_schedule(self._current_progress_remaining))

    def dump_logs(self) -> None:
        """Writes the log."""
        seconds = max((time.time_ns() - self.start_time) / 1e9, sys.float_info.epsilon)
        if episodes := self.ep_info_buffer:
            self.logger.record("rollout/ep_rew_mean", safe_mean([episode["r"] for episode in episodes]))
            self.logger.record("rollout/ep_len_mean", safe_mean([episode["l"] for episode in episodes]))
        if successes := self.ep_success_buffer:
            self.logger.record("rollout/success_rate", safe_mean(successes))
        self.logger.record("time/episodes", self._episode_num, exclude="tensorboard")
        self.logger.record("time/fps", int((self.num_timesteps - self._num_timesteps_at_start) / seconds))
        self.logger.record("time/time_elapsed", int(seconds), exclude="tensorboard")
        self.logger.record("time/total_timesteps", self.num_timesteps, exclude="tensorboard")
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        self.logger.record("train/td_error", self._td_error)
        self.logger.record("train/step_shortened", max(self._bound, 1.0))
        self.logger.record("train/reward_scale", self.policy.returns.scale)
        self.logger.dump(step=self.num_timesteps)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_features", "_rng"]

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", "critic_optimizer"], []
