"""DSAC-T: soft actor-critic whose critics learn the whole distribution of returns as a Gaussian.

Paper: Duan et al., Distributional Soft Actor-Critic with Three Refinements, IEEE TPAMI 47(5), 2025 (arXiv 2310.05858);
the numbers in brackets are its equations. "The authors' code" is github.com/Jingliang-Duan/DSAC-v2.
"""

from typing import Any, ClassVar

import numpy as np
import torch as th
from gymnasium.spaces import Box
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.noise import ActionNoise
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.sac.policies import Actor
from torch import Tensor

from .base import OffPolicyAgent
from .networks import GaussianCriticCnnPolicy, GaussianCriticMultiInputPolicy, GaussianCriticPolicy, GaussianCritics

EPSILON = 0.1  # guards the divisions by sigma in (26)
WEIGHT_RANGE = (0.1, 10.0)  # of the variance-based weight, in the authors' code


def value_distribution_loss(
    mean: Tensor,  # [n, B] Q_i(s, a)
    std: Tensor,  # [n, B] sigma_i(s, a)
    target_mean: Tensor,  # [B] y_q, the expected target
    target_sample: Tensor,  # [B] y_z, the target of a return drawn from the distribution
    mean_std: Tensor,  # [n] slowly moving E[sigma_i]
    mean_var: Tensor,  # [n] slowly moving E[sigma_i^2]
    *,
    boundary: float = 3.0,
) -> Tensor:
    r"""The critics' loss per sample ``[n, B]``, made so that its gradient is DSAC-T's (26).

    .. math::
        w_i = \omega_i / (\sigma_i^2 + \epsilon), \quad \omega_i = E[\sigma_i^2], \quad b_i = \xi E[\sigma_i]

        \nabla_{Q_i} = -w_i (y_q - Q_i), \quad
        \nabla_{\sigma_i} = -w_i ((C(y_z; b_i) - Q_i)^2 - \sigma_i^2) / (\sigma_i + \epsilon)

    where C clips y_z to within b_i of Q_i. The mean follows the expected target (18), not a drawn one; a drawn return
    moves the standard deviation alone. In paper the weights are (omega + 0.1)/(sigma^2 + 0.1) for the mean and
    (omega + 0.1)/(sigma^3 + 0.1) for the deviation; the bounded form here is that of the authors' code and equal for
    vanishing guards. Their code halves the squared deviation (it reuses a Huber loss, with delta 50), whose fixed point
    is sigma/sqrt(2); here it is sigma, as in the paper.
    """
    q, sigma = mean.detach(), std.detach()
    bound = boundary * mean_std[:, None]
    deviation = (target_sample - q).clamp(-bound, bound)
    weight = (mean_var[:, None] / (sigma**2 + EPSILON)).clamp(*WEIGHT_RANGE)
    return weight * (0.5 * (target_mean - mean) ** 2 + std * (sigma**2 - deviation**2) / (sigma + EPSILON))


class DSACT(OffPolicyAgent):
    r"""Distributional soft actor-critic with three refinements.

    The critics learn Z(s, a) ~ N(Q(s, a), sigma(s, a)^2), the distribution of soft returns. With a' ~ pi' of the target
    actor and j the target critic of the smaller mean at (s', a') (refinement 2: twin distributions, 19),

    .. math::
        y_q = r + \gamma (Q'_j(s', a') - \alpha \log \pi'(a'|s')) \qquad (18, 20)

        y_z = r + \gamma (Z'_j(s', a') - \alpha \log \pi'(a'|s')), \quad Z'_j \sim N(Q'_j, \sigma_j'^2)

    the mean regresses on the expectation y_q (refinement 1), the deviation on draws y_z clipped to within
    :math:`b = \xi E[\sigma]` of Q (12, 23), and both gradients are scaled by the variance
    :math:`E[\sigma^2] / \sigma^2` (refinement 3, 24 to 27): see :func:`value_distribution_loss`. The actor minimises
    :math:`\alpha \log \pi(a|s) - \min_i Q_i(s, a)` (22), every second update.

    Defaults are the paper's (256-256-256 GELU networks, Adam 1e-4, temperature 3e-4), with these departures: one update
    per environment step where the authors collect 20 steps an update; the temperature starts at 1 (the authors'
    code: e); SB3's actor bounds its log std by 2 (theirs: 0.5).

    Args:
        policy: "MlpPolicy", "CnnPolicy" or "MultiInputPolicy".
        env: any environment with Box actions, or its id.
        learning_rate: of actor and critics.
        buffer_size: transitions kept.
        learning_starts: environment steps before the first update.
        batch_size: transitions an update.
        tau: step of the target networks.
        gamma: discount.
        train_freq: environment steps between calls of :meth:`train`, or ``(n, "episode")``.
        gradient_steps: updates a call (-1: as many as steps taken).
        action_noise: added to exploring actions.
        replay_buffer_class: chosen by the observations if None.
        replay_buffer_kwargs: its keywords.
        n_steps: of n-step returns.
        ent_coef: temperature alpha: a number, "auto", or "auto_0.1" to begin at 0.1.
        ent_coef_learning_rate: of the temperature.
        target_entropy: "auto" is minus the number of action dimensions.
        policy_delay: updates of the critics per update of actor, temperature and targets.
        boundary: xi, how many mean deviations a drawn target may lie from Q.
        boundary_tau: step of the moving means of sigma and sigma^2; ``tau`` if None.
        stats_window_size: episodes in logged means.
        tensorboard_log: folder.
        policy_kwargs: of :class:`GaussianCriticPolicy`.
        verbose: 0, 1 or 2.
        seed: of all randomness.
        device: where tensors live.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": GaussianCriticPolicy,
        "CnnPolicy": GaussianCriticCnnPolicy,
        "MultiInputPolicy": GaussianCriticMultiInputPolicy,
    }
    acts_in = (Box,)
    policy: GaussianCriticPolicy
    actor: Actor
    actor_target: Actor
    critic: GaussianCritics
    critic_target: GaussianCritics
    log_ent_coef: Tensor
    ent_coef_optimizer: th.optim.Optimizer | None

    def __init__(
        self,
        policy: str | type[GaussianCriticPolicy],
        env: Any,
        *,
        learning_rate: float | Schedule = 1e-4,
        buffer_size: int = 1_000_000,
        learning_starts: int = 10_000,
        batch_size: int = 256,
        tau: float = 0.005,
        gamma: float = 0.99,
        train_freq: int | tuple[int, str] = 1,
        gradient_steps: int = 1,
        action_noise: ActionNoise | float | None = None,
        replay_buffer_class: type[ReplayBuffer] | None = None,
        replay_buffer_kwargs: dict[str, Any] | None = None,
        n_steps: int = 1,
        ent_coef: str | float = "auto",
        ent_coef_learning_rate: float = 3e-4,
        target_entropy: str | float = "auto",
        policy_delay: int = 2,
        boundary: float = 3.0,
        boundary_tau: float | None = None,
        stats_window_size: int = 100,
        tensorboard_log: str | None = None,
        policy_kwargs: dict[str, Any] | None = None,
        verbose: int = 0,
        seed: int | None = None,
        device: th.device | str = "auto",
        _init_setup_model: bool = True,
    ) -> None:
        super().__init__(
            policy,
            env,
            learning_rate,
            buffer_size=buffer_size,
            learning_starts=learning_starts,
            batch_size=batch_size,
            tau=tau,
            gamma=gamma,
            train_freq=train_freq,
            gradient_steps=gradient_steps,
            action_noise=action_noise,  # type: ignore[arg-type]
            replay_buffer_class=replay_buffer_class,
            replay_buffer_kwargs=replay_buffer_kwargs,
            n_steps=n_steps,
            policy_kwargs=policy_kwargs,
            stats_window_size=stats_window_size,
            tensorboard_log=tensorboard_log,
            verbose=verbose,
            device=device,
            support_multi_env=True,
            seed=seed,
            sde_support=False,
            supported_action_spaces=(Box,),
        )
        self.ent_coef = ent_coef
        self.ent_coef_learning_rate = ent_coef_learning_rate
        self.target_entropy = (
            -float(np.prod(self.action_space.shape or ())) if target_entropy == "auto" else float(target_entropy)
        )
        self.policy_delay = policy_delay
        self.boundary = boundary
        self.boundary_tau = tau if boundary_tau is None else boundary_tau
        if _init_setup_model:
            self._setup_model()

    def _setup_model(self) -> None:
        super()._setup_model()
        self.actor, self.actor_target = self.policy.actor, self.policy.actor_target
        self.critic, self.critic_target = self.policy.critic, self.policy.critic_target
        self._online: list[Tensor] = [*self.critic.parameters(), *self.actor.parameters()]
        self._target: list[Tensor] = [*self.critic_target.parameters(), *self.actor_target.parameters()]
        automatic, _, start = str(self.ent_coef).partition("_")
        learned = automatic == "auto"
        first = float(start or 1.0) if learned else float(self.ent_coef)
        self.log_ent_coef = th.tensor([first], device=self.device).log().requires_grad_(learned)
        self.ent_coef_optimizer = (
            th.optim.Adam([self.log_ent_coef], lr=self.ent_coef_learning_rate) if learned else None
        )

    def train(self, gradient_steps: int, batch_size: int = 256) -> None:
        """Does ``gradient_steps`` updates of the critics, and every ``policy_delay``-th time of all the rest."""
        self.policy.set_training_mode(True)
        self._update_learning_rate([self.actor.optimizer, self.critic.optimizer])
        metrics: dict[str, Tensor] = {}
        for _ in range(gradient_steps):
            batch = self.replay_buffer.sample(batch_size, env=self._vec_normalize_env)  # type: ignore[union-attr]
            metrics |= self._update_critics(batch)
            self._n_updates += 1
            if self._n_updates % self.policy_delay == 0:
                metrics |= self._update_actor(batch.observations)
                # Polyak step of all targets at once: theta' += tau (theta - theta').
                th._foreach_lerp_(self._target, self._online, self.tau)
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        for name, value in metrics.items():
            self.logger.record(f"train/{name}", value.item())

    def _update_critics(self, batch: Any) -> dict[str, Tensor]:
        with th.no_grad():
            target_mean, target_sample = self._targets(batch)
        mean, std = self.critic(batch.observations, batch.actions)
        self._move_averages(std.detach())
        loss = value_distribution_loss(
            mean,
            std,
            target_mean,
            target_sample,
            self.critic.mean_std,
            self.critic.mean_var,
            boundary=self.boundary,
        )
        loss = loss.mean(dim=1).sum()
        self.critic.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.critic.optimizer.step()
        return {"critic_loss": loss.detach(), "q": mean.detach().mean(), "q_std": std.detach().mean()}

    def _targets(self, batch: Any) -> tuple[Tensor, Tensor]:
        """The expected target y_q and a drawn one y_z, each ``[B]``."""
        actions, log_prob = self.actor_target.action_log_prob(batch.next_observations)
        mean, std = self.critic_target(batch.next_observations, actions)
        q, smaller = mean.min(dim=0)
        sigma = std.gather(0, smaller[None])[0]
        discount = (1 - batch.dones) * (self.gamma if batch.discounts is None else batch.discounts)
        reward, discount = batch.rewards.flatten(), discount.flatten()
        target_mean = reward + discount * (q - self.log_ent_coef.detach().exp() * log_prob)
        # The authors' code draws within three deviations.
        return target_mean, target_mean + discount * sigma * th.randn_like(sigma).clamp(-3, 3)

    def _move_averages(self, std: Tensor) -> None:
        """E[sigma] and E[sigma^2] of each critic, exponentially moving (25, 27); the first batch starts them."""
        rate = self.boundary_tau if self._n_updates else 1.0
        self.critic.mean_std.lerp_(std.mean(dim=1), rate)
        self.critic.mean_var.lerp_((std**2).mean(dim=1), rate)

    def _update_actor(self, observations: Any) -> dict[str, Tensor]:
        ent_coef = self.log_ent_coef.detach().exp()
        actions, log_prob = self.actor.action_log_prob(observations)
        self.critic.layers.requires_grad_(False)  # their gradients would be thrown away
        q = self.critic(observations, actions)[0].min(dim=0).values
        loss = (ent_coef * log_prob - q).mean()
        self.actor.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.actor.optimizer.step()
        self.critic.layers.requires_grad_(True)
        metrics = {"actor_loss": loss.detach(), "ent_coef": ent_coef}
        if self.ent_coef_optimizer is not None:
            ent_coef_loss = -(self.log_ent_coef * (log_prob.detach() + self.target_entropy)).mean()
            self.ent_coef_optimizer.zero_grad()
            ent_coef_loss.backward()  # type: ignore[no-untyped-call]
            self.ent_coef_optimizer.step()
            metrics["ent_coef_loss"] = ent_coef_loss.detach()
        return metrics

    def _excluded_save_params(self) -> list[str]:
        names = ["actor", "actor_target", "critic", "critic_target", "_online", "_target"]
        return [*super()._excluded_save_params(), *names]

    def _get_torch_save_params(self) -> tuple[list[str], list[str]]:
        optimizers = ["actor.optimizer", "critic.optimizer"]
        if self.ent_coef_optimizer is not None:
            optimizers.append("ent_coef_optimizer")
        return ["policy", *optimizers], ["log_ent_coef"]
