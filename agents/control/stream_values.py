"""Stream Q and stream TD: state and action values learnt from a stream; see :mod:`.stream_x`.

Paper: Elsayed, Vasan and Mahmood, Streaming Deep Reinforcement Learning Finally Works, 2024 (arXiv 2410.14606).
"""

from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Discrete, MultiBinary, MultiDiscrete
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.common.utils import LinearSchedule

from .stream_agent import Action, StreamAgent
from .stream_networks import Doubles, Floats, PredictionStreamPolicy, StreamPolicy, ValueStreamPolicy

_ONE = np.ones(1, np.float32)


class StreamQ(StreamAgent):
    r"""Stream Q(:math:`\lambda`): Watkins's Q-learning with traces that end at exploring actions.

    .. math:: \delta = r + \gamma \max_b q(s', b) - q(s, a), \qquad \nabla = \nabla q(s, a)

    followed by :class:`~tiltyard.agents.control.obgd.ObGD`. Actions are drawn at random with a probability that falls
    from ``exploration_initial_eps`` to ``exploration_final_eps`` over the first ``exploration_fraction`` of training.

    Args:
        policy: "MlpPolicy".
        env: one environment with Box observations and Discrete actions, or its id.
        learning_rate: alpha, the largest step; what is taken is bounded by kappa.
        gamma: discount.
        trace_lambda: lambda of the eligibility traces.
        kappa_value: caution of the steps; 0 for no bound.
        exploration_fraction: share of training over which the exploration rate falls.
        exploration_initial_eps: exploration rate at first.
        exploration_final_eps: exploration rate thereafter.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: ``net_arch``, ``sparsity``; see :class:`.stream_networks.StreamPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: "cpu" or "auto", which is the same here.

    Raises:
        ValueError: more than one environment, spaces it does not speak, another device.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": ValueStreamPolicy}
    acts_in = (Discrete,)
    policy: ValueStreamPolicy

    def __init__(
        self,
        policy: str | type[StreamPolicy],
        env: Any,
        *,
        learning_rate: float | Schedule = 1.0,
        gamma: float = 0.99,
        trace_lambda: float = 0.8,
        kappa_value: float = 2.0,
        exploration_fraction: float = 0.05,
        exploration_initial_eps: float = 1.0,
        exploration_final_eps: float = 0.01,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        self.exploration_schedule = LinearSchedule(exploration_initial_eps, exploration_final_eps, exploration_fraction)
        self.exploration_rate = exploration_initial_eps
        super().__init__(
            policy,
            env,
            learning_rate=learning_rate,
            gamma=gamma,
            trace_lambda=trace_lambda,
            kappa_value=kappa_value,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            policy_kwargs=policy_kwargs,
            verbose=verbose,
            seed=seed,
            device=device,
            _init_setup_model=_init_setup_model,
        )

    def predict(
        self,
        observation: npt.NDArray[Any] | dict[str, npt.NDArray[Any]],
        state: tuple[npt.NDArray[Any], ...] | None = None,
        episode_start: npt.NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], tuple[npt.NDArray[Any], ...] | None]:
        """The best actions, or if not ``deterministic`` random ones at the present exploration rate, as SB3's DQN."""
        actions, state = super().predict(observation, state, episode_start, deterministic)
        if not deterministic:
            explores = self._rng.random(actions.shape) < self.exploration_rate
            actions = np.where(explores, self._rng.integers(self.action_space.n, size=actions.shape), actions)  # type: ignore[attr-defined]
        return actions, state

    def _act(self, features: Floats) -> Action:
        values = self.policy.critic.evaluate(features)
        best = self._action = int(values.argmax())
        self.exploration_rate = self.exploration_schedule(self._current_progress_remaining)
        if self._rng.random() < self.exploration_rate:
            self._action = int(self._rng.integers(len(values)))
        self._explored = self._action != best
        return self._action

    def _update(self, features: Floats, reward: float, after: Floats, ended: bool, done: bool) -> float:
        critic = self.policy.critic
        following = 0.0 if ended else float(critic.evaluate(after).max())
        values = critic.evaluate(features)
        delta = self._delta(reward, following, float(values[self._action]))
        head = np.zeros_like(values)
        head[self._action] = 1.0
        critic.differentiate(head)
        self._bound = self.critic_optimizer.step(delta, reset=done or self._explored)
        return delta


class Behaviour(Protocol):
    """Anything that acts: an agent of SB3 or of ours."""

    def predict(self, observation: Any, *, deterministic: bool = False) -> tuple[Any, Any]:
        """Actions for a batch of observations, and a state that is not used."""


class StreamTD(StreamAgent):
    r"""Stream TD(:math:`\lambda`): predicts the discounted return of a given policy while it acts.

    .. math:: \delta = r + \gamma v(s') - v(s), \qquad \nabla = \nabla v(s)

    followed by :class:`~tiltyard.agents.control.obgd.ObGD`.

    >>> critic = StreamTD("MlpPolicy", env, behaviour=agent).learn(10_000)  # doctest: +SKIP
    >>> critic.value(observations)                                         # doctest: +SKIP

    Args:
        policy: "MlpPolicy".
        env: one environment with Box observations, or its id.
        behaviour: the policy whose value is learnt (it is drawn from, not deterministic); random actions if None. It
            is no part of a checkpoint: give it to ``load`` again.
        learning_rate: alpha, the largest step; what is taken is bounded by kappa.
        gamma: discount.
        trace_lambda: lambda of the eligibility traces.
        kappa_value: caution of the steps; 0 for no bound.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: ``net_arch``, ``sparsity``; see :class:`.stream_networks.StreamPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: "cpu" or "auto", which is the same here.

    Raises:
        ValueError: more than one environment, spaces it does not speak, another device.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": PredictionStreamPolicy}
    acts_in = (Box, Discrete, MultiDiscrete, MultiBinary)
    policy: PredictionStreamPolicy

    def __init__(
        self,
        policy: str | type[StreamPolicy],
        env: Any,
        *,
        behaviour: Behaviour | None = None,
        learning_rate: float | Schedule = 1.0,
        gamma: float = 0.99,
        trace_lambda: float = 0.8,
        kappa_value: float = 2.0,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        self._given.pop("behaviour", None)
        self.behaviour = behaviour
        super().__init__(
            policy,
            env,
            learning_rate=learning_rate,
            gamma=gamma,
            trace_lambda=trace_lambda,
            kappa_value=kappa_value,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            policy_kwargs=policy_kwargs,
            verbose=verbose,
            seed=seed,
            device=device,
            _init_setup_model=_init_setup_model,
        )

    def value(self, observations: npt.NDArray[Any]) -> Doubles:
        """Predicted discounted returns ``[n]`` of observations ``[n, ...]``, in the environment's rewards."""
        with th.no_grad():
            scaled = self.policy.critic(self.policy.features(th.as_tensor(observations))).squeeze(1)
        values: Doubles = scaled.double().numpy() * self.policy.returns.scale
        return values

    def predict(
        self,
        observation: npt.NDArray[Any] | dict[str, npt.NDArray[Any]],
        state: tuple[npt.NDArray[Any], ...] | None = None,
        episode_start: npt.NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], tuple[npt.NDArray[Any], ...] | None]:
        """The behaviour's actions."""
        if self.behaviour is None:
            return super().predict(observation, state, episode_start, deterministic)
        return self.behaviour.predict(observation, deterministic=deterministic)[0], None

    def _act(self, features: Floats) -> Action:
        actions: npt.NDArray[Any] = self.predict(self._last_obs)[0]  # type: ignore[arg-type]
        return actions[0]  # type: ignore[no-any-return]

    def _update(self, features: Floats, reward: float, after: Floats, ended: bool, done: bool) -> float:
        critic = self.policy.critic
        following = 0.0 if ended else float(critic.evaluate(after)[0])
        delta = self._delta(reward, following, float(critic.evaluate(features)[0]))
        critic.differentiate(_ONE)
        self._bound = self.critic_optimizer.step(delta, reset=done)
        return delta
