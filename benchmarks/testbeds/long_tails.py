"""Long tails: walks of few or many steps, one token each, by a policy that knows the way but now and then skips a step.

A walk goes down from a place to 0 on one of two roads, which name the places differently; the question is the road
and the place (and a token that means nothing, so that held-out problems are like trained ones), the answer the names
of the places below. How many there are has a heavy tail (Pareto, cut at the longest
walk), as thoughts of reasoning models have. The one correct answer is known, so that success is exact: the product of
the probabilities of its tokens, mean over held-out problems.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ...agents.language.t_ppo import TPPO
from ...agents.language.trainer import PolicyGradient
from ...agents.language.update import logp_of
from ...agents.language.warm_start import spoken
from ...agents.models.tokenizer import pad_right
from ...envs.core import BatchedVectorEnv, Bools, Info
from ...envs.seeding import Split
from ...envs.text.base import BatchedText, Conversation, draw_problems
from ..statistics import Floats

ROADS = 2
NAMES = string.ascii_letters
"""Of places: a token each."""
PIECES = tuple(string.digits[:ROADS] + NAMES)


class Walk(NamedTuple):
    """A road, how many places lie below the one where it begins, and a third token that means nothing."""

    road: int
    length: int
    noise: str


class Walks(BatchedText[Walk]):
    """The task as a text environment; nothing but the whole walk is correct, and all else earns 0.

    Args:
        num_envs: number of environments.
        longest: steps of a walk, at most 51.
        shortest: steps of a walk.
        tail: exponent of the Pareto distribution of steps.
        split: "train" or "test".
        render_mode: None.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        longest: int = 40,
        shortest: int = 3,
        tail: float = 1.0,
        split: Split = "train",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, split=split, render_mode=render_mode, question_length=3, answer_length=64)
        self.longest, self.shortest, self.tail = longest, shortest, tail
        self.roads = [_road(road) for road in range(ROADS)]

    def problems(self, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> list[Walk]:
        """Walks of this split."""
        return draw_problems(self.split, seeds, episodes, self._draw, self.prompt)

    def _draw(self, rng: np.random.Generator) -> Walk:
        drawn = self.shortest * (1 - rng.random()) ** (-1 / self.tail)
        return Walk(int(rng.integers(ROADS)), min(int(drawn), self.longest), NAMES[int(rng.integers(len(NAMES)))])

    def prompt(self, problem: Walk) -> str:
        """The road, the name of the place, and what means nothing."""
        return f"{problem.road}{self.roads[problem.road][problem.length]}{problem.noise}"

    def walk(self, problem: Walk, left_out: int | None = None) -> str:
        """The names below the place, one of them left out or none."""
        names = self.roads[problem.road]
        return "".join(names[place] for place in reversed(range(problem.length)) if place != left_out)

    def grade(self, texts: Sequence[str], problems: Sequence[Walk]) -> tuple[Bools, Bools]:
        """The whole walk; every text can be read."""
        correct = [text == self.walk(problem) for text, problem in zip(texts, problems, strict=True)]
        return np.array(correct, np.bool_), np.ones(len(texts), np.bool_)

    def solve(self, problem: Walk) -> str:
        """The walk."""
        return self.walk(problem)

    def corrupt(self, problem: Walk, rng: np.random.Generator) -> str:
        """The walk without one of its places."""
        return self.walk(problem, int(rng.integers(problem.length)))

    def describe(self, problems: Sequence[Walk]) -> Info:
        """``road`` and ``length``."""
        return {"road": [problem.road for problem in problems], "length": [problem.length for problem in problems]}


class WalksVectorEnv(BatchedVectorEnv):
    """:class:`Walks` as a native vector."""

    batched_class = Walks


def _road(road: int) -> str:
    """Names of the places 0, 1, ... on a road."""
    order = np.random.default_rng([2506, road]).permutation(len(NAMES))
    return "".join(NAMES[i] for i in order)


@dataclass(frozen=True)
class Learner:
    """A condition.

    Attributes:
        window: tokens of a sequence a step; None for the longest completion, which is synchronous.
        value_at_cut: of :class:`~tiltyard.agents.language.t_ppo.TPPO`.
        plain: the agent ``ppo`` instead, whose value network learns lambda-returns.
    """

    window: int | None = None
    value_at_cut: str = "held"
    plain: bool = False


class TailRun(NamedTuple):
    """Training, at M moments.

    Attributes:
        steps: ``[M]`` generation steps so far: forward passes of writing, all slots side by side.
        success: ``[M]`` exact success on held-out problems.
        tokens: ``[M]`` written so far.
        completions: ``[M]`` graded so far.
        slots: sequences side by side.
        budget: generation steps of training; the last moment is the first behind them.
    """

    steps: Floats
    success: Floats
    tokens: Floats
    completions: Floats
    slots: int
    budget: float

    @property
    def idle(self) -> float:
        """Share of slot-time in which nothing was written."""
        return float(1 - self.tokens[-1] / (self.slots * self.steps[-1]))

    @property
    def end(self) -> float:
        """Success when the budget is used up."""
        return self.success_at(self.budget)

    @property
    def learnt(self) -> float:
        """Mean success over the budget's time."""
        return float(np.mean([self.success_at(steps) for steps in np.linspace(0, self.budget, 201)]))

    def success_at(self, steps: float) -> float:
        """Success after so many generation steps, between moments by straight lines."""
        return float(np.interp(steps, self.steps, self.success))

    def success_after(self, completions: float) -> float:
        """Success after so many completions, likewise."""
        return float(np.interp(completions, self.completions, self.success))

    def steps_to(self, threshold: float) -> float:
        """Generation steps to the first time with this success; the whole budget for who is never there.

        Who has it before training is there at the first moment.
        """
        there = np.flatnonzero(self.success >= threshold)
        if len(there) == 0:
            return self.budget
        i = max(1, int(there[0]))
        share = (threshold - self.success[i - 1]) / (self.success[i] - self.success[i - 1]) if there[0] else 1.0
        return min(self.budget, float(self.steps[i - 1] + share * (self.steps[i] - self.steps[i - 1])))


@dataclass(frozen=True, kw_only=True)
class LongTails:
    """The testbed.

    Attributes:
        longest: steps of a walk.
        slots: sequences side by side, and completions of a synchronous step.
        budget: generation steps of training, the same for all conditions.
        every: generation steps, at least, from one evaluation to the next.
        base_steps: gradient steps on demonstrations from which all conditions start.
        noise: share of demonstrations with a place left out.
        bases: how many; a seed's base is its remainder.
        held_out: problems of an evaluation.
    """

    longest: int = 40
    slots: int = 32
    budget: int = 320
    every: int = 40
    base_steps: int = 600
    noise: float = 0.75
    bases: int = 2
    held_out: int = 64

    def run(self, condition: Learner, rate: float, seed: int) -> TailRun:
        """Trains a condition from the base of ``seed``."""
        agent = self.agent(condition, rate, seed)
        agent.set_parameters({"policy": _base(self, seed % self.bases)}, exact_match=False)
        agent._remember_start()
        seen = [(0, self.success(agent), 0, 0)]
        while agent.generation_steps < self.budget:
            agent.learn(1, reset_num_timesteps=False, log_interval=None)  # until something has been graded
            done = (agent.generation_steps, agent.tokens_written, agent.num_timesteps)
            if done[0] >= min(self.budget, seen[-1][0] + self.every):
                seen.append((done[0], self.success(agent), *done[1:]))
        steps, success, tokens, completions = np.array(seen, float).T
        return TailRun(steps, success, tokens, completions, self.slots, float(self.budget))

    def agent(self, condition: Learner, rate: float, seed: int) -> Any:
        """Untrained."""
        longest = self.longest + 1
        how: dict[str, Any] = {"policy": "transformer-100k", "pieces": PIECES, "max_answer_tokens": longest}
        how |= {"seed": seed, "device": "cpu", "learning_rate": rate, "env": self.env()}
        if condition.plain:
            return TimedPPO(method="ppo", group_size=1, prompts_per_batch=self.slots, **how)
        window = condition.window or longest
        return TPPO(slots=self.slots, window=window, value_at_cut=condition.value_at_cut, **how)

    def env(self) -> WalksVectorEnv:
        """To train in."""
        return WalksVectorEnv(self.slots, longest=self.longest)

    def success(self, agent: Any) -> float:
        """Exact, mean over held-out problems."""
        tokens, mask = _solutions(agent.policy.tokenizer, self.longest, self.held_out)
        return float(logp_of(agent.policy, tokens, mask).sum(1).double().exp().mean())

    def smallest(self) -> Self:
        """Short walks, one base, few steps."""
        return replace(self, longest=8, slots=4, budget=18, every=6, base_steps=2, bases=1, held_out=4)


class TimedPPO(PolicyGradient):
    """The agent with the counts of :class:`~tiltyard.agents.language.t_ppo.TPPO`, a batch written side by side."""

    generation_steps = tokens_written = 0

    def _log_completions(self, rollouts: Any) -> None:
        super()._log_completions(rollouts)
        self.generation_steps += int(rollouts.length.max())
        self.tokens_written += int(rollouts.length.sum())


@lru_cache(maxsize=8)
def _base(bed: LongTails, number: int) -> dict[str, Tensor]:
    """Weights that have learnt from demonstrations."""
    agent = TPPO(
        "transformer-100k",
        bed.env(),
        slots=bed.slots,
        pieces=PIECES,
        max_answer_tokens=bed.longest + 1,
        warm_start_steps=bed.base_steps,
        warm_start_noise=bed.noise,
        warm_start_batch_size=16,
        seed=number,
        device="cpu",
    )
    agent.warm_start()
    return {name: weight.clone() for name, weight in agent.policy.state_dict().items()}


@lru_cache(maxsize=8)
def _solutions(tokenizer: Any, longest: int, count: int) -> tuple[Tensor, Tensor]:
    """Held-out problems with their answers, tokens and the mask of the answers' ``[count, T]``."""
    env = Walks(1, longest=longest, split="test")
    held = env.problems(np.arange(count), np.zeros(count, np.int64))
    shown = [spoken(tokenizer, Conversation(env.prompt(one), [env.solve(one)], [""])) for one in held]
    tokens = torch.from_numpy(pad_right([row for row, _ in shown]))
    return tokens, torch.from_numpy(pad_right([own.astype(np.int64) for _, own in shown]) == 1)
