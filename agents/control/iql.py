"""IQL: learns the values of the best actions that its data hold, without ever asking for those of others.

Paper: Kostrikov, Nair, Levine, Offline Reinforcement Learning with Implicit Q-Learning (2021), and the authors' code.
"""

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, cast

import numpy as np
import torch as th
from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .datasets import Transitions
from .explicit import Step, explicit, imitation, least, regression
from .networks import Critics
from .replay import Batch
from .settings import OffPolicySettings, takes

ValueLoss = Callable[..., tuple[Tensor, Tensor]]
CriticStep = Callable[..., Step]
RETURN_RANGE = 1000.0
"""Of the returns of a dataset's episodes, after ``reward_scale="auto"``; the authors' number."""


def expectile_loss(error: Tensor, expectile: float) -> Tensor:
    r""":math:`L_2^\tau(u) = |\tau - 1(u < 0)| u^2` of each error u = Q - V (equation 4): those above count more."""
    weight = th.where(error > 0, expectile, 1 - expectile)
    return weight * error.square()


def expectile(error: Tensor, expectile: float) -> tuple[Tensor, Tensor]:
    """:func:`expectile_loss`, and its slope."""
    return expectile_loss(error, expectile), 2 * th.where(error > 0, expectile, 1 - expectile) * error


def value_gradients(
    value: Critics, target: Critics, batch: Batch, value_loss: ValueLoss, parameters: tuple[Any, ...]
) -> Step:
    """What V learns from its errors; the least values Q'(s, a) ``[B]`` are seen."""
    q = least(target, batch.observations, batch.actions)
    passed = value.passed(batch.observations)
    loss, slope = value_loss(q - value.head.value(passed.out)[0], *parameters)
    g = value.head.value_slope(passed.out) * (slope / -len(q))[:, None]
    return Step(loss.mean(), passed.gradients(g), q)


def policy_gradients(
    actor: Any, value: Critics, batch: Batch, q: Tensor, weighting: tuple[float, float]
) -> tuple[Step, Tensor]:
    """What the actor learns, with the arguments of :func:`advantage_weight`; and V(s') ``[B]``."""
    features = th.cat([value.features(batch.observations), value.features(batch.next_observations)])
    here, following = value.head.value(value.net(features))[0].detach().chunk(2)
    passed = actor.net.passed(actor.features(batch.observations))
    return imitation(actor, passed, batch.actions, advantage_weight(q - here, *weighting)), following


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
            all the same, as the authors do for mazes, and 0 for any other. It is of single steps: with ``n_steps``
            above 1 there is none.
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

    Raises:
        ValueError: rewards to shift, and returns of several steps.
    """

    def __init__(self, agent: ActorCritic) -> None:
        self.agent = agent
        asked = self.asked
        self.reward_factor = th.tensor(1.0 if isinstance(asked.reward_scale, str) else float(asked.reward_scale))
        self.reward_offset = th.tensor(0.0)
        self._shift_by(0.0 if isinstance(asked.reward_shift, str) else float(asked.reward_shift))

    @property
    def asked(self) -> InSampleSettings:
        """The agent's settings, as they are now."""
        return cast(InSampleSettings, self.agent.settings)

    def _shift_by(self, offset: float) -> None:
        if offset and self.agent.n_steps != 1:
            raise ValueError(
                f"rewards are shifted by {offset:g} a step, and n_steps={self.agent.n_steps} adds up several steps as "
                "one: give n_steps=1, or reward_shift=0"
            )
        self.reward_offset.fill_(offset)

    def fit_rewards(self, transitions: Transitions) -> None:
        """Finds shift and scale of rewards, where they are the dataset's to say.

        Raises:
            ValueError: rewards to shift, and returns of several steps.
        """
        rewards = transitions.rewards
        sparse = bool(np.isin(rewards, (0, 1)).all()) and np.ptp(rewards) > 0
        if isinstance(self.asked.reward_shift, str):
            self._shift_by(-1.0 if sparse else 0.0)
        if isinstance(self.asked.reward_scale, str):
            returns = transitions.episode_returns
            between = float(np.ptp(returns) or np.abs(returns).max())
            self.reward_factor.fill_(RETURN_RANGE / between if between > 0 and not self.reward_offset else 1.0)

    def update(
        self,
        batch: Batch,
        value_loss: ValueLoss,
        parameters: tuple[Any, ...],
        critic_step: CriticStep = regression,
        *limits: float,
    ) -> Metrics:
        """One update of everything.

        Args:
            batch: of the data, or replayed.
            value_loss: the loss l of each error Q'(s, a) - V(s), ``[B]``, and its slope.
            parameters: further arguments of it.
            critic_step: what critics learn, as :func:`~.explicit.regression`.
            *limits: further arguments of it.
        """
        agent, asked, policy = self.agent, self.asked, self.agent.policy
        value, actor, critic = policy.value, agent.actor, agent.critic
        assert value is not None
        step = agent.compute(value_gradients, value, policy.critic_target, batch, value_loss, parameters)
        losses, q = {"value_loss": value.descend(*step[:2])}, step.seen
        weighting = asked.beta, asked.weight_limit
        step, following = agent.compute(policy_gradients, actor, value, batch, q, weighting)
        losses |= {"actor_loss": actor.descend(*step[:2]), "advantage_weight": step.seen.mean()}
        target = self.reward_factor * (batch.rewards + self.reward_offset) + batch.discounts * following
        step = agent.compute(critic_step, critic, batch.observations, batch.actions, target, *limits)
        losses |= {"critic_loss": critic.descend(*step[:2]), "q": step.seen}
        agent.update_targets()
        return losses

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
    network with one learned deviation an action dimension. Defaults are the paper's for locomotion, but for
    ``reward_scale``, which is "auto" there.

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
        self.in_sample = InSample(self)
        self.reward_factor, self.reward_offset = self.in_sample.reward_factor, self.in_sample.reward_offset

    def on_dataset(self, transitions: Transitions) -> None:
        """Finds shift and scale of rewards, where they are the dataset's to say."""
        self.in_sample.fit_rewards(transitions)

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        return self.in_sample.update(batch, expectile, (self.settings.expectile,))

    def _update_learning_rate(self, optimizers: Any) -> None:
        super()._update_learning_rate(optimizers)
        self.in_sample.lower_rate()
