"""Stream-x: deep reinforcement learning in which each sample is learnt from once, at once, and forgotten.

No replay buffer, no batches, constant memory. What makes it stable: steps bounded by ObGD (:mod:`.obgd`), eligibility
traces, sparse networks with layer normalisation (:mod:`.stream_networks`), observations normalised and rewards scaled
by statistics of the stream (:mod:`.stream_agent`).

Paper: Elsayed, Vasan and Mahmood, Streaming Deep Reinforcement Learning Finally Works, 2024 (arXiv 2410.14606). "The
authors' code" is github.com/mohmdelsayed/streaming-drl; its numbers are the defaults here.
"""

import math
from typing import Any, ClassVar

import numpy as np
import torch as th
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule

from .obgd import ObGD
from .stream_agent import Action, StreamAgent
from .stream_networks import (
    MIN_STD,
    ActorCriticStreamPolicy,
    Doubles,
    Floats,
    StreamPolicy,
)
from .stream_values import StreamQ, StreamTD

__all__ = ["StreamAC", "StreamQ", "StreamTD"]

_ONE = np.ones(1, np.float32)


def gaussian_head(mean: Doubles, raw: Doubles, action: Doubles, ent_coef: float) -> Floats:
    r"""The gradient of :math:`\log \pi(a) + c H(\pi)` by a Gaussian policy's outputs ``[mean, raw]``, each ``[n]``.

    With :math:`\sigma = softplus(raw)` and :math:`\epsilon = (a - \mu) / \sigma`: by mu it is :math:`\epsilon /
    \sigma`, by sigma :math:`(\epsilon^2 - 1 + c) / \sigma`, and sigma's own derivative is the logistic function.
    """
    std = np.maximum(np.logaddexp(0.0, raw), MIN_STD)
    error = (action - mean) / std
    by_raw = (error * error - 1.0 + ent_coef) / std / (1.0 + np.exp(-raw))
    return np.concatenate([error / std, by_raw]).astype(np.float32)


def softmax_head(probabilities: Doubles, action: int, ent_coef: float) -> Floats:
    r"""The gradient of :math:`\log \pi(a) + c H(\pi)` by the preferences ``[n]`` of a softmax policy.

    .. math:: 1[i = a] - p_i - c p_i (\log p_i + H)
    """
    logs = np.log(np.maximum(probabilities, 1e-30))
    gradient = -probabilities * (1.0 + ent_coef * (logs - probabilities @ logs))
    gradient[action] += 1.0
    return gradient.astype(np.float32)


class StreamAC(StreamAgent):
    r"""Stream AC(:math:`\lambda`): actor and critic learn from each step, along eligibility traces.

    .. math::
        \delta = r + \gamma v(s') - v(s), \qquad
        \nabla_w = \nabla v(s), \qquad
        \nabla_\theta = \nabla (\log \pi(a|s) + c \, sgn(\delta) H(\pi(\cdot|s)))

    each followed by :class:`~tiltyard.agents.control.obgd.ObGD`; the sign makes the entropy grow at either sign of
    delta. Actions in Box spaces are drawn from a Gaussian and clipped to the space's bounds.

    Args:
        policy: "MlpPolicy".
        env: one environment with Box observations and Box or Discrete actions, or its id.
        learning_rate: alpha, the largest step; what is taken is bounded by the kappas.
        gamma: discount.
        trace_lambda: lambda of the eligibility traces.
        kappa_policy: caution of the actor's steps; 0 for no bound.
        kappa_value: caution of the critic's steps; 0 for no bound.
        ent_coef: c, of the entropy.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: ``net_arch``, ``sparsity``; see :class:`.stream_networks.StreamPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: "cpu" or "auto", which is the same here.

    Raises:
        ValueError: more than one environment, spaces it does not speak, another device.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {"MlpPolicy": ActorCriticStreamPolicy}
    acts_in = (Box, Discrete)
    policy: ActorCriticStreamPolicy

    def __init__(
        self,
        policy: str | type[StreamPolicy],
        env: Any,
        *,
        learning_rate: float | Schedule = 1.0,
        gamma: float = 0.99,
        trace_lambda: float = 0.8,
        kappa_policy: float = 3.0,
        kappa_value: float = 2.0,
        ent_coef: float = 0.01,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        self.kappa_policy, self.ent_coef = kappa_policy, ent_coef
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

    def _setup_model(self) -> None:
        super()._setup_model()
        self.actor_optimizer: ObGD = self._optimizer(self.policy.actor, self.kappa_policy)

    def _act(self, features: Floats) -> Action:
        outputs = self.policy.actor.evaluate(features).astype(np.float64)
        if isinstance(self.action_space, Discrete):
            weights = np.exp(outputs - outputs.max())
            self._chosen: Any = weights / weights.sum()
            self._action: Any = min(int(np.searchsorted(self._chosen.cumsum(), self._rng.random())), len(weights) - 1)
            return int(self._action)
        half = len(outputs) // 2
        mean, raw = outputs[:half], outputs[half:]
        std = np.maximum(np.logaddexp(0.0, raw), MIN_STD)
        self._chosen, self._action = (mean, raw), mean + std * self._rng.standard_normal(half)
        space: Any = self.action_space
        action: Doubles = self._action.reshape(space.shape)
        return action.clip(space.low, space.high).astype(space.dtype)

    def _update(self, features: Floats, reward: float, after: Floats, ended: bool, done: bool) -> float:
        critic, actor = self.policy.critic, self.policy.actor
        following = 0.0 if ended else float(critic.evaluate(after)[0])
        delta = self._delta(reward, following, float(critic.evaluate(features)[0]))
        critic.differentiate(_ONE)
        entropy = math.copysign(self.ent_coef, delta)
        if isinstance(self.action_space, Discrete):
            head = softmax_head(self._chosen, self._action, entropy)
        else:
            mean, raw = self._chosen
            head = gaussian_head(mean, raw, self._action, entropy)
        actor.differentiate(head)
        self.actor_optimizer.step(delta, reset=done)
        self._bound = self.critic_optimizer.step(delta, reset=done)
        return delta

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        return [*names, "actor_optimizer"], variables
