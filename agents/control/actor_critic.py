"""What actor-critic agents share: one loop of updates over replayed, demonstrated or mixed transitions."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import torch as th
from gymnasium.spaces import Box, Dict
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import MaybeCallback, RolloutReturn
from stable_baselines3.common.utils import configure_logger
from stable_baselines3.common.vec_env import VecEnv
from torch import Tensor

from ..restoring import NOT_SETTINGS
from ..settings import check_settings
from .actor_critic_policy import ActorCriticCnnPolicy, ActorCriticMultiInputPolicy, ActorCriticPolicy
from .base import OffPolicyAgent
from .compiled import Compiled
from .datasets import Transitions
from .networks import Critics, Network
from .offline import LearnsFromData, from_data, taken_in
from .overlap import Overlapped
from .precision import warn_if_slow
from .replay import (
    DATASET,
    OWN,
    Batch,
    Columns,
    Demonstrations,
    DictReplay,
    FloatArray,
    RowReplay,
    fits,
    joined,
    sources,
)
from .settings import OffPolicySettings, check_subset, sb3_keywords, takes
from .targets import Targets
from .trajectory_weighting import sampling_weights
from .updates import keep_freed_memory

if TYPE_CHECKING:
    from minari import MinariDataset

Metrics = dict[str, Tensor]
AHEAD = 16
"""Batches drawn at once, where a call of ``train`` asks for several."""
Self = TypeVar("Self", bound="ActorCritic")
Result = TypeVar("Result")


class ActorCritic(LearnsFromData, OffPolicyAgent):
    """An agent that learns critics and an actor from transitions; a method adds :meth:`update`.

    Online, transitions come from the environment; offline (:meth:`learn_offline`) from a dataset; and where an agent
    that has seen a dataset goes on to :meth:`learn`, batches hold both. Offline-to-online is thus two calls:

    >>> agent = tiltyard.agents.make("iql", "tiltyard/Hopper-v5")                             # doctest: +SKIP
    >>> agent.learn_offline("tiltyard/hopper/medium-v0", 10_000).learn(20_000)               # doctest: +SKIP

    Settings are those of :class:`~.settings.OffPolicySettings` and the method's own.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": ActorCriticPolicy,
        "CnnPolicy": ActorCriticCnnPolicy,
        "MultiInputPolicy": ActorCriticMultiInputPolicy,
    }
    acts_in = (Box,)
    policy_defaults: ClassVar[dict[str, Any]] = {}
    """Keywords of the policy that the method asks for."""
    needs_data: ClassVar[bool] = False
    """Whether there is nothing to learn before a dataset is given."""
    saved_parts: ClassVar[tuple[str, ...]] = ()
    """Attributes that checkpoints hold besides the networks: modules, and optimisers where they are not None."""
    saved_tensors: ClassVar[tuple[str, ...]] = ()
    """Tensors that checkpoints hold, where they are not None."""
    explores_by_state: ClassVar[bool] = False
    settings: OffPolicySettings
    _changeable: frozenset[str] = frozenset()
    offline_ratio: float | None
    sampler: str
    sampler_temperature: float
    matmul_precision: str
    overlap: bool
    compiled: bool
    policy: ActorCriticPolicy
    actor: Any
    actor_target: Any
    critic: Critics
    critic_target: Critics
    target_update_interval: int = 1

    @takes(OffPolicySettings)
    def __init__(self, settings: OffPolicySettings) -> None:
        self.construct(settings)

    def construct(self, settings: OffPolicySettings) -> None:
        """What every constructor does with its settings, each of which becomes an attribute, as in SB3."""
        self.settings = replace(settings, env=None)
        explorer = {"actor": "state-dependent"} if getattr(settings, "use_sde", False) else {}
        if explorer and not self.explores_by_state:
            raise ValueError(f"use_sde=True is for SAC, not for {type(self).__name__}: leave it out")
        super().__init__(
            **sb3_keywords(
                OffPolicyAlgorithm,
                settings,
                policy_kwargs={**self.policy_defaults, **explorer, **(settings.policy_kwargs or {})},
                sde_support=False,
                supported_action_spaces=(Box,),
            )
        )
        own = settings.__dataclass_fields__.keys() - vars(self).keys() - {"policy", "_init_setup_model"}
        vars(self).update({name: getattr(settings, name) for name in own})
        self._changeable = frozenset(settings.__dataclass_fields__) - NOT_SETTINGS - {"policy"}
        self._due = 0  # updates that wait for the environments' next step
        self._overlapped: Overlapped | None = None
        self.demonstrations: Demonstrations | None = None
        if settings._init_setup_model:
            self._setup_model()

    def __setattr__(self, name: str, value: Any) -> None:
        """Like SB3's attributes a setting may be changed later: it is checked, and holds from the next update on.

        Networks and the replay buffer are there already: what they are made by holds for the agent that is loaded from
        its checkpoint.

        Raises:
            TypeError, ValueError: what the constructor would refuse; the setting stays as it was.
        """
        if name in self._changeable:
            check_settings(type(self), {name: value})
            if name == "critic_subset" and "critic" in vars(self):
                check_subset(value, self.critic.net.n)
            self.settings = replace(self.settings, **{name: value})
        super().__setattr__(name, value)
        if name == "learning_rate" and "lr_schedule" in vars(self):
            self._setup_lr_schedule()

    def _setup_model(self) -> None:
        keep_freed_memory()
        plain = self.replay_buffer_class is None and self.n_steps == 1 and not self.optimize_memory_usage
        if plain and fits(self.observation_space, self.action_space):
            self.replay_buffer_class = RowReplay
        elif plain and isinstance(self.observation_space, Dict):
            self.replay_buffer_class = DictReplay
        super()._setup_model()
        self.policy.set_precision(self.matmul_precision)
        warn_if_slow(self.matmul_precision, self.device)
        self.actor, self.critic, self.critic_target = self.policy.actor, self.policy.critic, self.policy.critic_target
        self.actor_target = self.policy.actor_target
        self._pair_targets()
        self._compiled = Compiled(self) if self.compiled else None

    def compute(self, function: Callable[..., Result], *args: Any) -> Result:
        """``function(*args)`` of networks and tensors, compiled if that is wanted."""
        return function(*args) if self._compiled is None else self._compiled(function, *args)

    def _pair_targets(self) -> None:
        with_actor = [] if self.actor_target is None else [(self.actor, self.actor_target)]
        self._targets = Targets([(self.critic, self.critic_target), *with_actor])

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of a copy: its targets follow its own networks, and its compiled update, if any, is its own."""
        vars(self).update(state)
        self._pair_targets()
        self._compiled = Compiled(self) if self.compiled else None

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
            self._targets.copy_statistics()
            self._n_updates += 1
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        for name, value in metrics.items():
            self.logger.record(f"train/{name}", value.item())

    def update_targets(self) -> None:
        """Moves the targets a step of ``tau`` towards the networks, every ``target_update_interval``-th update."""
        if (self._n_updates + 1) % self.target_update_interval == 0:
            self._targets.move(self.tau)

    def learn(
        self: Self,
        total_timesteps: int,
        callback: MaybeCallback = None,
        log_interval: int = 4,
        tb_log_name: str | None = None,
        reset_num_timesteps: bool = True,
        progress_bar: bool = False,
    ) -> Self:
        """As SB3's ``learn``: acts in the environment and learns from it, and from the dataset if one was given.

        Folders of the log are called after the class unless ``tb_log_name`` says otherwise.

        Raises:
            ValueError: the method learns from data, and none was given.
        """
        if self.needs_data and self.demonstrations is None:
            raise ValueError(
                f"{type(self).__name__} learns from data: call learn_offline(dataset, gradient_steps) first"
            )
        name = tb_log_name or type(self).__name__
        how: Any = (total_timesteps, callback, log_interval, name, reset_num_timesteps, progress_bar)
        if not self.overlap:
            learnt: Self = super().learn(*how)
            return learnt
        assert self.env is not None
        self._overlapped = Overlapped(self.env, self._catch_up)
        try:
            super().learn(*how)
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
        share = from_data(batch_size, 0 if data is None else len(data), stored, self.offline_ratio)
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

    def _demonstrations(self, dataset: "MinariDataset | str | Transitions") -> Demonstrations:
        return taken_in(self, dataset)

    def on_dataset(self, transitions: Transitions) -> None:
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

    @property
    def networks(self) -> list[Network]:
        """Those that learn."""
        return [network for network in (self.actor, self.critic, self.policy.value) if network is not None]

    def _networks(self) -> list[str]:
        """Attributes with an optimiser of their own."""
        return ["actor", "critic", *(["policy.value"] if self.policy.value is not None else [])]

    def _optimizers(self) -> list[th.optim.Optimizer]:
        networks = [self.policy.actor, self.policy.critic, self.policy.value]
        return [network.optimizer for network in networks if network is not None]

    def _excluded_save_params(self) -> list[str]:
        names = ["actor", "actor_target", "critic", "critic_target", "_targets", "_overlapped"]
        return [*super()._excluded_save_params(), *names, "_compiled"]

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        parts = [name for name in self.saved_parts if getattr(self, name) is not None]
        tensors = [name for name in self.saved_tensors if getattr(self, name) is not None]
        return ["policy", *(f"{name}.optimizer" for name in self._networks()), *parts], tensors
