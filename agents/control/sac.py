"""Soft actor-critic, and with other settings RLPD: the same update on demonstrations and experience at once.

Papers: Haarnoja et al., Soft Actor-Critic Algorithms and Applications (2018); Ball et al., Efficient Online
Reinforcement Learning with Offline Data (2023), called RLPD; Luo et al., SERL (2024), which packages it for robots.
"""

from typing import Any

import numpy as np
import torch as th
from torch import Tensor

from ... import unknown
from .actor_critic import ActorCritic, Metrics, minimise
from .compiled import CompiledUpdate
from .replay import Batch
from .updates import Adam

OBJECTIVES = ("min", "mean")


class SAC(ActorCritic):
    r"""Soft actor-critic.

    With :math:`a' \sim \pi(s')`, the critics regress on

    .. math::
        y = r + \gamma (\min_i Q'_i(s', a') - \alpha \log \pi(a'|s'))

    the actor minimises :math:`\alpha \log \pi(a|s) - \min_i Q_i(s, a)`, and :math:`\log \alpha` moves so
    that the entropy stays near its target. Numbers and order of updates are those of SB3's SAC.

    RLPD is this class with ``critic_layer_norm``, ten critics of which a target takes the least of two drawn ones, an
    actor that follows their mean, many updates a step and ``offline_ratio=0.5``; see the row ``serl``.

    Args:
        policy: "MlpPolicy", "CnnPolicy" or "MultiInputPolicy".
        env: any environment with Box actions, or its id.
        ent_coef: temperature alpha: a number, "auto", or "auto_0.1" to begin at 0.1.
        target_entropy: "auto" is minus the number of action dimensions.
        policy_delay: updates of the critics per update of actor and temperature.
        critic_subset: how many critics, drawn anew each update, a target takes the least of; all if None.
        backup_entropy: whether targets hold the entropy term.
        actor_objective: the actor follows the "min" or the "mean" of the critics.
        compiled: turn the update into machine code first; see :mod:`.compiled`.
        **settings: see :class:`~.actor_critic.ActorCritic`.
    """

    log_ent_coef: Tensor
    ent_coef_optimizer: Adam | None

    def __init__(
        self,
        policy: str | type[Any],
        env: Any,
        *,
        ent_coef: str | float = "auto",
        target_entropy: str | float = "auto",
        policy_delay: int = 1,
        critic_subset: int | None = None,
        backup_entropy: bool = True,
        actor_objective: str = "min",
        compiled: bool = False,
        **settings: Any,
    ) -> None:
        if actor_objective not in OBJECTIVES:
            raise ValueError(unknown("actor_objective", actor_objective, OBJECTIVES))
        self.ent_coef = ent_coef
        self.target_entropy = target_entropy
        self.policy_delay = policy_delay
        self.critic_subset = critic_subset
        self.backup_entropy = backup_entropy
        self.actor_objective = actor_objective
        self.compiled = compiled
        super().__init__(policy, env, **settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        n_critics = self.critic.net.n
        if self.critic_subset is not None and not 1 <= self.critic_subset <= n_critics:
            raise ValueError(f"critic_subset must be between 1 and the {n_critics} critics, got {self.critic_subset}")
        wanted = self.target_entropy
        self.entropy_target = -float(np.prod(self.action_space.shape or ())) if wanted == "auto" else float(wanted)
        automatic, _, start = str(self.ent_coef).partition("_")
        learned = automatic == "auto"
        first = float(start or 1.0) if learned else float(self.ent_coef)
        self.log_ent_coef = th.tensor([first], device=self.device).log().requires_grad_(learned)
        rate = self.lr_schedule(1)
        self.ent_coef_optimizer = Adam([self.log_ent_coef], lr=rate) if learned else None
        self._compiled = self._compile() if self.compiled else None

    def _compile(self) -> CompiledUpdate:
        parts = ("update", "_update_critics", "_target", "_target_value", "_update_actor")
        if any(getattr(type(self), part) is not getattr(SAC, part) for part in parts):
            raise ValueError(
                f"compiled=True is for SAC's own update, which {type(self).__name__} changes: leave it out"
            )
        return CompiledUpdate(self)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        with_actor = (self._n_updates + 1) % self.policy_delay == 0
        if self._compiled is not None:
            return self._compiled(batch, with_actor)
        metrics = self._update_critics(batch)
        self.follow()
        return metrics | (self._update_actor(batch) if with_actor else {})

    def _update_critics(self, batch: Batch) -> Metrics:
        loss, values = self.critic.loss(batch.observations, batch.actions, self._target(batch))
        critic_loss = minimise(self.critic.optimizer, loss.mean(dim=1).sum())
        return {"critic_loss": critic_loss, "q": values.mean()}

    @th.no_grad()
    def _target(self, batch: Batch) -> Tensor:
        """Targets y ``[B]``."""
        actions, log_prob = self.actor.action_log_prob(batch.next_observations)
        value = self._target_value(batch.next_observations, actions)
        if self.backup_entropy:
            value = value - self.log_ent_coef.exp() * log_prob
        return batch.rewards + batch.discounts * value

    def _target_value(self, observations: Any, actions: Tensor) -> Tensor:
        if self.critic_subset is None:
            return self.critic_target.minimum(observations, actions)
        values = self.critic_target(observations, actions)
        drawn = th.randperm(len(values), device=values.device)[: self.critic_subset]
        least: Tensor = values[drawn].min(dim=0).values
        return least

    def _update_actor(self, batch: Batch) -> Metrics:
        ent_coef = self.log_ent_coef.detach().exp()
        actions, log_prob = self.actor.action_log_prob(batch.observations)
        value = self.critic.minimum if self.actor_objective == "min" else self.critic.mean
        loss = (ent_coef * log_prob - value(batch.observations, actions)).mean()
        metrics = {"actor_loss": minimise(self.actor.optimizer, loss), "ent_coef": ent_coef}
        if self.ent_coef_optimizer is not None:
            surplus = (log_prob.detach() + self.entropy_target).mean()
            self.log_ent_coef.grad = -surplus.view(1)  # of -log_ent_coef * surplus
            self.ent_coef_optimizer.step()
        return metrics

    def _optimizers(self) -> list[th.optim.Optimizer]:
        return super()._optimizers() + ([] if self.ent_coef_optimizer is None else [self.ent_coef_optimizer])

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "_compiled"]

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        names, variables = super()._get_torch_save_params()
        optimizer = [] if self.ent_coef_optimizer is None else ["ent_coef_optimizer"]
        return [*names, *optimizer], [*variables, "log_ent_coef"]
