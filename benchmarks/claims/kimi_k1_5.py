"""Does a reward for brevity save tokens at no loss, and should it wait until the answers are good?

An answer thinks for up to sixteen tokens, stops, and gives one of four results. Each problem takes a number of
thoughts, from one to eight, which its features tell: who stops after fewer, or never, is wrong (the authors train on no
problems that a guess might solve); who stops after enough still has to learn which result is right. The policy is
linear in the features at every place. It starts as models do that have learnt from long thoughts, with eight thoughts
on average for every problem and about half of its results right, and takes two gradient steps on every batch. Success
and tokens are computed exactly, on problems that were not trained on.

The arms are the catalogue's ``kimi-k1-5`` without a length reward, and with one from half of training on (``late``) or
from the start (``early``). The paper does not say what it weighs, so that there are three weights; at the largest, 1,
the longest right answer still earns 0.5, more than any wrong one. All arms have one learning rate, which did best
without a length reward, and the weight that decides is the one that saved most tokens without losing more than a point,
both on tuning worlds.

The claim has three parts and the effect is the smallest: the share of tokens that ``late`` saves, for which the paper
has no number; its success at the end minus that without a length reward, plus one point, which it may lose; and by how
much the ``early`` length reward lowers success in the first half of training. ``details`` says what share of tokens
could be saved at no loss at all, by stopping after as many thoughts as a problem takes.
"""

from typing import Any, NamedTuple

import numpy as np
import torch as th
from torch import Tensor

from ...agents.language.rollouts import PolicyOut, Rollouts
from ...agents.objectives.registry import load
from ..statistics import Floats
from .comparisons import TUNING, best_rates, summary, weakest
from .harness import Claim, Measurement

CLAIM = Claim(
    handle="kimi-k1-5",
    sentence="A length reward makes answers shorter without loss, but slows training down at first and is better "
    "switched on later (Kimi Team 2025, section 2.3.3)",
    effect="the smallest of: share of tokens saved by the late length reward; its success minus that without, plus "
    "0.01; success in the first half of training without one minus with one",
)

SEEDS, TUNING_SEEDS = 12, 3
THOUGHTS, NEEDED, RESULTS = 16, 8, 4
TRAINED, HELD_OUT, WIDTH = 256, 128, 8
PROMPTS, GROUP, EPOCHS, ITERATIONS, EVERY = 8, 8, 2, 100, 10
RATES = (0.03, 0.1, 0.3)
WEIGHTS = (0.1, 0.3, 1.0)
ARMS: dict[str, tuple[float, float]] = {  # the length reward's weight in the first half of training and in the second
    "without": (0.0, 0.0),
    **{f"late, {weight}": (0.0, weight) for weight in WEIGHTS},
    **{f"early, {weight}": (weight, weight) for weight in WEIGHTS},
}


class World(NamedTuple):
    """N problems, the first ``TRAINED`` to learn from."""

    features: Tensor  # [N, F]; the last is 1
    needed: Tensor  # [N] thoughts
    right: Tensor  # [N] result
    stop: Tensor  # [F, THOUGHTS] weights that training starts from: whether to stop after 0, 1, ... thoughts,
    result: Tensor  # [F, RESULTS] and which result to give


def draw_world(seed: int) -> World:
    """Another one for each seed."""
    rng = np.random.default_rng([2501, seed])
    n = TRAINED + HELD_OUT
    features = np.column_stack([rng.normal(size=(n, WIDTH)), np.ones(n)])
    hardness = features[:, :WIDTH] @ rng.normal(size=WIDTH) / np.sqrt(WIDTH)
    needed = 1 + np.floor(NEEDED / (1 + np.exp(-2 * hardness))).astype(int)
    teacher = rng.normal(size=(WIDTH + 1, RESULTS))
    stop, result = (0.3 * rng.normal(size=(WIDTH + 1, size)) for size in (THOUGHTS, RESULTS))
    stop[-1] = -2.2
    parts = (features, needed, (features @ teacher).argmax(1), stop, result + 0.3 * teacher)
    return World(*[th.from_numpy(part) for part in parts])


class Student:
    """A policy in a world, as two tables of weights."""

    def __init__(self, world: World, rate: float, seed: int) -> None:
        self.world, self.generator = world, th.Generator().manual_seed(seed)
        self.stop, self.result = (weight.clone().requires_grad_() for weight in (world.stop, world.result))
        self.optimizer = th.optim.Adam([self.stop, self.result], lr=rate)

    @th.no_grad()
    def exact(self) -> tuple[float, float]:
        """Success and tokens, expected over the problems held out."""
        features, needed, right = (part[TRAINED:] for part in self.world[:3])
        stops = (features @ self.stop).sigmoid()
        here = stops * th.nn.functional.pad((1 - stops).cumprod(1)[:, :-1], (1, 0), value=1.0)
        known = (features @ self.result).softmax(1).gather(1, right[:, None])
        worth = known * (th.arange(THOUGHTS) >= needed[:, None])
        tokens = (here * (th.arange(THOUGHTS) + 2)).sum(1) + (1 - here.sum(1)) * THOUGHTS
        return float((here * worth).sum(1).mean()), float(tokens.mean())

    def logp(self, problem: Tensor, tokens: Tensor, thoughts: Tensor) -> Tensor:
        """Log-probabilities ``[B, THOUGHTS + 1]`` of answers that stopped after ``thoughts`` ``[B]``."""
        features = self.world.features[problem]
        stops = features @ self.stop
        at_stop = th.arange(THOUGHTS) == thoughts[:, None]
        thinking = th.nn.functional.logsigmoid(th.where(at_stop, stops, -stops))
        results = (features @ self.result).log_softmax(1)
        result = tokens.gather(1, (thoughts[:, None] + 1).clamp(max=THOUGHTS))
        after_stop = th.arange(THOUGHTS + 1) == thoughts[:, None] + 1
        return th.where(after_stop, results.gather(1, result), th.nn.functional.pad(thinking, (0, 1)))

    @th.no_grad()
    def answer(self) -> tuple[Rollouts, Tensor]:
        """A batch, and after how many thoughts each answer stopped (``THOUGHTS`` if never)."""
        world, draw = self.world, self.generator
        problem = th.randperm(TRAINED, generator=draw)[:PROMPTS].repeat_interleave(GROUP)
        features, rows = world.features[problem], th.arange(len(problem))
        stopped = th.rand(len(problem), THOUGHTS, generator=draw) < (features @ self.stop).sigmoid()
        thoughts = th.where(stopped.any(1), stopped.long().argmax(1), THOUGHTS)
        result = th.multinomial((features @ self.result).softmax(1), 1, generator=draw)[:, 0]
        never = thoughts == THOUGHTS
        right = ~never & (thoughts >= world.needed[problem]) & (result == world.right[problem])
        tokens = th.zeros(len(problem), THOUGHTS + 2, dtype=th.int64)
        tokens[rows, thoughts], tokens[rows, thoughts + 1] = 1, result
        tokens = tokens[:, :-1]
        length = th.where(never, THOUGHTS, thoughts + 2)
        mask = th.arange(THOUGHTS + 1) < length[:, None]
        rollouts = Rollouts(
            tokens=tokens,
            mask=mask,
            logp_old=self.logp(problem, tokens, thoughts),
            logp_ref=None,
            reward=right.float(),
            group=problem,
            seed=problem,
            turn=th.zeros_like(tokens),
            length=length,
            entropy=th.zeros(mask.shape),
        )
        return rollouts, thoughts


def course(arm: str, rate: float, seed: int) -> Floats:
    """Success and tokens of an arm at the start and after every ``EVERY`` iterations, ``[moments, 2]``."""
    student = Student(draw_world(seed), rate, seed)
    objectives = [load("kimi-k1-5", length_weight=weight) for weight in ARMS[arm]]
    found: list[tuple[float, float]] = []
    for iteration in range(ITERATIONS + 1):
        if iteration % EVERY == 0:
            found.append(student.exact())
        objective = objectives[int(iteration >= ITERATIONS // 2)]
        rollouts, thoughts = student.answer()
        for _ in range(EPOCHS):
            logp = student.logp(rollouts.group, rollouts.tokens, thoughts)
            loss, _ = objective(rollouts, PolicyOut(logp, rollouts.entropy))
            student.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            student.optimizer.step()
    return np.array(found)


def best_weight(rate: float, seeds: int) -> float:
    """The weight that, switched on late, saves most tokens and costs a point of success at most; else the smallest."""
    ends = {
        arm: np.mean([course(arm, rate, seed)[-1] for seed in range(TUNING, TUNING + seeds)], 0)
        for arm in ARMS
        if not arm.startswith("early")
    }
    good = [weight for weight in WEIGHTS if ends[f"late, {weight}"][0] >= ends["without"][0] - 0.01]
    return min(good, key=lambda weight: float(ends[f"late, {weight}"][1]), default=WEIGHTS[0])


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (12 by default): half a minute."""
    count = SEEDS if seeds is None else seeds
    tuning = min(count, TUNING_SEEDS)
    rate = best_rates(
        lambda arm, rate, seed: float(course(arm, rate, seed)[:, 0].mean()), ["without"], seeds=tuning, grid=RATES
    )["without"]
    weight = best_weight(rate, tuning)
    found = {arm: np.array([course(arm, rate, seed) for seed in range(count)]) for arm in ARMS}
    success, tokens = ({arm: of[..., i] for arm, of in found.items()} for i in range(2))
    half = success["without"].shape[1] // 2 + 1
    first = {arm: of[:, :half].mean(1) for arm, of in success.items()}
    saved = {arm: 1 - of[:, -1] / tokens["without"][:, -1] for arm, of in tokens.items()}
    fewest = np.array([draw_world(seed).needed[TRAINED:].double().mean() + 2 for seed in range(count)])
    late, early = f"late, {weight}", f"early, {weight}"
    parts = {
        "share of tokens saved": saved[late],
        "success at the end minus without, plus 0.01": success[late][:, -1] - success["without"][:, -1] + 0.01,
        "success in the first half, without minus early": first["without"] - first[early],
    }
    details: dict[str, Any] = {
        "seeds": count,
        "iterations": ITERATIONS,
        "learning rate": {"grid": list(RATES), "chosen": rate},
        "weight that decides": weight,
        "parts": summary(parts),
        "success before": float(success[late][:, 0].mean()),
        "tokens before": float(tokens[late][:, 0].mean()),
        "success in the first half": summary(first),
        "success at the end": summary({arm: of[:, -1] for arm, of in success.items()}),
        "tokens at the end": summary({arm: of[:, -1] for arm, of in tokens.items()}),
        "share of tokens saved": summary(saved),
        "share that could be saved at no loss": float((1 - fewest / tokens["without"][:, -1]).mean()),
    }
    return Measurement(weakest(parts), details)
