"""DSAC-T: soft actor-critic whose critics learn the whole distribution of returns as a Gaussian.

Paper: Duan et al., Distributional Soft Actor-Critic with Three Refinements, IEEE TPAMI 47(5), 2025 (arXiv 2310.05858);
the numbers in brackets are its equations. "The authors' code" is github.com/Jingliang-Duan/DSAC-v2.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch as th
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn
from torch.nn import functional as F

from .actor_critic import ActorCritic, Metrics, minimise
from .heads import Gaussian
from .replay import Batch
from .sac import SACSettings, refuse_compiled
from .settings import takes
from .soft import Temperature, check_subset, improve

EPSILON = 0.1  # guards the divisions by sigma in (26)
WEIGHT_RANGE = (0.1, 10.0)  # of the variance-based weight, in the authors' code
HUBER = 50.0  # where the loss of the mean becomes linear, in the authors' code


def value_distribution_loss(
    mean: Tensor,  # [n, B] Q_i(s, a)
    std: Tensor,  # [n, B] sigma_i(s, a)
    target_mean: Tensor,  # [B] y_q, the expected target
    target_sample: Tensor,  # [B] y_z, the target of a return drawn from the distribution
    mean_std: Tensor,  # [n] slowly moving E[sigma_i]
    *,
    boundary: float = 3.0,
) -> Tensor:
    r"""The critics' loss per sample ``[n, B]``, made so that its gradient is DSAC-T's (26).

    .. math::
        w_i = \omega_i / (\sigma_i^2 + \epsilon), \quad \omega_i = E[\sigma_i]^2, \quad b_i = \xi E[\sigma_i]

        \nabla_{Q_i} = -w_i H(y_q - Q_i), \quad
        \nabla_{\sigma_i} = -w_i ((C(y_z; b_i) - Q_i)^2 - \sigma_i^2) / (\sigma_i + \epsilon)

    where C clips y_z to within b_i of Q_i and H cuts an error to 50 (Huber's loss). The mean follows the expected
    target (18), not a drawn one; a drawn return moves the standard deviation alone. In paper omega is E[sigma^2], and
    the weights are (omega + 0.1)/(sigma^2 + 0.1) for the mean and (omega + 0.1)/(sigma^3 + 0.1) for the deviation;
    omega, the bounded form and H here are those of the authors' code. Departure: their code halves the squared
    deviation (it reuses Huber's loss), whose fixed point is sigma/sqrt(2); here it is sigma, as in the paper.
    """
    q, sigma = mean.detach(), std.detach()
    bound = boundary * mean_std[:, None]
    deviation = (target_sample - q).clamp(-bound, bound)
    weight = (mean_std[:, None] ** 2 / (sigma**2 + EPSILON)).clamp(*WEIGHT_RANGE)
    of_mean = F.huber_loss(mean, target_mean.expand_as(mean), reduction="none", delta=HUBER)
    return weight * (of_mean + std * (sigma**2 - deviation**2) / (sigma + EPSILON))


@dataclass(frozen=True)
class DSACTSettings(SACSettings):
    """Those of DSAC-T, beside SAC's.

    Args:
        learning_rate: of actor and critics.
        learning_starts: environment steps before the first update.
        ent_coef_learning_rate: of the temperature.
        policy_delay: updates of the critics per update of actor, temperature and targets.
        boundary: xi, how many mean deviations a drawn target may lie from Q.
        boundary_tau: step of the moving mean of sigma; ``tau`` if None.
    """

    _: KW_ONLY
    learning_rate: float | Schedule = 1e-4
    learning_starts: int = 10_000
    ent_coef_learning_rate: float = 3e-4
    policy_delay: int = 2
    boundary: float = 3.0
    boundary_tau: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_compiled(self, "DSACT")


class DSACT(ActorCritic):
    r"""Distributional soft actor-critic with three refinements.

    The critics learn Z(s, a) ~ N(Q(s, a), sigma(s, a)^2), the distribution of soft returns. With a' ~ pi' of the target
    actor and j the target critic of the smaller mean at (s', a') (refinement 2: twin distributions, 19),

    .. math::
        y_q = r + \gamma (Q'_j(s', a') - \alpha \log \pi'(a'|s')) \qquad (18, 20)

        y_z = r + \gamma (Z'_j(s', a') - \alpha \log \pi'(a'|s')), \quad Z'_j \sim N(Q'_j, \sigma_j'^2)

    the mean regresses on the expectation y_q (refinement 1), the deviation on draws y_z clipped to within
    :math:`b = \xi E[\sigma]` of Q (12, 23), and both gradients are scaled by the variance
    :math:`E[\sigma]^2 / \sigma^2` (refinement 3, 24 to 27): see :func:`value_distribution_loss`. The actor minimises
    :math:`\alpha \log \pi(a|s) - \min_i Q_i(s, a)` (22), every second update.

    Defaults are the paper's (256-256-256 GELU networks, Adam 1e-4, temperature 3e-4), with these departures: one update
    per environment step where the authors collect 20 steps an update; the temperature starts at 1 (the authors'
    code: e); the log std of actions is bounded by 2 (theirs: 0.5).
    """

    policy_defaults: ClassVar[dict[str, Any]] = {
        "net_arch": [256, 256, 256],
        "activation_fn": nn.GELU,
        "actor_target": True,
        "critic_head": "gaussian",
    }

    head: Gaussian

    settings: DSACTSettings
    saved_parts = ("ent_coef_optimizer",)
    saved_tensors = ("log_ent_coef",)

    @takes(DSACTSettings)
    def __init__(self, settings: DSACTSettings) -> None:
        self.construct(settings)

    def _setup_model(self) -> None:
        super()._setup_model()
        asked = self.settings
        check_subset(asked.critic_subset, self.critic.net.n)
        if not isinstance(self.critic.head, Gaussian):
            raise ValueError("DSACT learns Gaussian values: leave critic_head as it is")
        self.head = self.critic.head
        self.boundary_tau = self.tau if asked.boundary_tau is None else asked.boundary_tau
        rate = asked.ent_coef_learning_rate
        self._temperature = Temperature(
            asked.ent_coef, asked.target_entropy, self.action_space, rate=rate, device=self.device
        )
        self.log_ent_coef, self.ent_coef_optimizer = self._temperature.log, self._temperature.optimizer

    def update(self, batch: Batch) -> Metrics:
        """See the class; actor, temperature and targets move every ``policy_delay``-th time."""
        metrics = self._update_critics(batch)
        if (self._n_updates + 1) % self.settings.policy_delay == 0:
            metrics |= improve(self.actor, self.critic, batch, self._temperature, self.settings.actor_objective)
            self.update_targets()
        return metrics

    def _update_critics(self, batch: Batch) -> Metrics:
        with th.no_grad():
            target_mean, target_sample = self._drawn_targets(batch)
        out = self.critic.outputs(batch.observations, batch.actions)
        mean, std = self.head.value(out), self.head.deviation(out)
        self._move_averages(std.detach())
        loss = value_distribution_loss(
            mean,
            std,
            target_mean,
            target_sample,
            self.head.mean_std,
            boundary=self.settings.boundary,
        )
        critic_loss = minimise(self.critic.optimizer, loss.mean(dim=1).sum())
        return {"critic_loss": critic_loss, "q": mean.detach().mean(), "q_std": std.detach().mean()}

    def _drawn_targets(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The expected target y_q and a drawn one y_z, each ``[B]``."""
        actor_target: Any = self.policy.actor_target
        actions, log_prob = actor_target.action_log_prob(batch.next_observations)
        out = self.critic_target.outputs(batch.next_observations, actions)
        q, smaller = self.head.value(out).min(dim=0)
        sigma = self.head.deviation(out).gather(0, smaller[None])[0]
        target_mean = batch.rewards + batch.discounts * (q - self._temperature.value * log_prob)
        # The authors' code draws within three deviations.
        return target_mean, target_mean + batch.discounts * sigma * th.randn_like(sigma).clamp(-3, 3)

    def _move_averages(self, std: Tensor) -> None:
        """E[sigma] of each critic, exponentially moving (25); the first batch starts it."""
        rate = self.boundary_tau if self._n_updates else 1.0
        self.head.mean_std.lerp_(std.mean(dim=1), rate)

    def _optimizers(self) -> list[th.optim.Optimizer]:
        return [self.actor.optimizer, self.critic.optimizer]  # the temperature has its own rate

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "head"]
