"""Parts that soft actor-critic shares with its relatives: the temperature, the targets, and the step of the actor.

Paper: Haarnoja et al., Soft Actor-Critic Algorithms and Applications (2018).
"""

from typing import Any

import numpy as np
import torch as th
from gymnasium.spaces import Space
from torch import Tensor

from ..optimizers import FusedAdam
from .actor_critic import ActorCritic, Metrics
from .explicit import Step, act, explicit, least, regression, soft_improvement
from .networks import Critics
from .replay import Batch


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
        self.optimizer = FusedAdam([self.log], lr=rate) if learned else None

    @property
    def value(self) -> Tensor:
        """alpha, ``[1]``, without gradient."""
        return self.log.detach().exp()

    def update(self, log_prob: Tensor) -> None:
        """One step towards the entropy wanted, if alpha is learned."""
        if self.optimizer is not None:
            surplus = (log_prob.detach() + self.entropy_target).mean()
            self.optimizer.apply([-surplus.view(1)])  # of -log alpha * surplus


def drawn_members(subset: int | None, critics: Critics) -> Tensor | None:
    """Which critics a target takes the least of, drawn anew; all if None."""
    return None if subset is None else th.randperm(critics.net.n, device=critics.device)[:subset]


@th.no_grad()
def soft_target(actor: Any, critics: Critics, batch: Batch, alpha: Tensor | None, subset: int | None) -> Tensor:
    r"""Targets :math:`r + \gamma (\min_i Q'_i(s', a') - \alpha \log \pi(a'|s'))`, ``[B]``; None: no entropy."""
    actions, log_prob = actor.action_log_prob(batch.next_observations)
    value = least(critics, batch.next_observations, actions, drawn_members(subset, critics))
    if alpha is not None:
        value = value - alpha * log_prob
    return batch.rewards + batch.discounts * value


@explicit
def regress(agent: ActorCritic, batch: Batch, target: Tensor) -> Metrics:
    """One step of all critics towards ``target`` ``[B]``."""
    step = agent.compute(regression, agent.critic, batch.observations, batch.actions, target)
    return {"critic_loss": agent.critic.descend(*step[:2]), "q": step.seen}


@explicit
def improve(agent: ActorCritic, batch: Batch, temperature: Temperature, objective: str) -> Metrics:
    r"""One step of the actor down :math:`\alpha \log \pi(a|s) - Q(s, a)`, then one of the temperature.

    Q is the "min" or the "mean" of the critics, as ``objective`` says.
    """
    noise = agent.actor.noise(len(batch.rewards))
    alpha = temperature.value
    step = agent.compute(_improvement, agent.actor, agent.critic, batch.observations, noise, alpha, objective)
    loss = agent.actor.descend(*step[:2])
    temperature.update(step.seen)
    return {"actor_loss": loss, "ent_coef": alpha}


def _improvement(actor: Any, critic: Critics, observations: Any, noise: Tensor, alpha: Tensor, objective: str) -> Step:
    acted = act(actor, actor.features(observations), noise)
    return soft_improvement(actor, critic, observations, acted, alpha, objective)
