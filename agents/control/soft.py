"""Parts that soft actor-critic shares with its relatives: the temperature, the targets, and the step of the actor.

Paper: Haarnoja et al., Soft Actor-Critic Algorithms and Applications (2018).
"""

from typing import Any

import numpy as np
import torch as th
from gymnasium.spaces import Space
from torch import Tensor

from .actor_critic import Metrics, minimise
from .explicit import Drawn, draw, plain_actor, plain_critic, step_actor, step_critics
from .networks import Critics
from .replay import Batch
from .updates import Adam


class Temperature:
    """The weight alpha of entropy: fixed, or learned so that the entropy stays near its target.

    Args:
        ent_coef: a number, "auto", or "auto_0.1" to begin at 0.1.
        target_entropy: "auto" is minus the number of action dimensions.
        actions: the action space.
        rate: of learning.
        device: where tensors live.
    """

    def __init__(
        self,
        ent_coef: str | float,
        target_entropy: str | float,
        actions: Space[Any],
        *,
        rate: float,
        device: th.device,
    ) -> None:
        self.entropy_target = (
            -float(np.prod(actions.shape or ())) if target_entropy == "auto" else float(target_entropy)
        )
        automatic, _, start = str(ent_coef).partition("_")
        learned = automatic == "auto"
        first = float(start or 1.0) if learned else float(ent_coef)
        self.log: Tensor = th.tensor([first], device=device).log().requires_grad_(learned)
        self.optimizer = Adam([self.log], lr=rate) if learned else None

    @property
    def value(self) -> Tensor:
        """alpha, ``[1]``, without gradient."""
        return self.log.detach().exp()

    def update(self, log_prob: Tensor) -> None:
        """One step towards the entropy wanted, if alpha is learned."""
        if self.optimizer is not None:
            surplus = (log_prob.detach() + self.entropy_target).mean()
            self.log.grad = -surplus.view(1)  # of -log alpha * surplus
            self.optimizer.step()


def check_subset(subset: int | None, n_critics: int) -> None:
    """Raises ``ValueError`` unless a target can take the least of ``subset`` of the critics."""
    if subset is not None and not 1 <= subset <= n_critics:
        raise ValueError(f"critic_subset must be between 1 and the {n_critics} critics, got {subset}")


def least_value(critics: Critics, observations: Any, actions: Tensor, subset: int | None) -> Tensor:
    """The least value ``[B]`` of all critics, or of ``subset`` of them, drawn anew."""
    if subset is None:
        return critics.minimum(observations, actions)
    values = critics(observations, actions)
    drawn = th.randperm(len(values), device=values.device)[:subset]
    least: Tensor = values[drawn].min(dim=0).values
    return least


@th.no_grad()
def soft_target(
    actor: Any,
    critics: Critics,
    batch: Batch,
    alpha: Tensor | None,
    subset: int | None,
    drawn: Drawn | None = None,
) -> Tensor:
    r"""Targets :math:`r + \gamma (\min_i Q'_i(s', a') - \alpha \log \pi(a'|s'))`, ``[B]``; None: no entropy.

    Actions at s' that are ``drawn`` already are taken as they are.
    """
    actions, log_prob = drawn[:2] if drawn else actor.action_log_prob(batch.next_observations)
    value = least_value(critics, batch.next_observations, actions, subset)
    if alpha is not None:
        value = value - alpha * log_prob
    return batch.rewards + batch.discounts * value


def regress(critic: Critics, batch: Batch, target: Tensor) -> Metrics:
    """One step of all critics towards ``target`` ``[B]``."""
    if plain_critic(critic):
        return step_critics(critic, batch, target)
    loss, values = critic.loss(batch.observations, batch.actions, target)
    return {"critic_loss": minimise(critic.optimizer, loss.mean(dim=1).sum()), "q": values.mean()}


def improve(
    actor: Any,
    critic: Critics,
    batch: Batch,
    temperature: Temperature,
    objective: str,
    drawn: Drawn | None = None,
) -> Metrics:
    r"""One step of the actor down :math:`\alpha \log \pi(a|s) - Q(s, a)`, then one of the temperature.

    Q is the "min" or the "mean" of the critics, as ``objective`` says. Actions at s that are ``drawn`` already are
    taken as they are.
    """
    alpha = temperature.value
    if plain_actor(actor) and plain_critic(critic):
        drawn = drawn or draw(actor, batch.observations, th.randn(batch.actions.shape, device=alpha.device))
        loss = step_actor(actor, critic, batch.observations, drawn, alpha, objective)
        temperature.update(drawn.log_prob)
        return {"actor_loss": loss, "ent_coef": alpha}
    actions, log_prob = actor.action_log_prob(batch.observations)
    value = critic.minimum if objective == "min" else critic.mean
    loss = (alpha * log_prob - value(batch.observations, actions)).mean()
    metrics = {"actor_loss": minimise(actor.optimizer, loss), "ent_coef": alpha}
    temperature.update(log_prob)
    return metrics
