"""What actor-critic agents share: one loop of updates over replayed, demonstrated or mixed transitions."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.noise import ActionNoise
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import RolloutReturn, Schedule
from stable_baselines3.common.utils import configure_logger
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from .data_agent import DataAgent
from .networks import ActorCriticCnnPolicy, ActorCriticMultiInputPolicy, ActorCriticPolicy, Critics
from .overlap import Overlapped
from .replay import OWN, Batch, RowReplay, fits, sources
from .trajectory_weighting import check_sampler
from .updates import keep_freed_memory, polyak

Metrics = dict[str, Tensor]
AHEAD = 16
"""Batches drawn at once, where a call of ``train`` asks for several."""
Self = TypeVar("Self", bound="ActorCritic")


class ActorCritic(DataAgent):
    """An agent that learns critics and an actor from transitions; a method adds :meth:`update`.

    Online, transitions come from the environment; offline (:meth:`learn_offline`) from a dataset; and where an agent
    that has seen a dataset goes on to :meth:`learn`, batches hold both. Offline-to-online is thus two calls:

    >>> agent = tiltyard.agents.make("iql", "tiltyard/Hopper-v5")                             # doctest: +SKIP
    >>> agent.learn_offline("tiltyard/hopper/medium-v0", 10_000).learn(20_000)               # doctest: +SKIP

    Args:
        policy: "MlpPolicy", "CnnPolicy" or "MultiInputPolicy".
        env: any environment with Box actions, or its id.
        learning_rate: of all networks.
        buffer_size: transitions kept.
        learning_starts: environment steps before the first update.
        batch_size: transitions an update.
        tau: step of the target networks.
        gamma: discount.
        train_freq: environment steps between calls of :meth:`train`, or ``(n, "episode")``.
        gradient_steps: updates a call (-1: as many as steps taken).
        action_noise: added to exploring actions: a number is the standard deviation of Gaussian noise.
        replay_buffer_class: chosen by the spaces if None.
        replay_buffer_kwargs: its keywords.
        n_steps: of n-step returns.
        offline_ratio: share of each online batch that is drawn from the dataset, if one was given; None draws from both
            as if they were one buffer.
        sampler: how often a dataset's trajectories are drawn: "uniform", "return-weighting" or "advantage-weighting";
            see :mod:`~.trajectory_weighting`.
        sampler_temperature: of the weighting samplers; small prefers the best trajectories more.
        matmul_precision: of the networks' hidden layers: "fp32", or "bf16" where the processor has it.
        overlap: learn while the environments step, in another thread: one core more at work, and actions that are
            chosen before the last step's updates instead of after them.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: of :class:`~.networks.ActorCriticPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": ActorCriticPolicy,
        "CnnPolicy": ActorCriticCnnPolicy,
        "MultiInputPolicy": ActorCriticMultiInputPolicy,
    }
    acts_in = (Box,)
    policy_defaults: ClassVar[dict[str, Any]] = {}
    """Keywords of the policy that the method asks for."""
    policy: ActorCriticPolicy
    actor: Any
    critic: Critics
    critic_target: Critics

    def __init__(
        self,
        policy: str | type[ActorCriticPolicy],
        env: Any,
        *,
        learning_rate: float | Schedule = 3e-4,
        buffer_size: int = 1_000_000,
        learning_starts: int = 100,
        batch_size: int = 256,
        tau: float = 0.005,
        gamma: float = 0.99,
        train_freq: int | tuple[int, str] = 1,
        gradient_steps: int = 1,
        action_noise: ActionNoise | float | None = None,
        replay_buffer_class: type[ReplayBuffer] | None = None,
        replay_buffer_kwargs: dict[str, Any] | None = None,
        n_steps: int = 1,
        offline_ratio: float | None = None,
        sampler: str = "uniform",
        sampler_temperature: float = 0.1,
        matmul_precision: str = "fp32",
        overlap: bool = False,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        super().__init__(
            policy,
            env,
            learning_rate,
            buffer_size=buffer_size,
            learning_starts=learning_starts,
            batch_size=batch_size,
            tau=tau,
            gamma=gamma,
            train_freq=train_freq,
            gradient_steps=gradient_steps,
            action_noise=action_noise,  # type: ignore[arg-type]
            replay_buffer_class=replay_buffer_class,
            replay_buffer_kwargs=replay_buffer_kwargs,
            n_steps=n_steps,
            policy_kwargs={**self.policy_defaults, **(policy_kwargs or {})},
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            verbose=verbose,
            device=device,
            support_multi_env=True,
            seed=seed,
            sde_support=False,
            supported_action_spaces=(Box,),
        )
        check_sampler(sampler, sampler_temperature)
        self.offline_ratio = offline_ratio
        self.sampler = sampler
        self.sampler_temperature = sampler_temperature
        self.matmul_precision = matmul_precision
        self.overlap = overlap
        self._due = 0  # updates that wait for the environments' next step
        self._overlapped: Overlapped | None = None
        self.demonstrations = None
        if _init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        keep_freed_memory()
        plain = self.replay_buffer_class is None and self.n_steps == 1
        if plain and fits(self.observation_space, self.action_space):
            self.replay_buffer_class = RowReplay
        super()._setup_model()
        self.policy.set_precision(self.matmul_precision)
        self.actor, self.critic, self.critic_target = self.policy.actor, self.policy.critic, self.policy.critic_target
        self._pair_targets()

    def _pair_targets(self) -> None:
        self._online = [param.detach() for param in self.critic.parameters()]
        self._targets = list(self.critic_target.parameters())
        if self.policy.actor_target is not None:
            self._online += [param.detach() for param in self.actor.parameters()]
            self._targets += list(self.policy.actor_target.parameters())

    @abstractmethod
    def update(self, batch: Batch) -> Metrics:
        """One update of everything from one batch; returns what is worth logging, without gradients."""

    def train(self, gradient_steps: int, batch_size: int = 256) -> None:
        """Does ``gradient_steps`` updates.

        Raises:
            ValueError: there is no transition yet to learn from.
        """
        if self.demonstrations is None and not self._stored:
            raise ValueError(
                f"{type(self).__name__} has no transitions to learn from: call learn_offline(dataset, n) or learn(n)"
            )
        if self._overlapped is not None:
            self._due += gradient_steps
        else:
            self._do_updates(gradient_steps, batch_size)

    def _do_updates(self, gradient_steps: int, batch_size: int) -> None:
        if not hasattr(self, "_logger"):  # as learn() does; here train() may come first
            self._logger = configure_logger(self.verbose, self.tensorboard_log)
        if isinstance(self.replay_buffer, RowReplay):
            self.replay_buffer.ahead = min(gradient_steps, AHEAD)
        self.policy.set_training_mode(True)
        self._update_learning_rate(self._optimizers())
        metrics: Metrics = {}
        for batch in self._batches(gradient_steps, batch_size):
            metrics |= self.update(batch)
            self._n_updates += 1
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        for name, value in metrics.items():
            self.logger.record(f"train/{name}", value.item())

    def follow(self) -> None:
        """Moves the target networks a step of ``tau`` towards the others."""
        polyak(self._targets, self._online, self.tau)

    def learn(self: Self, *args: Any, **kwargs: Any) -> Self:
        """As SB3's ``learn``: acts in the environment and learns from it, and from the dataset if one was given.

        Raises:
            ValueError: the method learns from data, and none was given.
        """
        if self.needs_data and self.demonstrations is None:
            raise ValueError(
                f"{type(self).__name__} learns from data: call learn_offline(dataset, gradient_steps) first"
            )
        if not self.overlap:
            learnt: Self = super().learn(*args, **kwargs)
            return learnt
        assert self.env is not None
        self._overlapped = Overlapped(self.env, self._catch_up)
        try:
            super().learn(*args, **kwargs)
        finally:
            self._overlapped.release()
            self._overlapped = None
        self._catch_up()
        return self

    def collect_rollouts(self, env: VecEnv, *args: Any, **kwargs: Any) -> RolloutReturn:
        """As in SB3; with ``overlap``, due updates run while the environments step."""
        return super().collect_rollouts(self._overlapped or env, *args, **kwargs)

    def _catch_up(self) -> None:
        due, self._due = self._due, 0
        if due:
            self._do_updates(due, self.batch_size)
            self.policy.set_training_mode(False)

    def _batches(self, gradient_steps: int, batch_size: int) -> Iterator[Batch]:
        for _ in range(gradient_steps):
            yield self.sample(batch_size)

    @property
    def _stored(self) -> int:
        """Transitions in the replay buffer."""
        return 0 if self.replay_buffer is None else self.replay_buffer.size() * self.n_envs

    def sample(self, batch_size: int) -> Batch:
        """A batch from the dataset, the replay buffer, or both in the shares that ``offline_ratio`` says."""
        data, stored = self.demonstrations, self._stored
        if data is None:
            return self.replayed(batch_size)
        if not stored:
            return self.demonstrated(batch_size)
        ratio = len(data) / (len(data) + stored) if self.offline_ratio is None else self.offline_ratio
        share = math.floor(batch_size * ratio + th.rand(()).item())  # rounded up as often as the rest asks for
        if share in (0, batch_size):
            return self.demonstrated(batch_size) if share else self.replayed(batch_size)
        return joined(self.demonstrated(share), self.replayed(batch_size - share))

    def replayed(self, n: int) -> Batch:
        """``n`` transitions of the replay buffer."""
        buffer = self.replay_buffer
        assert buffer is not None
        if isinstance(buffer, RowReplay) and self._vec_normalize_env is None:
            return buffer.columns.batch(buffer.draw(n).to(self.device), self.gamma, OWN)
        drawn = buffer.sample(n, env=self._vec_normalize_env)
        discounts = self.gamma if drawn.discounts is None else drawn.discounts.flatten()
        ended = (1 - drawn.dones).flatten() * discounts
        drawn_from = sources(n, OWN, self.device)
        rewards, following = drawn.rewards.flatten(), drawn.next_observations
        return Batch(drawn.observations, drawn.actions, rewards, following, ended, source=drawn_from)

    def _networks(self) -> list[str]:
        """Attributes with an optimiser of their own."""
        return ["actor", "critic", *(["policy.value"] if self.policy.value is not None else [])]

    def _optimizers(self) -> list[th.optim.Optimizer]:
        networks = [self.policy.actor, self.policy.critic, self.policy.value]
        return [network.optimizer for network in networks if network is not None]

    def _excluded_save_params(self) -> list[str]:
        names = ["actor", "critic", "critic_target", "demonstrations", "_online", "_targets", "_overlapped"]
        return [*super()._excluded_save_params(), *names]

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        return ["policy", *(f"{name}.optimizer" for name in self._networks())], []


def minimise(optimizer: th.optim.Optimizer, loss: Tensor) -> Tensor:
    """One step down ``loss``; returns it without gradient."""
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return loss.detach()


def joined(one: Batch, other: Batch) -> Batch:
    """Two batches of flat observations as one; what only one of them has is dropped."""
    pairs = zip(one, other, strict=True)
    parts: list[Any] = [None if a is None or b is None else th.cat([a, b]) for a, b in pairs]
    return Batch(*parts)
