"""Modes: the first token decides between a short completion and a long one, which hard problems need.

Who thinks writes 32 more tokens, who does not four; the last of them is one of four results, the others are of no
account. Half of the problems are hard, which their features tell: without thought their result is luck. A small
network, shared by all places, is first taught to take either mode half of the time and to give correct results about
half of the time; then it learns from rewards of 1 for a correct result without thought, 0.5 for one with it, -1 for an
incorrect one. What it does is computed exactly, on problems that it has not been trained on. A condition of
:class:`LongThoughts` weighs tokens as if thoughts were many times as long, at the cost of short ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, Self

import numpy as np
import torch as th
from torch import Tensor, nn
from torch.nn import functional as F

from ...agents.language.rollouts import Rollouts
from ...agents.objectives.registry import Objective
from ..statistics import Floats
from .sequences import SequenceMethod, columns
from .testbed import Method

COLUMNS = ("reward", "success", "thinks, easy", "thinks, hard", "tokens")
WORTH = (1.0, 0.5)  # of a correct result, without thought and with


class ModeProblems(NamedTuple):
    """N problems, the first ``trained`` to learn from, and a network that has been taught to complete them."""

    features: Tensor  # [N, width]
    hard: Tensor  # [N] bool
    correct: Tensor  # [N] result
    base: "Thinker"


@dataclass(frozen=True)
class Modes:
    """The task; its outcome is :data:`COLUMNS` at every moment.

    Attributes:
        short: tokens after the mode without thought.
        long: tokens that thought adds.
        results: possible.
        trained: problems to learn from.
        held_out: problems to be judged on only.
        width: features of a problem.
        hidden: units of the network.
        taught: gradient steps of likelihood before.
        known: how sharply results are taught, without thought and with: logits of unit variance, times this.
        prompts: problems an iteration.
        group: completions of each.
    """

    short: int = 4
    long: int = 32
    results: int = 4
    trained: int = 128
    held_out: int = 128
    width: int = 8
    hidden: int = 32
    taught: int = 300
    known: tuple[float, float] = (2.0, 2.0)
    prompts: int = 8
    group: int = 8

    @property
    def places(self) -> int:
        """The mode, and the places of a completion without thought and with."""
        return 1 + self.short + self.long

    def places_of(self, thinks: Tensor) -> Tensor:
        """The place of each token of completions with thought and without, ``[B, 1 + long]``."""
        body = th.arange(self.long) + 1 + self.short * thinks[:, None]
        return F.pad(body, (1, 0)).clamp(max=self.places - 1)

    def learner(self, seed: int) -> "ModeLearner":
        """A copy of the base of ``seed``."""
        return ModeLearner(self, problems(self, seed), seed)

    def outcome(self, moments: list[Any], every: int) -> Floats:
        """``[moments, columns]``."""
        return columns(moments)

    def smallest(self) -> Self:
        """Hardly taught."""
        return replace(self, taught=20)


@dataclass(frozen=True)
class LongThoughts(SequenceMethod):
    """A condition whose loss counts each token of a thought as several, as if one choice had written all of them.

    A token's copies have one log-probability and one advantage, so that the loss is that of the long completion:
    weights are those of the method on its mask, summed over copies.

    Attributes:
        copies: tokens that each stands for.
        once: the first tokens, which count once: the mode, and as many as a completion without thought has.
    """

    copies: int = 100
    once: int = 5

    def objective(self) -> Objective:
        """The method's functions, with these weights."""
        own = super().objective()
        return replace(own, aggregate=partial(_folded, own.aggregate, copies=self.copies, once=self.once))


def _folded(aggregate: Callable[[Tensor], Tensor], mask: Tensor, *, copies: int, once: int) -> Tensor:
    """Weights ``[B, T]`` of ``aggregate`` on the mask of the long completions."""
    short, thought = mask[:, :once], mask[:, once:]
    weights = aggregate(th.cat([short, thought.repeat_interleave(copies, 1)], 1))
    return th.cat([weights[:, :once], weights[:, once:].reshape(len(mask), -1, copies).sum(2)], 1)


class Thinker(nn.Module):
    """``self(features)`` is the log-probability of every token at every place, ``[n, places, results]``.

    At place 0 the tokens are modes, of which there are two. All weights serve all places.
    """

    places: Tensor

    def __init__(self, task: Modes, generator: th.Generator) -> None:
        super().__init__()
        width, hidden = task.width, task.hidden
        sizes = {
            "problem": (width, hidden),
            "place": (width, hidden),
            "both": (width, hidden),
            "out": (hidden, task.results),
        }
        self.weights = nn.ParameterDict(
            {name: nn.Parameter(th.randn(*size, generator=generator) / np.sqrt(width)) for name, size in sizes.items()}
        )
        self.register_buffer("places", th.randn(task.places, width, generator=generator))

    def forward(self, features: Tensor) -> Tensor:
        """See the class."""
        w = self.weights
        mixed = (features @ w["problem"])[:, None] * (self.places @ w["both"])
        logits = (mixed + self.places @ w["place"]).tanh() @ w["out"]
        no_mode = th.zeros(logits.shape[1:], dtype=th.bool)
        no_mode[0, 2:] = True
        logps: Tensor = logits.masked_fill(no_mode, -30.0).log_softmax(-1)
        return logps


@lru_cache(maxsize=64)
def problems(task: Modes, seed: int) -> ModeProblems:
    """Problems and their base, the same for all conditions."""
    rng, generator = np.random.default_rng([2505, seed]), th.Generator().manual_seed(seed)
    features = th.from_numpy(rng.normal(size=(task.trained + task.held_out, task.width))).float()
    hard = features @ th.from_numpy(rng.normal(size=task.width)).float() > 0
    liked = features @ th.from_numpy(rng.normal(size=(task.width, task.results))).float()
    shown = th.full((len(features), task.places, task.results), 1 / task.results)
    shown[:, 0] = th.tensor([0.5, 0.5, 0.0, 0.0])
    for last, sharp in zip((task.short, task.short + task.long), task.known, strict=True):
        shown[:, last] = (sharp * liked / np.sqrt(task.width)).softmax(-1)
    base = Thinker(task, generator)
    optimizer = th.optim.Adam(base.parameters(), lr=0.03)
    for _ in range(task.taught):
        taught = base(features[: task.trained]).flatten(0, 1)
        optimizer.zero_grad()
        goal = shown[: task.trained].flatten(0, 1)
        F.kl_div(taught, goal, reduction="batchmean").backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return ModeProblems(features, hard, liked.argmax(-1), base)


def by_column(values: Floats) -> dict[str, Floats]:
    """Outcomes of one moment, ``[seeds, columns]``, as a column each."""
    return dict(zip(COLUMNS, values.T, strict=True))


def discernment(run: Floats) -> float:
    """The share of hard problems thought about minus that of easy ones, after training."""
    end = dict(zip(COLUMNS, run[-1], strict=True))
    return float(end["thinks, hard"] - end["thinks, easy"])


def first_tokens_share(condition: Method, task: Modes) -> dict[str, float]:
    """The share of the weights on a completion's tokens that its first token has, without thought and with."""
    length = th.tensor([[1 + task.short], [1 + task.long]])
    weights = condition.objective().aggregate(th.arange(1 + task.long) < length)
    share = weights[:, 0] / weights.sum(1)
    return {"without thought": float(share[0]), "with": float(share[1])}


class ModeLearner:
    """A network that completes problems."""

    def __init__(self, task: Modes, problems: ModeProblems, seed: int) -> None:
        self.task, self.problems, self.generator = task, problems, th.Generator().manual_seed(seed)
        self.thinker = Thinker(task, self.generator)
        self.thinker.load_state_dict(problems.base.state_dict())

    def weights(self) -> list[Tensor]:
        """See :class:`.sequences.SequenceLearner`."""
        return list(self.thinker.parameters())

    @th.no_grad()
    def rollouts(self) -> Rollouts:
        """A group of completions of each of some problems."""
        task, known, draw = self.task, self.problems, self.generator
        asked = th.randperm(task.trained, generator=draw)[: task.prompts]
        problem, row = (each.repeat_interleave(task.group) for each in (asked, th.arange(len(asked))))
        logps = self.thinker(known.features[asked])
        drawn = th.multinomial(logps[row].exp().flatten(0, 1), 1, generator=draw).view(-1, task.places)
        thinks = drawn[:, 0]
        tokens = drawn.gather(1, task.places_of(thinks))
        length = 1 + th.where(thinks == 1, task.long, task.short)
        luck = th.randint(task.results, length.shape, generator=draw)
        goal = th.where(known.hard[problem] & (thinks == 0), luck, known.correct[problem])
        correct = tokens.gather(1, length[:, None] - 1)[:, 0] == goal
        return Rollouts(
            tokens=tokens,
            mask=th.arange(1 + task.long) < length[:, None],
            logp_old=self._logp_of(logps, row, tokens),
            logp_ref=None,
            reward=th.where(correct, th.tensor(WORTH)[thinks], -1.0),
            group=problem,
            seed=problem,
            turn=th.zeros_like(tokens),
            length=length,
            entropy=th.zeros(tokens.shape),
        )

    def logp(self, rollouts: Rollouts) -> Tensor:
        """See :class:`.sequences.SequenceLearner`."""
        asked, row = th.unique(rollouts.group, return_inverse=True)
        return self._logp_of(self.thinker(self.problems.features[asked]), row, rollouts.tokens)

    def _logp_of(self, logps: Tensor, row: Tensor, tokens: Tensor) -> Tensor:
        return logps[row[:, None], self.task.places_of(tokens[:, 0]), tokens]

    @th.no_grad()
    def exact(self) -> tuple[float, ...]:
        """:data:`COLUMNS`, expected over the problems held out."""
        task = self.task
        features, hard, correct = (part[task.trained :] for part in self.problems[:3])
        chances = self.thinker(features).exp()
        mode, ends = chances[:, 0, :2], [task.short, task.short + task.long]
        known = chances[:, ends].gather(2, correct[:, None, None].expand(-1, 2, 1))[..., 0]
        known[:, 0] = th.where(hard, 1 / task.results, known[:, 0])
        reward = (mode * (known * th.tensor(WORTH) - (1 - known))).sum(1).mean()
        thinks = mode[:, 1]
        tokens = 1 + task.short + (task.long - task.short) * thinks.mean()
        found = (reward, (mode * known).sum(1).mean(), thinks[~hard].mean(), thinks[hard].mean(), tokens)
        return tuple(map(float, found))
