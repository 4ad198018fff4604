"""TD3: a deterministic actor, the least of two critics, smoothed targets, a delayed actor.

Paper: Fujimoto et al., Addressing Function Approximation Error in Actor-Critic Methods (2018).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch as th
from stable_baselines3.common.noise import ActionNoise
from torch import Tensor

from .actor_critic import ActorCritic, Metrics, minimise
from .actor_critic_policy import ActorCriticPolicy
from .replay import Batch
from .settings import OffPolicySettings, takes
from .soft import regress


@dataclass(frozen=True)
class TD3Settings(OffPolicySettings):
    """Those of TD3, beside what all agents take.

    Args:
        action_noise: standard deviation of exploration on actions scaled to [-1, 1]; the paper's 0.1.
        policy_delay: updates of the critics per update of actor and targets.
        target_policy_noise: sigma.
        target_noise_clip: c.
    """

    _: KW_ONLY
    action_noise: ActionNoise | float | None = 0.1
    policy_delay: int = 2
    target_policy_noise: float = 0.2
    target_noise_clip: float = 0.5


@th.no_grad()
def smoothed_target(policy: ActorCriticPolicy, batch: Batch, settings: TD3Settings) -> Tensor:
    """Targets y ``[B]`` of the target actor's actions with clipped noise; see :class:`TD3`."""
    assert policy.actor_target is not None
    noise = th.randn_like(batch.actions) * settings.target_policy_noise
    noise = noise.clamp(-settings.target_noise_clip, settings.target_noise_clip)
    actions = (policy.actor_target(batch.next_observations) + noise).clamp(-1, 1)
    return batch.rewards + batch.discounts * policy.critic_target.minimum(batch.next_observations, actions)


class TD3(ActorCritic):
    r"""Twin delayed deterministic policy gradient.

    .. math::
        y = r + \gamma \min_i Q'_i(s', \pi'(s') + \epsilon), \quad \epsilon \sim \mathrm{clip}(N(0, \sigma), -c, c)

    (its equation 15). Every ``policy_delay``-th update the actor climbs :math:`Q_1(s, \pi(s))` and all targets follow.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {"actor": "deterministic", "actor_target": True}

    settings: TD3Settings

    @takes(TD3Settings)
    def __init__(self, settings: TD3Settings) -> None:
        self.construct(settings)

    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        metrics = regress(self.critic, batch, smoothed_target(self.policy, batch, self.settings))
        if (self._n_updates + 1) % self.settings.policy_delay == 0:
            value = self.critic.first(batch.observations, self.actor(batch.observations))
            metrics["actor_loss"] = minimise(self.actor.optimizer, -value.mean())
            self.update_targets()
        return metrics
