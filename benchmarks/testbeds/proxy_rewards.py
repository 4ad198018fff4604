"""Answer tree whose policies are paid by reward models that learnt from preferences, and judged by the true reward.

The true reward of a completion is the share of its choices that a hidden teacher likes best, in place of one correct
path. Reward models are those of :mod:`tiltyard.wrappers.rewards`, with a network that is linear in a problem's features
at every choice of the tree: from pairs of the base policy's completions, some of which are labelled wrongly, they learn
which is better, and of choices that the base policy seldom makes they know little but their random beginning. A policy
that moves towards these is paid more and more, while the true reward falls: it over-optimises.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from ...agents.language.collect import shaped
from ...agents.language.providers.base import supplied
from ...agents.language.providers.catalogue import load as load_providers
from ...wrappers.components import Context, Curriculum, Episodes, Reward
from ...wrappers.rewards.kl_penalty import KLPenalty
from ...wrappers.rewards.lsc import LSC
from ...wrappers.rewards.par import PAR
from ...wrappers.rewards.rm_ensemble import RewardEnsemble
from ...wrappers.rewards.tldr_rlhf import RewardModel
from ..statistics import Floats
from .answer_tree import AnswerTree
from .testbed import Method
from .tree_learner import Learner
from .tree_task import TreeTask, along_paths, node_logp


class Optimised(NamedTuple):
    """A policy at K moments of training, on the problems held out."""

    true: Floats  # [K] expected true reward
    paid: Floats  # [K] expected score of its reward model, or of the first of an ensemble's
    divergence: Floats  # [K] nats, KL to the base policy

    @property
    def before(self) -> float:
        """The true reward of the base policy."""
        return float(self.true[0])

    @property
    def half(self) -> float:
        """The true reward after half of the training, by which conditions are tuned."""
        return float(self.true[len(self.true) // 2])

    @property
    def end(self) -> float:
        """The true reward after training."""
        return float(self.true[-1])


class TreeScorer(nn.Module):
    """r(x, y): the sum over a completion's choices of a number that is linear in the problem's features.

    Args:
        task: whose tree and features.
        generator: draws the beginning, from N(0, spread^2 / (F + 1)).
        spread: of the beginning.
    """

    def __init__(self, task: TreeTask, generator: torch.Generator, spread: float) -> None:
        super().__init__()
        width = task.features.shape[1] + 1
        size = width, task.tree.n_nodes * task.tree.branching
        drawn = torch.randn(size, generator=generator, dtype=torch.float64) * spread / width**0.5
        self.task, self.weight = task, nn.Parameter(drawn)

    def forward(self, episodes: Episodes) -> Tensor:
        """Scores ``[B]``."""
        problems, choices = episodes.tokens[:, 0], episodes.tokens[:, 1:]
        every = (_one(self.task.features[problems]) @ self.weight).view(len(problems), self.task.tree.n_nodes, -1)
        rows = torch.arange(len(problems))[:, None]
        found: Tensor = every[rows, self.task.tree.node_of(choices), choices].sum(1)
        return found

    @torch.no_grad()
    def every(self) -> Tensor:
        """Scores of all completions of all problems, ``[N, L]``."""
        tree = self.task.tree
        return along_paths(tree, (_one(self.task.features) @ self.weight).view(-1, tree.n_nodes, tree.branching))


class TreeRewardModel(RewardModel):
    """The reward model of a language policy, on the tree."""

    def __init__(self, *, spread: float, **settings: Any) -> None:
        super().__init__(**settings)
        self.spread = spread

    def start(self, context: Context) -> None:
        """Begins at random."""
        generator = torch.Generator().manual_seed(int(context.rng.integers(2**31)))
        self.network: Any = TreeScorer(context.policy.task, generator, self.spread)
        self.shift, self.fitted = 0.0, False

    def completed_pairs(self, context: Any) -> Any:
        """Two completions of each of ``pairs`` problems."""
        return context.play(Curriculum().sample(self.pairs, context.rng), group_size=2)


class TreeEnsemble(RewardEnsemble):
    """Such reward models that learn from the same pairs, with the same labels, as the paper's do."""

    def __init__(self, members: Sequence[TreeRewardModel], objective: str, weight: float) -> None:
        super().__init__(objective=objective, weight=weight)
        super(RewardEnsemble, self).__init__(members)
        self.members = members

    def begin(self, context: Context) -> None:
        """Has all learn from one set of pairs."""
        if self.members[0].fitted:
            return
        first: Any = self.members[0]
        episodes = first.completed_pairs(context)
        wrong = torch.from_numpy(context.rng.random(first.pairs) < first.flips).repeat_interleave(2)
        swapped = episodes.reward.view(-1, 2).flip(1).flatten()
        labelled = replace(episodes, reward=torch.where(wrong, swapped, episodes.reward))
        for member in self.members:
            member.flips, member.fitted = 0.0, True
            member.learn(labelled, context)


@dataclass(frozen=True)
class Paid(Method):
    """A condition: a method, and what its completions are paid.

    Attributes:
        reward: "model", or what is made of such: "par", "lsc", or an ensemble's objective.
        coef: of the KL penalty after it.
    """

    reward: str = "model"
    coef: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ProxyRewards:
    """The testbed.

    Attributes:
        tree: of problems and policies; its ``correct`` has no meaning here.
        pairs: that a reward model learns from.
        flips: the probability that a pair is labelled wrongly.
        spread: of a reward model's random beginning.
        epochs: passes of a reward model over its pairs.
        rate: of a reward model.
    """

    tree: AnswerTree = AnswerTree(trained=128, iterations=400, every=50)
    pairs: int = 2048
    flips: float = 0.25
    spread: float = 0.3
    epochs: int = 5
    rate: float = 0.03

    def model(self) -> TreeRewardModel:
        """A reward model with these settings."""
        return TreeRewardModel(
            spread=self.spread, pairs=self.pairs, flips=self.flips, learning_rate=self.rate, n_epochs=self.epochs
        )

    def ensemble(self, objective: str, weight: float = 0.1, members: int = 5) -> TreeEnsemble:
        """Several that learn from the same pairs."""
        return TreeEnsemble([self.model() for _ in range(members)], objective, weight)

    def rewards(self, condition: Paid) -> list[Reward]:
        """What a condition's completions are paid."""
        named = {"par": PAR, "lsc": LSC}
        if condition.reward == "model":
            first: Reward = self.model()
        elif condition.reward in named:
            first = named[condition.reward](of=self.model())
        else:
            first = self.ensemble(condition.reward)
        return [first, KLPenalty(coef=condition.coef)] if condition.coef else [first]

    def task(self, seed: int) -> TreeTask:
        """A task of its own for each seed, with the true reward for every completion."""
        task = self.tree.task(seed)
        tree, rng = task.tree, np.random.default_rng([2025, seed])
        teacher = torch.from_numpy(rng.normal(size=tuple(task.base.shape)))  # the tree's own draw
        logits = node_logp(tree, task.features, teacher)
        best = (logits == logits.amax(-1, keepdim=True)).double()
        return replace(task, reward=along_paths(tree, best) / tree.depth)

    def run(self, condition: Paid, rate: float, seed: int) -> Optimised:
        """Trains a condition on the task of ``seed``."""
        tree = self.tree
        shape = {"prompts": tree.prompts, "group": tree.group}
        learner = Learner(self.task(seed), condition.objective(), seed=seed, learning_rate=rate, **shape)
        rewards = self.rewards(condition)
        wanted = {need for reward in rewards for need in reward.needs} - learner.providers.keys()
        for name, provider in load_providers(tuple(wanted)).items():
            learner.providers[name] = provider
            provider.start(learner.context)
        for reward in rewards:
            reward.start(learner.context)
        for reward in rewards:
            reward.begin(learner.context)
        return self._train(learner, rewards)

    def _train(self, learner: Learner, rewards: Sequence[Reward]) -> Optimised:
        held = slice(learner.task.trained, None)
        base, true = learner.distribution()[held], learner.task.reward[held]
        model: Any = getattr(rewards[0], "of", rewards)[0]
        paid = model.network.every()[held] - model.shift
        moments = []
        for iteration in range(self.tree.iterations + 1):
            if iteration % self.tree.every == 0:
                now = learner.distribution()[held]
                kl = torch.special.xlogy(now, now / base).sum(1)
                moments.append([float(one.mean()) for one in ((now * true).sum(1), (now * paid).sum(1), kl)])
            if iteration < self.tree.iterations:
                self._step(learner, rewards)
        return Optimised(*np.array(moments).T)

    @staticmethod
    def _step(learner: Learner, rewards: Sequence[Reward]) -> None:
        rollouts = learner.sample(learner.draw().repeat_interleave(learner.group))
        for reward in rewards:
            rollouts = shaped(rollouts, reward.shape(rollouts, learner.context))
        learner.completed += len(rollouts)
        learner.improve(supplied(rollouts, learner.providers.values(), learner.context))

    def smallest(self) -> Self:
        """A few iterations on a small tree."""
        return replace(self, tree=self.tree.smallest(), pairs=16, epochs=1)


def _one(features: Tensor) -> Tensor:
    return nn.functional.pad(features, (0, 1), value=1.0)
