"""AWAC: off-policy critics as in SAC, an actor that imitates the better of the actions seen; from data and online.

Paper: Nair, Gupta, Dalal, Levine, AWAC: Accelerating Online Reinforcement Learning with Offline Datasets (2020), and
the authors' code (rlkit).
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from torch import Tensor

from ... import unknown
from .actor_critic import ActorCritic, Metrics
from .explicit import Step, explicit, imitation, least, regression
from .networks import Critics
from .replay import Batch
from .settings import OffPolicySettings, takes

WEIGHTINGS = ("softmax", "exp")


def batch_weights(advantages: Tensor, temperature: float, weighting: str, limit: float) -> Tensor:
    r"""Weights ``[B]`` of actions by their advantages ``[B]``.

    "softmax": :math:`B e^{A/\lambda} / \sum e^{A/\lambda}`, mean 1 a batch, as the authors' code does; "exp":
    :math:`\min(e^{A/\lambda}, limit)`, equation 13 with a limit, as CORL does.
    """
    if weighting == "softmax":
        return len(advantages) * (advantages / temperature).softmax(dim=0)
    return (advantages / temperature).exp().clamp_max(limit)


@dataclass(frozen=True)
class AWACSettings(OffPolicySettings):
    """Those of AWAC, beside what all agents take.

    Args:
        temperature: lambda; small follows the critics, large imitates.
        weighting: "softmax" or "exp"; see :func:`batch_weights`.
        weight_limit: of a weight, with "exp".
    """

    _: KW_ONLY
    temperature: float = 1.0
    weighting: str = "softmax"
    weight_limit: float = 100.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weighting not in WEIGHTINGS:
            raise ValueError(unknown("weighting", self.weighting, WEIGHTINGS))
        if not self.temperature > 0:
            raise ValueError(f"temperature must be above 0, got {self.temperature}")


def critic_gradients(actor: Any, critic: Critics, target: Critics, batch: Batch, noise: Tensor) -> Step:
    """What the critics learn of the actor's actions with ``noise`` ``[B, A]`` at s'."""
    actions = actor.actions(actor.out(batch.next_observations), noise)
    y = batch.rewards + batch.discounts * least(target, batch.next_observations, actions)
    return regression(critic, batch.observations, batch.actions, y)


def actor_gradients(
    actor: Any, critic: Critics, batch: Batch, noise: Tensor, weighting: tuple[float, str, float]
) -> Step:
    """What the actor learns, with the arguments of :func:`batch_weights`; the weights are seen."""
    passed = actor.net.passed(actor.features(batch.observations))
    taken = least(critic, batch.observations, batch.actions)
    usual = least(critic, batch.observations, actor.actions(passed.out[0].detach(), noise))
    return imitation(actor, passed, batch.actions, batch_weights(taken - usual, *weighting))


class AWAC(ActorCritic):
    r"""Advantage-weighted actor-critic.

    With :math:`a' \sim \pi(s')` the critics regress on :math:`r + \gamma \min_i Q'_i(s', a')` (no entropy term), and
    the actor minimises

    .. math::
        -E[w(A) \log \pi(a|s)], \quad A = \min_i Q_i(s, a) - \min_i Q_i(s, \tilde a), \; \tilde a \sim \pi(s)

    (equation 13) on actions that were taken, from the dataset or since. Weights are :func:`batch_weights`. The actor is
    a Gaussian around tanh of its network with one learned deviation an action dimension. The authors learn from the
    dataset for 25 000 updates before the first step: ``learn_offline(dataset, 25_000)``.

    Departures from the authors' code for locomotion: its actor has four layers of 256, weight decay and a deviation
    between exp(-6) and 1, here two layers like the critics, no decay, and exp(-5) to exp(2); its batches are of 1024,
    here of 256; its temperature is 2 there, 1 (as in CORL, which has "exp") here.
    """

    policy_defaults: ClassVar[dict[str, Any]] = {"actor": "gaussian"}

    settings: AWACSettings

    @takes(AWACSettings)
    def __init__(self, settings: AWACSettings) -> None:
        self.construct(settings)

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See the class."""
        actor, critic, asked, size = self.actor, self.critic, self.settings, len(batch.rewards)
        step = self.compute(critic_gradients, actor, critic, self.critic_target, batch, actor.noise(size))
        losses = {"critic_loss": critic.descend(*step[:2]), "q": step.seen}
        weighting = asked.temperature, asked.weighting, asked.weight_limit
        step = self.compute(actor_gradients, actor, critic, batch, actor.noise(size), weighting)
        losses |= {"actor_loss": actor.descend(*step[:2]), "largest_weight": step.seen.max()}
        self.update_targets()
        return losses
