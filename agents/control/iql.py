"""IQL: learns the values of the best actions that its data hold, without ever asking for those of others.

Paper: Kostrikov, Nair, Levine, Offline Reinforcement Learning with Implicit Q-Learning (2021), and the authors' code.
"""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import torch as th
from torch import Tensor

from .actor_critic import ActorCritic, Metrics, minimise
from .datasets import Transitions
from .replay import Batch
from .settings import OffPolicySettings, takes

ValueLoss = Callable[[Tensor], Tensor]
CriticLoss = Callable[[Batch, Tensor], tuple[Tensor, Tensor]]
RETURN_RANGE = 1000.0
"""Of the returns of a dataset's episodes, after ``reward_scale="auto"``; the authors' number."""


def expectile_loss(error: Tensor, expectile: float) -> Tensor:
    r""":math:`L_2^\tau(u) = |\tau - 1(u < 0)| u^2` of each error u = Q - V (equation 4): those above count more."""
    weight = th.where(error > 0, expectile, 1 - expectile)
    return weight * error.square()


def advantage_weight(advantage: Tensor, beta: float, limit: float) -> Tensor:
    r""":math:`\min(\exp(\beta A), limit)` of each advantage."""
    return (beta * advantage).exp().clamp_max(limit)


@dataclass(frozen=True)
class InSampleSettings(OffPolicySettings):
    """Those of IQL and its relatives, beside what all agents take.

    Args:
        beta: inverse temperature; 0 imitates, large follows the critics.
        weight_limit: of an action's weight.
        reward_scale: rewards are multiplied by it; "auto" sets it when a dataset is given so that 1000 lie between the
            returns of its best and its worst episode, as IQL's authors do for locomotion (where all are equal, between
            them and 0); it stays 1 for rewards that ``reward_shift`` shifts.
        reward_shift: is added to rewards before; "auto" is -1 for a dataset whose rewards are all 0 or 1 and are not
            all the same, as the authors do for mazes, and 0 for any other.
        cosine_schedule: lower the actor's learning rate to 0 along half a cosine in :meth:`learn_offline`, as IQL's
            paper does. Give False where :meth:`learn` follows, which has the whole rate again: the authors fine-tune
            agents that learnt offline at a constant one.
    """

    _: KW_ONLY
    beta: float = 3.0
    weight_limit: float = 100.0
    reward_scale: float | str = 1.0
    reward_shift: float | str = "auto"
    cosine_schedule: bool = True


class InSample:
    r"""The update of IQL and f-DVL: V and Q from the data's actions alone, and a policy that imitates by advantage.

    With the least of the target critics, :math:`Q'(s, a) = \min_i Q'_i(s, a)`, an update minimises

    .. math::
        L_V &= E[\ell(Q'(s, a) - V(s))] \\
        L_\pi &= -E[\min(e^{\beta (Q'(s, a) - V(s))}, limit) \log \pi(a|s)] \\
        L_Q &= E[h(r + \gamma V(s') - Q_i(s, a))]

    in this order, as in IQL's code; then the target critics follow. What l and h are, is the method's; r are rewards
    after ``reward_shift`` and ``reward_scale``.

    Args:
        agent: whose networks are updated.
        asked: its settings.
    """

    def __init__(self, agent: ActorCritic, asked: InSampleSettings) -> None:
        self.agent, self.asked = agent, asked
        self.reward_factor = th.tensor(1.0 if isinstance(asked.reward_scale, str) else float(asked.reward_scale))
        self.reward_offset = th.tensor(0.0 if isinstance(asked.reward_shift, str) else float(asked.reward_shift))

    def fit_rewards(self, transitions: Transitions) -> None:
        """Finds shift and scale of rewards, where they are the dataset's to say."""
        rewards = transitions.rewards
        sparse = bool(np.isin(rewards, (0, 1)).all()) and np.ptp(rewards) > 0
        if isinstance(self.asked.reward_shift, str):
            self.reward_offset.fill_(-1.0 if sparse else 0.0)
        if isinstance(self.asked.reward_scale, str):
            returns = transitions.episode_returns
            between = float(np.ptp(returns) or np.abs(returns).max())
            self.reward_factor.fill_(RETURN_RANGE / between if between > 0 and not self.reward_offset else 1.0)

    def update(self, batch: Batch, value_loss: ValueLoss, critic_loss: CriticLoss) -> Metrics:
        """One update of everything.

        Args:
            batch: of the data, or replayed.
            value_loss: the loss l of each error Q'(s, a) - V(s), ``[B]``.
            critic_loss: the loss h of each critic on a batch and its targets ``[B]``, and the values, both ``[n, B]``.
        """
        policy, actor, critic, asked = self.agent.policy, self.agent.actor, self.agent.critic, self.asked
        value = policy.value
        assert value is not None
        q = policy.critic_target.minimum(batch.observations, batch.actions)
        error = q - value(batch.observations)[0]
        losses = {"value_loss": minimise(value.optimizer, value_loss(error).mean())}
        with th.no_grad():
            advantage = q - value(batch.observations)[0]
            rewards = self.reward_factor * (batch.rewards + self.reward_offset)
            target = rewards + batch.discounts * value(batch.next_observations)[0]
        weight = advantage_weight(advantage, asked.beta, asked.weight_limit)
        log_prob = actor.log_prob(batch.observations, batch.actions)
        losses["actor_loss"] = minimise(actor.optimizer, -(weight * log_prob).mean())
        loss, values = critic_loss(batch, target)
        losses["critic_loss"] = minimise(critic.optimizer, loss.mean(dim=1).sum())
        self.agent.update_targets()
        return losses | {"q": values.mean(), "advantage_weight": weight.mean()}

    def lower_rate(self) -> None:
        """Lowers the actor's learning rate along a cosine, if that is wanted and nothing was experienced yet."""
        agent, asked = self.agent, self.asked
        experienced = agent.replay_buffer is not None and agent.replay_buffer.size() > 0
        if asked.cosine_schedule and agent.demonstrations is not None and not experienced:
            done = 1 - agent._current_progress_remaining
            for group in agent.actor.optimizer.param_groups:
                group["lr"] *= 0.5 * (1 + math.cos(math.pi * done))


@dataclass(frozen=True)
class IQLSettings(InSampleSettings):
    """Those of IQL, beside its relatives' (for mazes the paper has beta 10).

    Args:
        expectile: tau; 0.5 is the value of the data's policy, towards 1 that of its best actions (mazes: 0.9).
    """

    _: KW_ONLY
    expectile: float = 0.7


class IQL(ActorCritic):
    r"""Implicit Q-learning.

    With the least of the target critics, :math:`Q'(s, a) = \min_i Q'_i(s, a)`, on actions of the data alone,

    .. math::
        L_V &= E[L_2^\tau(Q'(s, a) - V(s))]                              \quad\text{(equation 5)} \\
        L_\pi &= -E[\min(e^{\beta (Q'(s, a) - V(s))}, 100) \log \pi(a|s)] \quad\text{(equation 7)} \\
        L_Q &= E[(r + \gamma V(s') - Q_i(s, a))^2]                        \quad\text{(equation 6)}

    in this order, as in the authors' code; then the target critics follow. The actor is a Gaussian around tanh of its
    network with one learned deviation an action dimension. Defaults are the paper's for locomotion.

    All layers begin orthogonally with a gain of sqrt(2), as theirs do.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {"actor": "gaussian", "n_values": 1, "orthogonal_init": math.sqrt(2)}
    settings: IQLSettings
    reward_factor: Tensor
    reward_offset: Tensor
    saved_tensors = ("reward_factor", "reward_offset")

    @takes(IQLSettings)
    def __init__(self, settings: IQLSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        self.in_sample = InSample(self, self.settings)
        self.reward_factor, self.reward_offset = self.in_sample.reward_factor, self.in_sample.reward_offset

    def on_dataset(self, transitions: Transitions) -> None:
        """Finds shift and scale of rewards, where they are the dataset's to say."""
        self.in_sample.fit_rewards(transitions)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""

        def value_loss(error: Tensor) -> Tensor:
            return expectile_loss(error, self.settings.expectile)

        def critic_loss(batch: Batch, target: Tensor) -> tuple[Tensor, Tensor]:
            return self.critic.loss(batch.observations, batch.actions, target)

        return self.in_sample.update(batch, value_loss, critic_loss)

    def _update_learning_rate(self, optimizers: Any) -> None:
        super()._update_learning_rate(optimizers)
        self.in_sample.lower_rate()
