"""TD3: a deterministic actor, the least of two critics, smoothed targets, a delayed actor.

Paper: Fujimoto et al., Addressing Function Approximation Error in Actor-Critic Methods (2018).
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import torch as th
from stable_baselines3.common.noise import ActionNoise
from torch import Tensor

from .actor_critic import ActorCritic, Metrics
from .explicit import Step, explicit, improvement, least, regression
from .networks import Critics
from .replay import Batch
from .settings import OffPolicySettings, takes

Improvement = Callable[..., Step]


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


def smoothing(batch: Batch, deviation: float, limit: float) -> Tensor:
    """The clipped noise ``[B, A]`` on the target actor's actions."""
    return (th.randn_like(batch.actions) * deviation).clamp(-limit, limit)


def smoothed_target(target: Critics, target_actor: Any, batch: Batch, noise: Tensor) -> Tensor:
    """Targets y ``[B]`` of the target actor's actions with ``noise`` ``[B, A]``; see :class:`TD3`."""
    actions = (target_actor(batch.next_observations) + noise).clamp(-1, 1)
    return batch.rewards + batch.discounts * least(target, batch.next_observations, actions)


def critic_gradients(critic: Critics, target: Critics, target_actor: Any, batch: Batch, noise: Tensor) -> Step:
    """What the critics learn."""
    y = smoothed_target(target, target_actor, batch, noise)
    return regression(critic, batch.observations, batch.actions, y)


def delayed_update(agent: ActorCritic, asked: TD3Settings, batch: Batch, improved: Improvement, *more: Any) -> Metrics:
    """One update of the critics, and every ``policy_delay``-th time of the actor and all targets."""
    critic, noise = agent.critic, smoothing(batch, asked.target_policy_noise, asked.target_noise_clip)
    targets = agent.critic_target, agent.policy.actor_target
    step = agent.compute(critic_gradients, critic, *targets, batch, noise)
    metrics = {"critic_loss": critic.descend(*step[:2]), "q": step.seen}
    return metrics | delayed_improvement(agent, asked, batch, improved, *more)


def delayed_improvement(
    agent: ActorCritic, asked: TD3Settings, batch: Batch, improved: Improvement, *more: Any
) -> Metrics:
    """Every ``policy_delay``-th time an update of the actor, after which all targets follow."""
    if (agent._n_updates + 1) % asked.policy_delay:
        return {}
    actor = agent.actor
    step = agent.compute(improved, actor, agent.critic, batch, *more)
    loss = actor.descend(*step[:2])
    agent.update_targets()
    return {"actor_loss": loss}


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

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        return delayed_update(self, self.settings, batch, improvement, "first")
