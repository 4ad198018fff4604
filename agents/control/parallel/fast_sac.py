"""FastSAC: soft actor-critic over many environments, with distributional critics.

Papers: Seo et al., Learning Sim-to-Real Humanoid Locomotion in 15 Minutes, 2025 (arXiv 2512.01996), whose code is
github.com/amazon-far/holosoma ("the authors' code"); Seo et al., FastTD3 (2025, arXiv 2505.22642).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch as th
from torch import Tensor

from ...optimizers import FusedAdam
from ..actor_critic import Metrics
from ..explicit import Acted, Step, act, distributional_regression, explicit, soft_improvement
from ..networks import Critics
from ..replay import Batch
from ..settings import takes
from ..soft import Temperature
from .agent import ParallelActorCritic, ParallelSettings, projected
from .fast_td3 import begin_near_zero


@dataclass(frozen=True)
class FastSACSettings(ParallelSettings):
    """Those of FastSAC, beside what agents over many environments take.

    Args:
        ent_coef: temperature alpha: a number, "auto", or "auto_0.1" to begin at 0.1.
        target_entropy: "auto" is minus the number of action dimensions.
    """

    _: KW_ONLY
    ent_coef: str | float = "auto_0.01"
    target_entropy: str | float = "auto"


def critic_gradients(
    actor: Any,
    critic: Critics,
    target: Critics,
    batch: Batch,
    rewards: Tensor,
    noise: Tensor,
    alpha: Tensor,
    clipped: bool,
) -> tuple[Step, Acted]:
    """What the critics learn, and actions at s: drawn with those at s' by one pass where ``noise`` is for both."""
    size = len(rewards)
    features = actor.features(batch.next_observations)
    if len(noise) > size:
        features = th.cat([features, actor.features(batch.observations)])
    acted = act(actor, features, noise)
    following, here = acted.rows(0, size).drawn, acted.rows(size, len(noise))
    soft = rewards - batch.discounts * alpha * following.log_prob.detach()
    wanted = projected(target, batch.next_observations, following.actions.detach(), soft, batch.discounts, clipped)
    return distributional_regression(critic, batch.observations, batch.actions, wanted), here


class FastSAC(ParallelActorCritic):
    r"""Soft actor-critic over many environments.

    Critics are distributions Z_i of returns over fixed bins (C51), which learn by cross-entropy from

    .. math::
        r_t + ... + \gamma^{n-1} r_{t+n-1} + \gamma^n (Z'_j(s', a') - \alpha \log \pi(a'|s')), \quad a' \sim \pi(s')

    projected on the bins, where j is i itself or, with ``clipped_double_q``, the target critic of the smaller mean. The
    actor climbs the mean of the critics' means (or the smaller one) less :math:`\alpha \log \pi(a|s)` at every
    ``policy_delay``-th update, and the temperature moves with it.

    Departures from the authors' code: the entropy wanted is minus the number of actions (there 0), alpha begins at 0.01
    (there 0.001) and moves with the actor's updates by its log-probabilities (there with every update, by those at s');
    log-deviations are clamped to [-20, 2] as in our SAC (there bounded by tanh to [-5, 0]); layers are not normalised
    and have ReLUs (there normalised, and SiLUs); Adam's second moment has torch's 0.999 (there 0.95).
    """

    policy_defaults: ClassVar[dict[str, Any]] = {
        "net_arch": {"pi": [128, 128], "qf": [128, 128]},
        "critic_head_kwargs": {"v_min": -5.0, "v_max": 5.0, "n_bins": 51},
        "optimizer_kwargs": {"weight_decay": 0.001},
    }
    settings: FastSACSettings
    log_ent_coef: Tensor | None
    """As in SB3: None where the temperature is fixed."""
    ent_coef_optimizer: FusedAdam | None
    saved_parts = ("reward_scale", "ent_coef_optimizer")
    saved_tensors = ("log_ent_coef",)

    @takes(FastSACSettings)
    def __init__(self, settings: FastSACSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        asked = self.settings
        self._temperature = Temperature(
            asked.ent_coef, asked.target_entropy, self.action_space, rate=self.lr_schedule(1), device=self.device
        )
        self.ent_coef_optimizer = self._temperature.optimizer
        self.log_ent_coef = None if self.ent_coef_optimizer is None else self._temperature.log
        begin_near_zero(self.actor.net.params[-2:], self.actor.n_actions)

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        asked, actor, critic, target = self.settings, self.actor, self.critic, self.critic_target
        with_actor = (self._n_updates + 1) % asked.policy_delay == 0
        alpha, rewards, clipped = self._temperature.value, self.scaled(batch.rewards), asked.clipped_double_q
        noise = th.cat([actor.noise(len(rewards)) for _ in range(1 + with_actor)])
        given = (batch, rewards, noise, alpha, clipped)
        step, acted = self.compute(critic_gradients, actor, critic, target, *given)
        metrics = {"critic_loss": critic.descend(*step[:2]), "q": step.seen}
        self.update_targets()
        if with_actor:
            objective = "min" if clipped else "mean"
            step = self.compute(soft_improvement, actor, critic, batch.observations, acted, alpha, objective)
            metrics |= {"actor_loss": actor.descend(*step[:2]), "ent_coef": alpha}
            self._temperature.update(step.seen)
        return metrics

    def _optimizers(self) -> list[th.optim.Optimizer]:
        return super()._optimizers() + ([] if self.ent_coef_optimizer is None else [self.ent_coef_optimizer])
