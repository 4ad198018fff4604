"""Can right and wrong answers of another policy be learnt from without end, if the weights of wrong ones are tapered?

In the laboratory (:mod:`.laboratory`) the base policy answers 256 problems 16 times each, once; every arm then learns
from these 4,096 answers alone, 64 a gradient step, for three passes, and nothing corrects for the policy moving
away but the arm's own loss. All take +1 for right and -1 for wrong answers, as the paper does, by the registry's own
functions:

* TOPR;
* naive REINFORCE: no weights at all;
* importance sampling: every token weighed by its ratio, without any bound;
* PPO's clip at 0.2;
* right answers alone, which is supervised learning on them.

Every arm has the learning rate of :data:`GRID` that did best at the end of training on tuning worlds; the grid reaches
lower than that of other claims, as naive REINFORCE needs it. The effect is TOPR's lead in held-out success at the end,
over the best of the others. ``details`` also says how unlikely wrong answers become, how large weights grow, what the
fastest learning rate does to each arm, and what a baseline does to TOPR: c in the rewards 1 - c and -1 - c, which
changes the share of what is learnt that comes from right answers.
"""

from dataclasses import replace

import numpy as np
import torch

from ...agents.language.rollouts import Rollouts
from ...agents.objectives.parts.ops import log_ratios
from ...agents.objectives.registry import Objective, load
from .harness import Claim, Measurement
from .laboratory import Course, Student, Tree, World, compare, draw_world, learn, report, summary, weakest

CLAIM = Claim(
    handle="topr",
    sentence="Tapering the importance weights of wrong answers alone makes fully offline training on right and wrong "
    "answers stable and better than leaving out either the taper or the wrong answers (Le Roux et al. 2025, abstract)",
    effect="held-out success at the end of offline training of TOPR minus that of the best of naive REINFORCE, "
    "importance sampling, PPO's clip and right answers alone",
)

SEEDS = 16
TREE = Tree(4, 4)
SKILL = 2.0
COPIES, BATCH, STEPS = 16, 64, 200
GRID = (0.003, 0.01, 0.03, 0.1)
BASELINES = (-0.75, -0.5, 0.0, 0.5, 0.75)
WATCHED, SWEPT = 2, 6
ARMS = ("topr", "naive", "importance sampling", "clip", "right alone")


def objective(arm: str) -> Objective:
    """The registry's TOPR with another loss, other weights or another baseline."""
    name, _, baseline = arm.partition(", c = ")
    topr = load("topr", baseline=float(baseline or 0), negative_weight=0.0 if name == "right alone" else 1.0)
    losses = {
        "naive": load("reinforce").loss,
        "importance sampling": load("rec-red", clip="none", weight="ratio").loss,
        "clip": load("grpo", kl_coef=0.0).loss,
    }
    return replace(topr, loss=losses.get(name, topr.loss))


def problems(seed: int) -> World:
    """Problems of which the base solves about one in five."""
    return draw_world(seed, TREE, skill=SKILL)


class Offline:
    """A student and the answers that the base policy has left."""

    def __init__(self, arm: str, rate: float, seed: int) -> None:
        self.student = Student(problems(seed), objective(arm), seed=seed, learning_rate=rate)
        asked = torch.arange(self.student.world.trained).repeat_interleave(COPIES)
        self.data: Rollouts = self.student.sample(asked)

    def step(self) -> None:
        """One gradient step on answers drawn at random."""
        rows = torch.from_numpy(self.student.rng.choice(len(self.data), BATCH, replace=False))
        self.student.improve(self.data.take(rows))
        self.student.answered += BATCH

    def moved(self) -> tuple[float, float]:
        """Mean log(pi / mu) of wrong answers, and the greatest token weight pi / mu in the data."""
        with torch.no_grad():
            ratios = log_ratios(self.data, self.student.evaluate(self.data.tokens, self.data.mask))
        return float(ratios.sum(1)[self.data.reward == 0].mean()), float(ratios.exp().max())


def run(arm: str, rate: float, seed: int) -> Course:
    """Trains an arm on the answers of the base policy in the world of ``seed``."""
    offline = Offline(arm, rate, seed)
    return learn(offline.student, STEPS, every=STEPS // 10, iterate=offline.step)


def at_the_end(course: Course) -> float:
    """Held-out success after the last step."""
    return float(course.held_out[-1])


def effective_share(positive: float, baseline: float) -> float:
    """The share of right answers that would teach the same without a baseline, p (1 - c) / (1 + (1 - 2p) c)."""
    return positive * (1 - baseline) / (1 + (1 - 2 * positive) * baseline)


def strain(arm: str, rate: float, seeds: int) -> dict[str, float]:
    """What training at a rate ends in: success, how wrong answers' log-probability moved, the largest token weight."""
    found = []
    for seed in range(seeds):
        offline = Offline(arm, rate, seed)
        course = learn(offline.student, STEPS, every=STEPS, iterate=offline.step)
        found.append((course.held_out[-1], *offline.moved()))
    names = ("held-out success", "mean log(pi / mu) of wrong answers", "largest pi / mu of a token")
    return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True))


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (16 by default): a minute of processor time."""
    count = SEEDS if seeds is None else seeds
    arms = compare(run, ARMS, seeds=count, score=at_the_end, grid=GRID, tuning=3)
    ends = {name: arm.each(at_the_end) for name, arm in arms.items()}
    lead = {f"over {name}": ends["topr"] - ends[name] for name in ARMS[1:]}
    few, rate = min(count, WATCHED), arms["topr"].rate
    positive = float(np.mean([Offline("topr", rate, seed).data.reward.mean() for seed in range(few)]))
    sweep = {
        c: [at_the_end(run(f"topr, c = {c:g}", rate, seed)) for seed in range(min(count, SWEPT))] for c in BASELINES
    }
    details = {
        "lead of TOPR": summary(lead),
        "learning rates tried": GRID,
        **report(arms),
        "strain, at the chosen rate": {name: strain(name, arm.rate, few) for name, arm in arms.items()},
        f"strain, at {GRID[-1]:g}": {name: strain(name, GRID[-1], few) for name in ARMS},
        "share of right answers in the data": positive,
        "success of TOPR by baseline, at its chosen rate": summary({f"c = {c:g}": found for c, found in sweep.items()}),
        "effective share of right answers by baseline": {f"c = {c:g}": effective_share(positive, c) for c in BASELINES},
    }
    return Measurement(weakest(lead), details)
