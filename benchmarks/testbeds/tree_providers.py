"""What the language trainer's providers ask of a policy on the answer tree, and a critic that is linear as it is.

A provider is written once, for the trainer (:mod:`tiltyard.agents.language.providers`); only where one plays episodes
in an environment, or builds a network on the policy's, does the tree have its own part of it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ...agents.language.collect import appended
from ...agents.language.context import Context
from ...agents.language.providers.base import Provider
from ...agents.language.providers.catalogue import load
from ...agents.language.providers.greedy import Greedy
from ...agents.language.providers.pav import Verifier
from ...agents.language.providers.values import Values
from ...agents.language.rollouts import Rollouts
from ...agents.models.critic import STEPS
from ...agents.objectives.parts.ops import masked_mean
from .tree_task import TreeTask, node_success

if TYPE_CHECKING:
    from .tree_learner import Learner

COPIES = 16
"""Completions from each node that PAV's verifier has seen."""


class TreeContext(Context):
    """The training of a :class:`.tree_learner.Learner`, which has no environment and scores in double precision."""

    @torch.no_grad()
    def score(self, tokens: Tensor, mask: Tensor, network: Any = None) -> Tensor:
        """Log-probabilities ``[B, T]`` of the tokens in ``mask`` under the policy as it is, or another ``network``."""
        return self.policy.evaluate(tokens, mask, network).logp

    def play(self, seeds: Sequence[int], *, group_size: int = 1, **_: Any) -> Rollouts:
        """``group_size`` completions of the problems that seeds stand for, modulo those trained on."""
        learner: Learner = self.policy  # type: ignore[assignment]
        problems = (torch.tensor(seeds) % learner.task.trained).repeat_interleave(group_size)
        learner.completed += len(problems)
        return replace(learner.sample(problems), group=torch.arange(len(seeds)).repeat_interleave(group_size))

    def play_reference(self, seeds: Sequence[int], *, group_size: int = 1) -> Rollouts:
        """:meth:`play` by the base policy."""
        learner: Learner = self.policy  # type: ignore[assignment]
        own = learner.weight.data
        learner.weight.data = learner.task.base
        try:
            return self.play(seeds, group_size=group_size)
        finally:
            learner.weight.data = own


def providers_of(learner: "Learner") -> dict[str, Provider]:
    """A provider for each need of the learner's method."""
    own: dict[str, Provider] = {
        "greedy": TreeGreedy(learner),
        "values": TreeValues(learner),
        "verifier": TreeVerifier(learner),
    }
    return {name: own.get(name, provider) for name, provider in load(learner.objective.needs).items()}


class TreeGreedy(Greedy):
    """The greedy completion of each problem is known without playing."""

    def __init__(self, learner: "Learner") -> None:
        self.learner = learner

    def extend(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With the greedy completion of each problem."""
        problems = rollouts.seed[rollouts.first_of_groups()]
        return appended(rollouts, self.learner.write(problems, self.learner.greedy()[problems]), "greedy")


class TreeValues(Values):
    """From a :class:`TreeCritic`."""

    def __init__(self, learner: "Learner") -> None:
        self.learner = learner

    def start(self, context: Context) -> None:
        """Makes the critic."""
        self.critic: Any = TreeCritic(self.learner.task, self.learner.critic_rate * self.learner.learning_rate)


class TreeVerifier(Verifier):
    """Knows of every node of every problem how many of :data:`COPIES` completions from there succeed.

    They are drawn before training, and not counted: the paper counts no completions that its verifiers learn from.
    """

    def __init__(self, learner: "Learner") -> None:
        self.learner, self.fitted = learner, True

    def start(self, context: Context) -> None:
        """Draws the numbers of successes."""
        task = self.learner.task
        chance = node_success(task, task.base)
        many = torch.full_like(chance, COPIES)
        self.chance = torch.binomial(many, chance.clamp(0, 1), generator=self.learner.generator) / COPIES

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With ``values``."""
        nodes = self.learner.tree.node_of(rollouts.tokens[:, 1:])
        known = self.chance[rollouts.tokens[:, 0]].gather(1, nodes)
        return replace(rollouts, values=torch.where(rollouts.mask, nn.functional.pad(known, (1, 0)), 0.0))

    def networks(self) -> dict[str, Any]:
        """None."""
        return {}


class TreeCritic:
    """A value for every node, linear in the features, which starts at 0 and is fitted as the trainer's critic is."""

    def __init__(self, task: TreeTask, learning_rate: float) -> None:
        self.task = task
        self.weight = torch.zeros(task.features.shape[1] + 1, task.tree.n_nodes, dtype=torch.float64)
        self.optimizer = torch.optim.Adam([self.weight.requires_grad_()], lr=learning_rate, betas=(0.9, 0.98))

    def __call__(self, rollouts: Rollouts) -> Tensor:
        """Values ``[B, T]`` before each token."""
        features = self.task.features[rollouts.tokens[:, 0]]
        all_nodes = nn.functional.pad(features, (0, 1), value=1.0) @ self.weight
        known = all_nodes.gather(1, self.task.tree.node_of(rollouts.tokens[:, 1:]))
        return torch.where(rollouts.mask, nn.functional.pad(known, (1, 0)), 0.0)

    def values(self, rollouts: Rollouts) -> Tensor:
        """The same without gradients."""
        return self(rollouts).detach()

    def fit(self, rollouts: Rollouts, returns: Tensor, *, learning_rate: float, max_grad_norm: float) -> Tensor:
        """Takes a few gradient steps on (V - returns)^2 / 2, the mean over written tokens; returns the first loss.

        It has a learning rate of its own and clips nothing, whatever the trainer says.
        """
        losses = []
        for _ in range(STEPS):
            self.optimizer.zero_grad()
            loss = masked_mean((self(rollouts) - returns).square() / 2, rollouts.mask)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            losses.append(loss.detach())
        return losses[0]
