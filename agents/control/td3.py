"""TD3: a deterministic actor, the least of two critics, smoothed targets, a delayed actor.

Paper: Fujimoto et al., Addressing Function Approximation Error in Actor-Critic Methods (2018).
"""

from typing import Any, ClassVar

import torch as th
from stable_baselines3.common.noise import ActionNoise
from torch import Tensor

from .actor_critic import ActorCritic, Metrics, minimise
from .replay import Batch


class TD3(ActorCritic):
    r"""Twin delayed deterministic policy gradient.

    .. math::
        y = r + \gamma \min_i Q'_i(s', \pi'(s') + \epsilon), \quad \epsilon \sim \mathrm{clip}(N(0, \sigma), -c, c)

    (its equation 15). Every ``policy_delay``-th update the actor climbs :math:`Q_1(s, \pi(s))` and all targets follow.

    Args:
        policy: "MlpPolicy", "CnnPolicy" or "MultiInputPolicy".
        env: any environment with Box actions, or its id.
        action_noise: standard deviation of exploration on actions scaled to [-1, 1]; the paper's 0.1.
        policy_delay: updates of the critics per update of actor and targets.
        target_policy_noise: sigma.
        target_noise_clip: c.
        **settings: see :class:`~.actor_critic.ActorCritic`.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {"actor": "deterministic", "actor_target": True}

    def __init__(
        self,
        policy: str | type[Any],
        env: Any,
        *,
        action_noise: ActionNoise | float | None = 0.1,
        policy_delay: int = 2,
        target_policy_noise: float = 0.2,
        target_noise_clip: float = 0.5,
        **settings: Any,
    ) -> None:
        if policy_delay < 1:
            raise ValueError(f"policy_delay must be at least 1, got {policy_delay}")
        self.policy_delay = policy_delay
        self.target_policy_noise = target_policy_noise
        self.target_noise_clip = target_noise_clip
        super().__init__(policy, env, action_noise=action_noise, **settings)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        loss, values = self.critic.loss(batch.observations, batch.actions, self._target(batch))
        metrics = {"critic_loss": minimise(self.critic.optimizer, loss.mean(dim=1).sum()), "q": values.mean()}
        if (self._n_updates + 1) % self.policy_delay == 0:
            metrics["actor_loss"] = minimise(self.actor.optimizer, self.actor_loss(batch))
            self.follow()
        return metrics

    def actor_loss(self, batch: Batch) -> Tensor:
        """What the actor minimises."""
        return -self.critic.first(batch.observations, self.actor(batch.observations)).mean()

    @th.no_grad()
    def _target(self, batch: Batch) -> Tensor:
        assert self.policy.actor_target is not None
        noise = th.randn_like(batch.actions) * self.target_policy_noise
        noise = noise.clamp(-self.target_noise_clip, self.target_noise_clip)
        actions = (self.policy.actor_target(batch.next_observations) + noise).clamp(-1, 1)
        return batch.rewards + batch.discounts * self.critic_target.minimum(batch.next_observations, actions)
