"""An actor whose exploration noise is a function of the state: SAC's with ``use_sde=True``.

Paper: Raffin, Kober, Stulp, Smooth Exploration for Robotic Reinforcement Learning (2021), called gSDE.
"""

from typing import TYPE_CHECKING, Any

import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.distributions import StateDependentNoiseDistribution
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from .networks import EPSILON, Actor
from .replay import Batch
from .updates import Mlp, minimise

if TYPE_CHECKING:
    from .sac import SAC
    from .soft import Temperature

MEAN_LIMIT = 2.0  # of means before the squashing, as in SB3
LOG_STD_INIT = -3.0  # likewise


class StateDependent(Actor):
    r"""tanh of a Gaussian whose noise is linear in the last hidden layer h(s).

    .. math::
        a = \tanh(\mu(s) + \theta_\epsilon^T h(s)), \quad \theta_\epsilon \sim N(0, \sigma^2)

    (its equations 7 and 8). The matrix is drawn by :meth:`reset_noise` and kept between, so that the same state gets
    the same noise, and exploration is smooth where independent noise shakes. The distribution itself is SB3's.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        extractor: of features.
        net_arch: widths of the hidden layers, at least one.
        activation_fn: between the layers, and after the last.
        layer_norm: normalise the hidden layers but the last.
        orthogonal: gain of the last hidden layer where weights begin orthogonally.
        normalize_images: divide images by 255.
        log_std_offset: has no meaning here.
        log_std_init: logarithm that the deviations begin at.
        use_expln: deviations are exp(x) below 1 and 1 + log(1 + x) above, so that none grows fast.
        clip_mean: limit of means before the squashing; 0 is none.

    Raises:
        ValueError: no hidden layer, or an offset.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Box,
        extractor: BaseFeaturesExtractor,
        *,
        net_arch: list[int],
        activation_fn: type[nn.Module] = nn.ReLU,
        layer_norm: bool = False,
        orthogonal: float | None = None,
        normalize_images: bool = True,
        log_std_offset: float | None = None,
        log_std_init: float = LOG_STD_INIT,
        use_expln: bool = False,
        clip_mean: float = MEAN_LIMIT,
    ) -> None:
        if not net_arch:
            raise ValueError("use_sde=True makes noise from the last hidden layer: net_arch must have one")
        how: dict[str, Any] = {"activation_fn": activation_fn, "layer_norm": layer_norm, "orthogonal": orthogonal}
        how |= {"normalize_images": normalize_images, "log_std_offset": log_std_offset}
        super().__init__(observation_space, action_space, extractor, net_arch=net_arch, **how)
        *widths, n_hidden = net_arch
        shape: dict[str, Any] = {"activation": activation_fn, "layer_norm": layer_norm, "orthogonal": orthogonal}
        self.net = Mlp(1, extractor.features_dim, widths, n_hidden, **shape)
        self.activation = activation_fn()
        self.use_expln = use_expln
        self.exploration = self._distribution()
        mean, self.log_std = self.exploration.proba_distribution_net(n_hidden, log_std_init)
        limit = nn.Hardtanh(-clip_mean, clip_mean) if clip_mean > 0 else nn.Identity()
        self.mean = nn.Sequential(mean, limit)

    def reset_noise(self, batch_size: int = 1) -> None:
        """Draws a matrix of noise for each of ``batch_size`` states, and one more for all other numbers of states."""
        self.exploration.sample_weights(self.log_std, batch_size)

    def get_std(self) -> Tensor:
        """Deviations sigma ``[hidden, A]`` of the matrix; SB3 logs their mean."""
        return self.exploration.get_std(self.log_std)

    def forward(self, observations: Any, deterministic: bool = False) -> Tensor:
        """Actions ``[B, A]``; the most central one if ``deterministic``."""
        actions: Tensor = self._at(observations).get_actions(deterministic)
        return actions

    def actions(self, out: Tensor, noise: Tensor | None) -> Tensor:
        """Actions ``[B, A]`` of outputs; where there is ``noise``, its own matrix takes its place."""
        found: Tensor = self._of(out).get_actions(noise is None)
        return found

    def action_log_prob(self, observations: Any) -> tuple[Tensor, Tensor]:
        """Drawn actions ``[B, A]`` and their log-probabilities ``[B]``, both with gradients."""
        found = self._at(observations)
        actions: Tensor = found.get_actions()
        return actions, found.log_prob(actions)

    def log_prob(self, observations: Any, actions: Tensor) -> Tensor:
        """Log-probability ``[B]`` of given actions; those at the very border count as just inside it."""
        return self._at(observations).log_prob(actions.clamp(-1 + EPSILON, 1 - EPSILON))

    def _distribution(self) -> StateDependentNoiseDistribution:
        how: dict[str, Any] = {"squash_output": True, "learn_features": True, "use_expln": self.use_expln}
        return StateDependentNoiseDistribution(self.n_actions, **how)

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickle: without the noise, whose matrices carry gradients."""
        return {name: value for name, value in vars(self).items() if name != "exploration"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of a copy, which draws noise of its own."""
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.exploration = self._distribution()
        self.exploration.latent_sde_dim = len(self.log_std)
        self.reset_noise()

    def _at(self, observations: Any) -> StateDependentNoiseDistribution:
        """The distribution of actions in these states."""
        return self._of(self.out(observations))

    def _of(self, out: Tensor) -> StateDependentNoiseDistribution:
        hidden = self.activation(out)
        return self.exploration.proba_distribution(self.mean(hidden), self.log_std, hidden)

    def _apply(self, fn: Any, recurse: bool = True) -> "StateDependent":
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        with th.no_grad():
            self.reset_noise()  # on another device
        return self


@th.enable_grad()
def update(agent: "SAC", batch: Batch, temperature: "Temperature", *, with_actor: bool) -> dict[str, Tensor]:
    """SAC's update of critics, targets and (if ``with_actor``) actor and temperature, by autograd.

    A matrix of noise, drawn anew, is the same for the whole batch, as in SB3; its gradient moves the deviation.
    """
    asked, alpha = agent.settings, temperature.value
    agent.actor.reset_noise()
    with th.no_grad():
        actions, log_prob = agent.actor.action_log_prob(batch.next_observations)
        values = agent.critic_target(batch.next_observations, actions)
        if asked.critic_subset is not None:
            values = values[th.randperm(len(values), device=values.device)[: asked.critic_subset]]
        bonus = alpha * log_prob if asked.backup_entropy else 0.0
        target = batch.rewards + batch.discounts * (values.min(0).values - bonus)
    loss, q = agent.critic.loss(batch.observations, batch.actions, target)
    metrics = {"critic_loss": minimise(agent.critic.optimizer, loss.mean(dim=1).sum()), "q": q.mean()}
    agent.update_targets()
    if with_actor:
        actions, log_prob = agent.actor.action_log_prob(batch.observations)
        value = agent.critic.minimum if asked.actor_objective == "min" else agent.critic.mean
        loss = (alpha * log_prob - value(batch.observations, actions)).mean()
        metrics |= {"actor_loss": minimise(agent.actor.optimizer, loss), "ent_coef": alpha}
        temperature.update(log_prob)
    return metrics
