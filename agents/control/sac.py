"""Soft actor-critic, and with other settings RLPD: the same update on demonstrations and experience at once.

Papers: Haarnoja et al., Soft Actor-Critic Algorithms and Applications (2018); Ball et al., Efficient Online
Reinforcement Learning with Offline Data (2023), called RLPD; Luo et al., SERL (2024), which packages it for robots.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import torch as th
from torch import Tensor

from ... import unknown
from ..optimizers import FusedAdam
from . import state_dependent
from .actor_critic import ActorCritic, Metrics
from .explicit import Acted, Step, act, explicit, least, regression, soft_improvement
from .networks import Critics, Drawn
from .replay import Batch
from .settings import OffPolicySettings, check_subset, takes
from .soft import Temperature, drawn_members

OBJECTIVES = ("min", "mean")


@dataclass(frozen=True)
class SACSettings(OffPolicySettings):
    """Those of soft actor-critic, beside what all agents take.

    Args:
        ent_coef: temperature alpha: a number, "auto", or "auto_0.1" to begin at 0.1.
        target_entropy: "auto" is minus the number of action dimensions.
        policy_delay: updates of the critics per update of actor and temperature.
        critic_subset: how many critics, drawn anew each update, a target takes the least of; all if None.
        backup_entropy: whether targets hold the entropy term.
        actor_objective: the actor follows the "min" or the "mean" of the critics.
        target_update_interval: updates of the critics per step of the targets.
        use_sde: explore by noise that depends on the state; see :mod:`.state_dependent`.
        sde_sample_freq: steps for which that noise is one function of the state; -1: until ``train`` is called.
        use_sde_at_warmup: whether it acts before ``learning_starts`` in place of uniform actions.
    """

    _: KW_ONLY
    ent_coef: str | float = "auto"
    target_entropy: str | float = "auto"
    policy_delay: int = 1
    critic_subset: int | None = None
    backup_entropy: bool = True
    actor_objective: str = "min"
    target_update_interval: int = 1
    use_sde: bool = False
    sde_sample_freq: int = -1
    use_sde_at_warmup: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.actor_objective not in OBJECTIVES:
            raise ValueError(unknown("actor_objective", self.actor_objective, OBJECTIVES))
        if self.compiled and self.use_sde:
            raise ValueError("compiled=True does not know use_sde: leave out one or the other")


def critic_gradients(
    actor: Any,
    critic: Critics,
    target: Critics,
    batch: Batch,
    noise: Tensor,
    alpha: Tensor | None,
    members: Tensor | None,
) -> tuple[Step, Acted]:
    """What the critics learn, and actions at s, of which there are none where ``noise`` is for s' alone."""
    following, here = acted_at(actor, batch, noise)
    value = least(target, batch.next_observations, following.actions, members)
    if alpha is not None:
        value = value - alpha * following.log_prob.detach()
    return regression(critic, batch.observations, batch.actions, batch.rewards + batch.discounts * value), here


def acted_at(actor: Any, batch: Batch, noise: Tensor) -> tuple[Drawn, Acted]:
    """Actions at s', and those at s: drawn by one pass where ``noise`` is for both."""
    size = len(batch.rewards)
    features = actor.features(batch.next_observations)
    if len(noise) > size:
        features = th.cat([features, actor.features(batch.observations)])
    acted = act(actor, features, noise)
    return acted.rows(0, size).drawn, acted.rows(size, len(noise))


def soft_update(
    agent: ActorCritic,
    asked: SACSettings,
    batch: Batch,
    temperature: Temperature,
    gradients: Callable[..., tuple[Step, Acted]] = critic_gradients,
    *more: Any,
) -> Metrics:
    """One update of the critics, and every ``policy_delay``-th time of actor and temperature; see :class:`SAC`.

    Args:
        agent: whose networks they are.
        asked: its settings.
        batch: to learn from.
        temperature: of the agent.
        gradients: what critics learn: :func:`critic_gradients`, or another function with the same arguments.
        *more: what else that function takes.
    """
    actor, critic = agent.actor, agent.critic
    with_actor = (agent._n_updates + 1) % asked.policy_delay == 0
    alpha = temperature.value
    noise = th.cat([actor.noise(len(batch.rewards)) for _ in range(1 + with_actor)])
    members = drawn_members(asked.critic_subset, critic)
    entropy = alpha if asked.backup_entropy else None
    step, acted = agent.compute(gradients, actor, critic, agent.critic_target, batch, noise, entropy, members, *more)
    metrics = {"critic_loss": critic.descend(*step[:2]), "q": step.seen}
    agent.update_targets()
    if with_actor:
        objective = asked.actor_objective
        step = agent.compute(soft_improvement, actor, critic, batch.observations, acted, alpha, objective)
        metrics |= {"actor_loss": actor.descend(*step[:2]), "ent_coef": alpha}
        temperature.update(step.seen)
    return metrics


class SAC(ActorCritic):
    r"""Soft actor-critic.

    With :math:`a' \sim \pi(s')`, the critics regress on

    .. math::
        y = r + \gamma (\min_i Q'_i(s', a') - \alpha \log \pi(a'|s'))

    the actor minimises :math:`\alpha \log \pi(a|s) - \min_i Q_i(s, a)`, and :math:`\log \alpha` moves so
    that the entropy stays near its target. Numbers and order of updates are those of SB3's SAC.

    RLPD is this class with ``critic_layer_norm``, ten critics of which a target takes the least of two drawn ones, an
    actor that follows their mean, many updates a step and ``offline_ratio=0.5``; see the row ``serl``. Its authors'
    code wants half of the entropy, minus half the number of action dimensions: so do the presets of our tasks, and
    elsewhere ``target_entropy`` sets it.
    """

    settings: SACSettings
    log_ent_coef: Tensor | None
    """As in SB3: None where the temperature is fixed, and then there is ``ent_coef_tensor``."""
    ent_coef_optimizer: FusedAdam | None
    explores_by_state = True
    saved_parts = ("ent_coef_optimizer",)
    saved_tensors = ("log_ent_coef",)

    @takes(SACSettings)
    def __init__(self, settings: SACSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        asked = self.settings
        check_subset(asked.critic_subset, self.critic.net.n)
        self._temperature = Temperature(
            asked.ent_coef, asked.target_entropy, self.action_space, rate=self.lr_schedule(1), device=self.device
        )
        self.ent_coef_optimizer = self._temperature.optimizer
        self.log_ent_coef = None if self.ent_coef_optimizer is None else self._temperature.log
        if self.log_ent_coef is None:
            self.ent_coef_tensor = self._temperature.value
        if asked.use_sde and type(self).update is not SAC.update:
            raise ValueError(f"use_sde=True is for SAC's own update, which {type(self).__name__} changes: leave it out")

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        asked = self.settings
        if asked.use_sde:
            with_actor = (self._n_updates + 1) % asked.policy_delay == 0
            return state_dependent.update(self, batch, self._temperature, with_actor=with_actor)
        return soft_update(self, asked, batch, self._temperature)

    def _optimizers(self) -> list[th.optim.Optimizer]:
        return super()._optimizers() + ([] if self.ent_coef_optimizer is None else [self.ent_coef_optimizer])
