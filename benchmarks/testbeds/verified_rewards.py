"""Answer tree whose policies are paid by a verifier, or by it and a reward model that learnt a judge's preferences.

The verifier accepts the one correct completion of a problem. The judge, who compares pairs for the reward model, likes
the choices that lead to it, and as much those of a taste that has nothing to do with it; a quarter of the pairs are
labelled wrongly. Reward models, KL penalty and training are those of :mod:`.proxy_rewards`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...wrappers.components import Context, Reward
from ...wrappers.rewards.kl_penalty import KLPenalty
from ...wrappers.rewards.tulu_3_rlvr import RLVR
from .proxy_rewards import Optimised, Paid, ProxyRewards, TreeRewardModel
from .tree_learner import Learner
from .tree_task import TreeTask, along_paths, node_logp

VERIFIER, BOTH = "the verifier", "the verifier and scores"


class JudgedModel(TreeRewardModel):
    """A reward model whose pairs a judge has compared.

    Args:
        judge: how much he likes every completion of every problem, ``[N, L]``, of the task of a seed.
        settings: of the reward model.
    """

    def __init__(self, judge: Callable[[int], Tensor], **settings: Any) -> None:
        super().__init__(**settings)
        self.judge = judge

    def begin(self, context: Context) -> None:
        """Learns, once."""
        if not self.fitted:
            self.learn(self.completed_pairs(context), context)
            self.fitted = True

    def completed_pairs(self, context: Any) -> Any:
        """Two completions of each of ``pairs`` problems, with what the judge thinks of them as their reward."""
        played = super().completed_pairs(context)
        return replace(played, reward=self.judge(context.policy.seed)[played.seed, played.info["answer"]])


@dataclass(frozen=True, kw_only=True)
class VerifiedRewards(ProxyRewards):
    """The testbed.

    Attributes:
        taste: the judge's weight of what has nothing to do with correctness.
        alpha: of a correct completion.
    """

    taste: float = 0.5
    alpha: float = 10.0

    def rewards(self, condition: Paid) -> list[Reward]:
        """What a condition's completions are paid."""
        model = JudgedModel(
            self.judge,
            spread=self.spread,
            pairs=self.pairs,
            flips=self.flips,
            learning_rate=self.rate,
            n_epochs=self.epochs,
        )
        scored: dict[str, Any] = {"of": model, "multiplier": 1.0, "critic": False}
        used = {VERIFIER: {}, BOTH: scored}[condition.reward]
        return [RLVR(alpha=self.alpha, unfinished=None, **used), KLPenalty(coef=condition.coef)]

    def task(self, seed: int) -> TreeTask:
        """A task of its own for each seed; one completion of each problem is correct."""
        return self.tree.task(seed)

    def judge(self, seed: int) -> Tensor:
        """How much the judge likes every completion, ``[N, L]`` between 0 and 1."""
        correct = super().task(seed)
        weight = torch.from_numpy(np.random.default_rng([2026, seed]).normal(size=tuple(correct.base.shape)))
        logits = node_logp(correct.tree, correct.features, weight)
        best = (logits == logits.amax(-1, keepdim=True)).double()
        liked = along_paths(correct.tree, best) / correct.tree.depth
        return (1 - self.taste) * correct.reward + self.taste * liked

    def _train(self, learner: Learner, rewards: Sequence[Reward]) -> Optimised:
        held = slice(learner.task.trained, None)
        base, correct, liked = learner.distribution()[held], learner.task.reward[held], self.judge(learner.seed)[held]
        moments = []
        for iteration in range(self.tree.iterations + 1):
            if iteration % self.tree.every == 0:
                now = learner.distribution()[held]
                kl = torch.special.xlogy(now, now / base).sum(1)
                moments.append([float(one.mean()) for one in ((now * correct).sum(1), (now * liked).sum(1), kl)])
            if iteration < self.tree.iterations:
                self._step(learner, rewards)
        return Optimised(*np.array(moments).T)
