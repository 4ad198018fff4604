"""IQL: learns the values of the best actions that its data hold, without ever asking for those of others.

Paper: Kostrikov, Nair, Levine, Offline Reinforcement Learning with Implicit Q-Learning (2021), and the authors' code.
"""

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch as th
from torch import Tensor

from .actor_critic import ActorCritic, Metrics, minimise
from .datasets import Transitions
from .replay import Batch

RETURN_RANGE = 1000.0
"""Of the returns of a dataset's episodes, after ``reward_scale="auto"``; the authors' number."""


def expectile_loss(error: Tensor, expectile: float) -> Tensor:
    r""":math:`L_2^\tau(u) = |\tau - 1(u < 0)| u^2` of each error u = Q - V (equation 4): those above count more."""
    weight = th.where(error > 0, expectile, 1 - expectile)
    return weight * error.square()


def advantage_weight(advantage: Tensor, beta: float, limit: float) -> Tensor:
    r""":math:`\min(\exp(\beta A), limit)` of each advantage."""
    return (beta * advantage).exp().clamp_max(limit)


class InSample(ActorCritic):
    r"""Learns V and Q from actions of the data alone, and a policy that imitates them by advantage: IQL and relatives.

    With the least of the target critics, :math:`Q'(s, a) = \min_i Q'_i(s, a)`, an update minimises

    .. math::
        L_V &= E[\ell(Q'(s, a) - V(s))] \\
        L_\pi &= -E[\min(e^{\beta (Q'(s, a) - V(s))}, limit) \log \pi(a|s)] \\
        L_Q &= E[h(r + \gamma V(s') - Q_i(s, a))]

    in this order, as in IQL's code; then the target critics follow. A method says what :meth:`value_loss` l is.

    Args:
        policy: "MlpPolicy", "CnnPolicy" or "MultiInputPolicy".
        env: any environment with Box actions, or its id.
        beta: inverse temperature; 0 imitates, large follows the critics.
        weight_limit: of an action's weight.
        reward_scale: rewards are multiplied by it; "auto" sets it when a dataset is given so that 1000 lie between the
            returns of its best and its worst episode, as IQL's paper does for locomotion.
        cosine_schedule: lower the actor's learning rate to 0 along half a cosine in :meth:`learn_offline`, as IQL's
            paper does; in :meth:`learn` it stays, as in the authors' code.
        **settings: see :class:`~.actor_critic.ActorCritic`.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {"actor": "gaussian", "n_values": 1}
    reward_factor: Tensor

    def __init__(
        self,
        policy: str | type[Any],
        env: Any,
        *,
        beta: float = 3.0,
        weight_limit: float = 100.0,
        reward_scale: float | str = 1.0,
        cosine_schedule: bool = True,
        **settings: Any,
    ) -> None:
        self.beta = beta
        self.weight_limit = weight_limit
        self.reward_scale = reward_scale
        self.cosine_schedule = cosine_schedule
        super().__init__(policy, env, **settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.reward_factor = th.tensor(1.0 if isinstance(self.reward_scale, str) else float(self.reward_scale))

    def take_in(self, transitions: Transitions) -> None:
        """Finds the scale of rewards, if that is the dataset's to say."""
        if self.reward_scale == "auto":
            size = max(np.ptp(transitions.episode_returns), np.abs(transitions.episode_returns).max())
            self.reward_factor.fill_(RETURN_RANGE / size if size > 0 else 1.0)

    @abstractmethod
    def value_loss(self, error: Tensor) -> Tensor:
        """The loss l of each error Q'(s, a) - V(s), ``[B]``."""

    def critic_loss(self, batch: Batch, target: Tensor) -> tuple[Tensor, Tensor]:
        """The loss h of each critic's error ``[n, B]``, and values ``[n, B]``; what the critics' head learns by."""
        return self.critic.loss(batch.observations, batch.actions, target)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        value = self.policy.value
        assert value is not None
        q = self.critic_target.minimum(batch.observations, batch.actions)
        error = q - value(batch.observations)[0]
        value_loss = minimise(value.optimizer, self.value_loss(error).mean())
        with th.no_grad():
            advantage = q - value(batch.observations)[0]
            target = self.reward_factor * batch.rewards + batch.discounts * value(batch.next_observations)[0]
        weight = advantage_weight(advantage, self.beta, self.weight_limit)
        log_prob = self.actor.log_prob(batch.observations, batch.actions)
        actor_loss = minimise(self.actor.optimizer, -(weight * log_prob).mean())
        loss, values = self.critic_loss(batch, target)
        critic_loss = minimise(self.critic.optimizer, loss.mean(dim=1).sum())
        self.follow()
        losses = {"value_loss": value_loss, "actor_loss": actor_loss, "critic_loss": critic_loss}
        return losses | {"q": values.mean(), "advantage_weight": weight.mean()}

    def _update_learning_rate(self, optimizers: Any) -> None:
        super()._update_learning_rate(optimizers)
        experienced = self.replay_buffer is not None and self.replay_buffer.size() > 0
        if self.cosine_schedule and self.demonstrations is not None and not experienced:
            done = 1 - self._current_progress_remaining
            for group in self.actor.optimizer.param_groups:
                group["lr"] *= 0.5 * (1 + math.cos(math.pi * done))

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        return names, [*variables, "reward_factor"]


class IQL(InSample):
    r"""Implicit Q-learning.

    With the least of the target critics, :math:`Q'(s, a) = \min_i Q'_i(s, a)`, on actions of the data alone,

    .. math::
        L_V &= E[L_2^\tau(Q'(s, a) - V(s))]                              \quad\text{(equation 5)} \\
        L_\pi &= -E[\min(e^{\beta (Q'(s, a) - V(s))}, 100) \log \pi(a|s)] \quad\text{(equation 7)} \\
        L_Q &= E[(r + \gamma V(s') - Q_i(s, a))^2]                        \quad\text{(equation 6)}

    in this order, as in the authors' code; then the target critics follow. The actor is a Gaussian around tanh of its
    network with one learned deviation an action dimension. Defaults are the paper's for locomotion.

    Departures: layers begin as torch's do, not orthogonal; and see ``reward_scale``.

    Args:
        policy: "MlpPolicy", "CnnPolicy" or "MultiInputPolicy".
        env: any environment with Box actions, or its id.
        expectile: tau; 0.5 is the value of the data's policy, towards 1 that of its best actions (mazes: 0.9).
        **settings: see :class:`InSample` (mazes: beta 10).
    """

    def __init__(self, policy: str | type[Any], env: Any, *, expectile: float = 0.7, **settings: Any) -> None:
        self.expectile = expectile
        super().__init__(policy, env, **settings)

    def value_loss(self, error: Tensor) -> Tensor:
        """The expectile loss."""
        return expectile_loss(error, self.expectile)
