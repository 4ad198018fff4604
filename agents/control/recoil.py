"""ReCOIL: imitates an expert with the help of any other data of the same environment, without rewards or discriminator.

Papers: Sikchi, Zheng, Zhang, Niekum, Dual RL: Unification and New Methods for Reinforcement and Imitation Learning
(2023); the bounded targets are those of Al-Hafez et al., LS-IQ: Implicit Reward Regularization for Inverse
Reinforcement Learning (2023), which the authors' code takes over.
"""

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import torch as th
from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .datasets import Transitions
from .f_dvl_recoil import gumbel_loss
from .iql import advantage_weight
from .replay import EXPERT, Batch, Demonstrations, joined
from .settings import OffPolicySettings, takes
from .updates import minimise

if TYPE_CHECKING:
    from minari import MinariDataset

Self = TypeVar("Self", bound="ReCOIL")


@dataclass(frozen=True)
class ReCOILSettings(OffPolicySettings):
    """Those of ReCOIL, beside what all agents take.

    Args:
        temperature: T; raise it (2.5, 5, 10, 20) while values run off.
        beta: inverse temperature of the actor's weights; 0 imitates all data alike.
        weight_limit: of an action's weight.
        reward_bound: rho.
        terminal_value: of a terminated episode's future; -Q_max if None, which takes termination for failure, as the
            authors' code does. Give Q_max where the expert's episodes terminate by success.
        max_clip: limit of z; None for none.
    """

    _: KW_ONLY
    temperature: float = 5.0
    beta: float = 3.0
    weight_limit: float = 100.0
    reward_bound: float = 2.0
    terminal_value: float | None = None
    max_clip: float | None = 7.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, got {self.temperature}")


class ReCOIL(ActorCritic):
    r"""Relaxed-coverage off-policy imitation learning.

    Matches not the expert's visits but a mixture of them and the other data's, whose dual needs neither rewards nor
    that the other data cover what the expert does: critics are lifted on the expert's pairs and follow a Bellman
    equation on the mixture. With :math:`Q_{max} = \rho / (1 - \gamma)` an update minimises

    .. math::
        L_V &= E_{mix}[e^z - z - 1], \quad z = (\min_i Q'_i(s, a) - V(s)) / T \\
        L_\pi &= -E_{mix}[\min(e^{\beta (\min_i Q'_i(s, a) - V(s))}, limit) \log \pi(a|s)] \\
        L_Q &= \tfrac12 E_{expert}[(Q_i(s, a) - Q_{max})^2]
               + \tfrac12 E_{mix}[(Q_i(s, a) + \rho - \gamma V(s'))^2]

    in this order; then the target critics follow. V is an in-sample soft maximum
    (:func:`~.f_dvl_recoil.gumbel_loss`). The mix is drawn from all data as one buffer, the expert's among them; half of
    each batch is the mix, half the expert's. An episode that terminates is worth ``terminal_value`` from there on.

    The paper's L_Q lifts Q on the expert's pairs without bound (its "E_mix Q - E_expert Q" beside the Bellman error);
    that the lift ends at Q_max and costs rho a step elsewhere is the authors' code.

    Online (:meth:`learn`), what the agent meets is further data of unknown worth; rewards are never looked at.

    Departures: the actor's learning rate is constant; batches are 256, half of the code's; layers begin as torch's do.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {"actor": "gaussian", "n_values": 1}
    needs_data: ClassVar[bool] = True

    settings: ReCOILSettings

    @takes(ReCOILSettings)
    def __init__(self, settings: ReCOILSettings) -> None:
        self.expert: Demonstrations | None = None
        self._suboptimal: Demonstrations | None = None
        self.construct(settings)

    def _setup_model(self) -> None:
        if self.n_steps != 1 or self.sampler != "uniform":
            raise ValueError("ReCOIL sees single steps and no rewards: leave n_steps at 1 and sampler at uniform")
        if not self.gamma < 1 or self.batch_size < 2:
            raise ValueError(
                "gamma bounds ReCOIL's values, and half of each batch is the expert's: it needs a gamma below 1 and a "
                f"batch_size of at least 2, got {self.gamma} and {self.batch_size}"
            )
        super()._setup_model()

    def learn_offline(
        self: Self,
        dataset: "MinariDataset | str | Transitions",
        gradient_steps: int,
        *,
        suboptimal: "MinariDataset | str | Transitions | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Learns to act as the expert in ``dataset`` does; keeps all data for :meth:`learn`.

        Args:
            dataset: the expert's: a Minari dataset or the id of a local one, or transitions already read.
            gradient_steps: updates; 0 only takes the data in.
            suboptimal: further data, good or bad, of the same environment; rewards of neither are looked at.
            **kwargs: see :meth:`~.actor_critic.ActorCritic.learn_offline`.

        Raises:
            FileNotFoundError: no such dataset.
            TypeError, ValueError: a dataset does not fit this agent, or holds what cannot be learnt from; nothing has
                changed.
        """
        self._suboptimal = None if suboptimal is None else super()._demonstrations(suboptimal)
        return super().learn_offline(dataset, gradient_steps, **kwargs)

    def _demonstrations(self, dataset: "MinariDataset | str | Transitions") -> Demonstrations:
        self.expert, other = super()._demonstrations(dataset), self._suboptimal
        if other is None:
            return self.expert
        return Demonstrations(th.cat([self.expert.rows, other.rows]), th.cat([self.expert.returns, other.returns]))

    def sample(self, batch_size: int) -> Batch:
        """A batch of which half is drawn as the expert's, and the rest from all data."""
        half = batch_size // 2
        mix = super().sample(batch_size - half)
        assert self.expert is not None
        rows = self.expert.rows[self.expert.draw(half)].to(self.device)
        return joined(mix, self._columns().batch(rows, self.gamma, EXPERT))

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        expert = batch.is_from(EXPERT)
        mix = ~expert
        observations, actions = batch.observations[mix], batch.actions[mix]
        value = self.policy.value
        assert value is not None
        asked = self.settings
        q = self.critic_target.minimum(observations, actions)
        error = q - value(observations)[0]
        value_loss = minimise(value.optimizer, gumbel_loss(error, asked.temperature, asked.max_clip).mean())
        with th.no_grad():
            advantage = q - value(observations)[0]
        weight = advantage_weight(advantage, asked.beta, asked.weight_limit)
        actor_loss = minimise(self.actor.optimizer, -(weight * self.actor.log_prob(observations, actions)).mean())
        loss, values = self.critic.loss(batch.observations, batch.actions, self._critic_targets(batch, expert))
        halves = loss[:, mix].mean(dim=1).sum() + loss[:, expert].mean(dim=1).sum()
        critic_loss = minimise(self.critic.optimizer, halves)
        self.update_targets()
        losses = {"value_loss": value_loss, "actor_loss": actor_loss, "critic_loss": critic_loss}
        return losses | {"q_mix": values[:, mix].mean(), "q_expert": values[:, expert].mean()}

    @th.no_grad()
    def _critic_targets(self, batch: Batch, expert: Tensor) -> Tensor:
        """Of the mix the Bellman equation's, Q_max where ``expert`` ``[B]`` holds; ``[B]``."""
        assert self.policy.value is not None
        bound, end = self.settings.reward_bound, self.settings.terminal_value
        best = bound / (1 - self.gamma)
        end = -best if end is None else end
        targets = th.full_like(batch.rewards, best)
        discounts = batch.discounts[~expert]
        future = discounts * self.policy.value(batch.next_observations[~expert])[0] + (self.gamma - discounts) * end
        targets[~expert] = future - bound
        return targets
