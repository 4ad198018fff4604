"""DSAC-T: soft actor-critic whose critics learn the whole distribution of returns as a Gaussian.

Paper: Duan et al., Distributional Soft Actor-Critic with Three Refinements, IEEE TPAMI 47(5), 2025 (arXiv 2310.05858);
the numbers in brackets are its equations. "The authors' code" is github.com/Jingliang-Duan/DSAC-v2.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, cast

import torch as th
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn
from torch.nn import functional as F

from .actor_critic import ActorCritic, Metrics
from .explicit import Step, act, explicit
from .heads import Gaussian
from .networks import Critics
from .replay import Batch
from .sac import SACSettings
from .settings import check_subset, takes
from .soft import Temperature, improve

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


def value_distribution_slope(
    mean: Tensor, std: Tensor, target_mean: Tensor, target_sample: Tensor, mean_std: Tensor, *, boundary: float = 3.0
) -> tuple[Tensor, Tensor]:
    """The gradients of :func:`value_distribution_loss` by mean and deviation, each ``[n, B]``."""
    bound = boundary * mean_std[:, None]
    deviation = (target_sample - mean).clamp(-bound, bound)
    weight = (mean_std[:, None] ** 2 / (std**2 + EPSILON)).clamp(*WEIGHT_RANGE)
    of_mean = (mean - target_mean).clamp(-HUBER, HUBER)
    return weight * of_mean, weight * (std**2 - deviation**2) / (std + EPSILON)


def drawn_targets(
    actor: Any, critics: Critics, batch: Batch, noise: Tensor, deviations: Tensor, alpha: Tensor
) -> tuple[Tensor, Tensor]:
    """The expected target y_q and a drawn one y_z, each ``[B]``, by the target networks."""
    drawn = act(actor, actor.features(batch.next_observations), noise).drawn
    out, head = critics.outputs(batch.next_observations, drawn.actions), cast(Any, critics.head)
    q, smaller = head.value(out).min(dim=0)
    sigma = head.deviation(out).gather(0, smaller[None])[0]
    target_mean = batch.rewards + batch.discounts * (q - alpha * drawn.log_prob)
    # The authors' code draws within three deviations.
    return target_mean, target_mean + batch.discounts * sigma * deviations.clamp(-3, 3)


def critic_gradients(
    critic: Critics,
    target: Critics,
    target_actor: Any,
    batch: Batch,
    noise: Tensor,
    deviations: Tensor,
    alpha: Tensor,
    rate: float,
    boundary: float,
) -> tuple[Step, Tensor, Tensor]:
    """What the critics learn; E[sigma] ``[n]``, moved by ``rate``; and the mean deviation."""
    y = drawn_targets(target_actor, target, batch, noise, deviations, alpha)
    passed, head = critic.passed(batch.observations, batch.actions), cast(Any, critic.head)
    mean, std = head.value(passed.out), head.deviation(passed.out)
    mean_std = head.mean_std.lerp(std.detach().mean(dim=1), rate)
    loss = value_distribution_loss(mean, std, *y, mean_std, boundary=boundary).mean(dim=1).sum()
    slopes = value_distribution_slope(mean, std, *y, mean_std, boundary=boundary)
    g = head.by_outputs(passed.out, *slopes) / len(batch.rewards)
    return Step(loss, passed.gradients(g), mean.detach().mean()), mean_std, std.detach().mean()


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

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class; actor, temperature and targets move every ``policy_delay``-th time."""
        asked, critic, alpha = self.settings, self.critic, self._temperature.value
        noise = self.actor.noise(len(batch.rewards))
        # E[sigma] moves exponentially (25), from the first batch on.
        rate = self.boundary_tau if self._n_updates else 1.0
        deviations = th.randn_like(batch.rewards)
        networks = critic, self.critic_target, self.policy.actor_target
        step, mean_std, std = self.compute(
            critic_gradients, *networks, batch, noise, deviations, alpha, rate, asked.boundary
        )
        self.head.mean_std.copy_(mean_std)
        metrics = {"critic_loss": critic.descend(*step[:2]), "q": step.seen, "q_std": std}
        if (self._n_updates + 1) % asked.policy_delay == 0:
            metrics |= improve(self, batch, self._temperature, asked.actor_objective)
            self.update_targets()
        return metrics

    def _optimizers(self) -> list[th.optim.Optimizer]:
        return [self.actor.optimizer, self.critic.optimizer]  # the temperature has its own rate

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "head"]
