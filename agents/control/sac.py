"""Soft actor-critic, and with other settings RLPD: the same update on demonstrations and experience at once.

Papers: Haarnoja et al., Soft Actor-Critic Algorithms and Applications (2018); Ball et al., Efficient Online
Reinforcement Learning with Offline Data (2023), called RLPD; Luo et al., SERL (2024), which packages it for robots.
"""

from dataclasses import KW_ONLY, dataclass

import torch as th
from torch import Tensor

from ... import unknown
from . import state_dependent
from .actor_critic import ActorCritic, Metrics
from .compiled import CompiledUpdate
from .explicit import Drawn, draw, plain_actor
from .replay import Batch
from .settings import OffPolicySettings, takes
from .soft import Temperature, check_subset, improve, regress, soft_target
from .updates import Adam

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
        compiled: turn the update into machine code first; see :mod:`.compiled`.
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
    compiled: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.actor_objective not in OBJECTIVES:
            raise ValueError(unknown("actor_objective", self.actor_objective, OBJECTIVES))
        if self.compiled and (self.use_sde or self.target_update_interval != 1):
            raise ValueError(
                "compiled=True knows neither use_sde nor target_update_interval: leave out one or the other"
            )


def refuse_compiled(settings: SACSettings, agent: str) -> None:
    """Raises ``ValueError`` where an agent of another update than SAC's is asked to compile it."""
    if settings.compiled:
        raise ValueError(f"compiled=True is for SAC's own update, which {agent} changes: leave it out")


class SAC(ActorCritic):
    r"""Soft actor-critic.

    With :math:`a' \sim \pi(s')`, the critics regress on

    .. math::
        y = r + \gamma (\min_i Q'_i(s', a') - \alpha \log \pi(a'|s'))

    the actor minimises :math:`\alpha \log \pi(a|s) - \min_i Q_i(s, a)`, and :math:`\log \alpha` moves so
    that the entropy stays near its target. Numbers and order of updates are those of SB3's SAC.

    RLPD is this class with ``critic_layer_norm``, ten critics of which a target takes the least of two drawn ones, an
    actor that follows their mean, many updates a step and ``offline_ratio=0.5``; see the row ``serl``.
    """

    settings: SACSettings
    log_ent_coef: Tensor | None
    """As in SB3: None where the temperature is fixed, and then there is ``ent_coef_tensor``."""
    ent_coef_optimizer: Adam | None
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
        self._compiled = self._compile() if asked.compiled else None

    def _compile(self) -> CompiledUpdate:
        if type(self).update is not SAC.update:
            refuse_compiled(self.settings, type(self).__name__)
        return CompiledUpdate(self)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        asked = self.settings
        with_actor = (self._n_updates + 1) % asked.policy_delay == 0
        if asked.use_sde:
            return state_dependent.update(self, batch, self._temperature, with_actor=with_actor)
        if self._compiled is not None:
            return self._compiled(batch, with_actor)
        alpha = self._temperature.value if asked.backup_entropy else None
        drawn = self._draw_both(batch) if with_actor and plain_actor(self.actor) else None
        following = None if drawn is None else drawn[0]
        target = soft_target(self.actor, self.critic_target, batch, alpha, asked.critic_subset, following)
        metrics = regress(self.critic, batch, target)
        self.update_targets()
        if with_actor:
            here = None if drawn is None else drawn[1]
            metrics |= improve(self.actor, self.critic, batch, self._temperature, asked.actor_objective, here)
        return metrics

    def _draw_both(self, batch: Batch) -> tuple[Drawn, Drawn]:
        """Actions at s' and at s, by one pass of the actor, which does not change between their uses."""
        n = len(batch.rewards)
        noise = th.cat([th.randn(batch.actions.shape, device=self.device) for _ in range(2)])
        drawn = draw(self.actor, th.cat([batch.next_observations, batch.observations]), noise)
        return drawn.rows(0, n), drawn.rows(n, 2 * n)

    def _optimizers(self) -> list[th.optim.Optimizer]:
        return super()._optimizers() + ([] if self.ent_coef_optimizer is None else [self.ent_coef_optimizer])

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_compiled"]
