"""Thoughts: a completion thinks for up to sixteen tokens, stops, and gives one of four results.

Each problem takes a number of thoughts, from one to eight, which its features tell: who stops after fewer, or never, is
incorrect (no problem can be guessed); who stops after enough still has to learn which result is correct. The policy is
linear in the features at every place. It starts as models do that have learnt from long thoughts, with eight thoughts
on average for every problem and about half of its results correct. Success and tokens are computed exactly, on problems
that were not trained on.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import torch as th
from torch import Tensor

from ...agents.language.rollouts import Rollouts
from ...wrappers.rewards.grpo_lambda import GRPOLambda, length_penalty
from ..statistics import Floats
from .sequences import SequenceMethod, columns


class ThoughtProblems(NamedTuple):
    """N problems, the first ``trained`` to learn from. F features."""

    features: Tensor  # [N, F]; the last is 1
    needed: Tensor  # [N] thoughts
    correct: Tensor  # [N] result
    stop: Tensor  # [F, thoughts] weights that training starts from: whether to stop after 0, 1, ... thoughts,
    result: Tensor  # [F, results] and which result to give


@dataclass(frozen=True)
class Thoughts:
    """The task; its outcome is success and tokens at every moment.

    Attributes:
        thoughts: at most.
        needed: at most by a problem.
        results: possible.
        trained: problems to learn from.
        held_out: problems to be judged on only.
        width: features of a problem.
        prompts: problems an iteration.
        group: completions of each.
    """

    thoughts: int = 16
    needed: int = 8
    results: int = 4
    trained: int = 256
    held_out: int = 128
    width: int = 8
    prompts: int = 8
    group: int = 8

    def problems(self, seed: int) -> ThoughtProblems:
        """Others for each seed."""
        rng = np.random.default_rng([2501, seed])
        n, width = self.trained + self.held_out, self.width
        features = np.column_stack([rng.normal(size=(n, width)), np.ones(n)])
        hardness = features[:, :width] @ rng.normal(size=width) / np.sqrt(width)
        needed = 1 + np.floor(self.needed / (1 + np.exp(-2 * hardness))).astype(int)
        teacher = rng.normal(size=(width + 1, self.results))
        stop, result = (0.3 * rng.normal(size=(width + 1, size)) for size in (self.thoughts, self.results))
        stop[-1] = -2.2
        parts = (features, needed, (features @ teacher).argmax(1), stop, result + 0.3 * teacher)
        return ThoughtProblems(*[th.from_numpy(part) for part in parts])

    def learner(self, seed: int) -> "ThoughtLearner":
        """The policy that training starts from."""
        return ThoughtLearner(self, self.problems(seed), seed)

    def outcome(self, moments: list[Any], every: int) -> Floats:
        """``[moments, 2]``."""
        return columns(moments)

    def fewest_tokens(self, seed: int) -> float:
        """Tokens of completions that stop after as many thoughts as a problem takes."""
        return float(self.problems(seed).needed[self.trained :].double().mean() + 2)

    def smallest(self) -> Self:
        """It is small."""
        return self


def length_reward(first: float, second: float) -> SequenceMethod:
    """The catalogue's ``kimi-k1-5`` with this weight of the length reward in each half of training."""
    return SequenceMethod("kimi-k1-5", {"length_weight": first}, later={"length_weight": second})


def length_penalised(share: float, weight: float, *, at_random: bool = False) -> SequenceMethod:
    """The catalogue's GRPO, without KL penalty, where this share of the groups pays for length.

    They are those solved most often, as in the reward ``grpo-lambda``, or as many others, drawn at random.
    """
    reward = GRPOLambda(share=share, weight=weight)

    def sees(rollouts: Rollouts, generator: th.Generator) -> Rollouts:
        success, group = rollouts.reward > 0, rollouts.group
        pays = reward.chosen(group, success, th.ones_like(success))
        if at_random:
            numbers = th.unique(group)
            many = len(th.unique(group[pays]))
            pays = th.isin(group, numbers[th.randperm(len(numbers), generator=generator)[:many]])
        penalty = length_penalty(rollouts.length.double(), success, group)
        return replace(rollouts, reward=rollouts.reward - th.where(success & pays, weight * penalty, 0.0).float())

    return SequenceMethod("grpo", {"kl_coef": 0.0}, sees=sees)


def first_half(run: Floats) -> float:
    """Success in the first half of training."""
    return float(run[: len(run) // 2 + 1, 0].mean())


class ThoughtLearner:
    """A policy as two tables of weights."""

    def __init__(self, task: Thoughts, problems: ThoughtProblems, seed: int) -> None:
        self.task, self.problems, self.generator = task, problems, th.Generator().manual_seed(seed)
        self.stop, self.result = (weight.clone().requires_grad_() for weight in (problems.stop, problems.result))

    def weights(self) -> list[Tensor]:
        """See :class:`.sequences.SequenceLearner`."""
        return [self.stop, self.result]

    @th.no_grad()
    def exact(self) -> tuple[float, float]:
        """Success and tokens, expected over the problems held out."""
        n = self.task.thoughts
        features, needed, correct = (part[self.task.trained :] for part in self.problems[:3])
        stops = (features @ self.stop).sigmoid()
        here = stops * th.nn.functional.pad((1 - stops).cumprod(1)[:, :-1], (1, 0), value=1.0)
        known = (features @ self.result).softmax(1).gather(1, correct[:, None])
        worth = known * (th.arange(n) >= needed[:, None])
        tokens = (here * (th.arange(n) + 2)).sum(1) + (1 - here.sum(1)) * n
        return float((here * worth).sum(1).mean()), float(tokens.mean())

    def logp(self, rollouts: Rollouts) -> Tensor:
        """Log-probabilities ``[B, thoughts + 1]``."""
        return self._logp(rollouts.group, rollouts.tokens, rollouts.info["thoughts"])

    def _logp(self, problem: Tensor, tokens: Tensor, thoughts: Tensor) -> Tensor:
        n, features = self.task.thoughts, self.problems.features[problem]
        stops = features @ self.stop
        at_stop = th.arange(n) == thoughts[:, None]
        thinking = th.nn.functional.logsigmoid(th.where(at_stop, stops, -stops))
        results = (features @ self.result).log_softmax(1)
        result = tokens.gather(1, (thoughts[:, None] + 1).clamp(max=n))
        after_stop = th.arange(n + 1) == thoughts[:, None] + 1
        return th.where(after_stop, results.gather(1, result), th.nn.functional.pad(thinking, (0, 1)))

    @th.no_grad()
    def rollouts(self) -> Rollouts:
        """A batch; ``info["thoughts"]`` says after how many each completion stopped (all of them if never)."""
        task, known, draw = self.task, self.problems, self.generator
        n = task.thoughts
        problem = th.randperm(task.trained, generator=draw)[: task.prompts].repeat_interleave(task.group)
        features, rows = known.features[problem], th.arange(len(problem))
        stopped = th.rand(len(problem), n, generator=draw) < (features @ self.stop).sigmoid()
        thoughts = th.where(stopped.any(1), stopped.long().argmax(1), n)
        result = th.multinomial((features @ self.result).softmax(1), 1, generator=draw)[:, 0]
        never = thoughts == n
        correct = ~never & (thoughts >= known.needed[problem]) & (result == known.correct[problem])
        tokens = th.zeros(len(problem), n + 2, dtype=th.int64)
        tokens[rows, thoughts], tokens[rows, thoughts + 1] = 1, result
        tokens = tokens[:, :-1]
        length = th.where(never, n, thoughts + 2)
        mask = th.arange(n + 1) < length[:, None]
        return Rollouts(
            tokens=tokens,
            mask=mask,
            logp_old=self._logp(problem, tokens, thoughts),
            logp_ref=None,
            reward=correct.float(),
            group=problem,
            seed=problem,
            turn=th.zeros_like(tokens),
            length=length,
            entropy=th.zeros(mask.shape),
            info={"thoughts": thoughts},
        )
