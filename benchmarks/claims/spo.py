"""Does one answer a problem, against a remembered success rate, teach more than groups that often agree?

In the laboratory (:mod:`.laboratory`) feature vectors are up to six long, so that most problems are nearly solved or
nearly hopeless, where a group of eight mostly agrees and GRPO learns nothing. All arms get 64 answers an iteration, and
make two passes of one gradient step on them: GRPO (no KL penalty) 8 problems with 8 answers each, SPO 64 problems with
one. SPO draws problems by sqrt(v (1 - v)) + 0.05, as the paper does, v being the tracker's estimate of success; an arm
that draws them alike is there too. The tracker is the trainer's own
(:class:`~tiltyard.agents.language.tracker.Tracker`): unlike the paper's it begins with no measured success.

Every arm has the learning rate of :data:`.comparisons.GRID` that did best on tuning worlds. The effect is SPO's lead in
held-out success, mean over training, over GRPO. ``details`` has the shares of answers with an advantage above 0.05 on
nearly solved and nearly hopeless problems, and how the tracker's estimates go with the exact success. That SPO waits
for no group to finish follows from having none and is not simulated.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...agents.language.rollouts import Rollouts
from ...agents.objectives.registry import load
from ..statistics import Floats
from .harness import Claim, Measurement
from .laboratory import (
    GRID,
    Course,
    Student,
    Tree,
    World,
    compare,
    draw_world,
    interval,
    leads,
    learn,
    report,
    summary,
)

CLAIM = Claim(
    handle="spo",
    sentence="One answer a problem against a persistent estimate of its success learns better than GRPO's groups, as "
    "no answers are wasted on groups that agree (Xu and Ding 2025, abstract)",
    effect="held-out success, mean over training, of SPO minus GRPO's, with equally many answers",
    withdrawn="the lead is that of 64 different problems a batch over 8, not of the estimates: with problems drawn "
    "alike, SPO leads GRPO by 0.066 [0.048, 0.084], and with a constant in place of its estimates by 0.063 [0.048, "
    "0.077]; what they add is 0.004 [-0.007, 0.014] (20 seeds, t intervals)",
)

SEEDS = 20
TREE = Tree(4, 4)
SURENESS, SKILL = (1.0, 6.0), 1.5
ITERATIONS = 60
ANSWERS, GROUP = 64, 8
ARMS: dict[str, tuple[str, dict[str, Any], int]] = {  # handle, its parameters, answers a problem
    "spo": ("spo", {}, 1),
    "spo, problems alike": ("spo", {}, 1),
    "grpo": ("grpo", {"kl_coef": 0.0}, GROUP),
}
WATCHED = 5
LARGE, SURE = 0.05, 0.95


def student_of(arm: str, rate: float, seed: int) -> Student:
    """An arm before training."""
    handle, params, group = ARMS[arm]
    world: World = draw_world(seed, TREE, skill=SKILL, sureness=SURENESS)
    settings: dict[str, Any] = {"prompts": ANSWERS // group, "group": group, "epochs": 2}
    return Student(world, load(handle, **params), seed=seed, learning_rate=rate, **settings)


def estimates(student: Student) -> Floats:
    """The tracker's estimate of the success at every problem to learn from."""
    known = student.tracker.records
    records = [known.get(problem) for problem in range(student.world.trained)]
    return np.array([student.tracker.typical if one is None else one.alpha / (one.alpha + one.beta) for one in records])


def uncertain(student: Student) -> Tensor:
    """Problems drawn without replacement, by sqrt(v (1 - v)) + 0.05."""
    v = estimates(student)
    weight = np.sqrt(v * (1 - v)) + 0.05
    drawn = student.rng.choice(len(v), student.prompts, replace=False, p=weight / weight.sum())
    return torch.from_numpy(drawn)


def iteration(arm: str, student: Student) -> Callable[[], Rollouts]:
    """What an arm repeats."""
    return (lambda: student.iterate(uncertain(student))) if arm == "spo" else student.iterate


def run(arm: str, rate: float, seed: int) -> Course:
    """Trains an arm in the world of ``seed``."""
    student = student_of(arm, rate, seed)
    return learn(student, ITERATIONS, iterate=iteration(arm, student))


def watch(arm: str, rate: float, seed: int) -> dict[str, float]:
    """The same training once more, looking at each iteration's advantages and, at the end, at the tracker.

    Returns:
        Shares of answers whose advantage exceeds :data:`LARGE`, by the exact success at their problem, and the
        correlation of the tracker's estimates with that success.
    """
    student = student_of(arm, rate, seed)
    iterate, seen = iteration(arm, student), []
    for _ in range(ITERATIONS):
        chance = (student.distribution() * student.world.reward).sum(1)
        rollouts = iterate()
        large = student.objective.advantage(rollouts).abs() > LARGE
        seen.append(torch.stack([chance[rollouts.seed], large.double()]))
    chance, large = torch.cat(seen, 1).numpy()
    kinds = {"nearly solved": chance > SURE, "nearly hopeless": chance < 1 - SURE, "all": chance >= 0}
    found = {kind: float(large[rows].mean()) for kind, rows in kinds.items()}
    exact = (student.distribution() * student.world.reward).sum(1)[: student.world.trained].numpy()
    if arm.startswith("spo"):
        found["correlation of the tracker with the exact success"] = float(np.corrcoef(estimates(student), exact)[0, 1])
    return found


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (20 by default): a minute of processor time."""
    count = SEEDS if seeds is None else seeds
    arms = compare(run, ARMS, seeds=count, tuning=3)
    watched = {
        name: [watch(name, arms[name].rate, seed) for seed in range(min(count, WATCHED))] for name in ("spo", "grpo")
    }
    details = {
        "lead of SPO": summary(leads(arms, "spo", ("grpo", "spo, problems alike"))),
        **report(arms),
        "learning rates tried": GRID,
        f"share of answers with an advantage beyond {LARGE}": {
            name: {kind: float(np.mean([one[kind] for one in found])) for kind in found[0]}
            for name, found in watched.items()
        },
    }
    return Measurement(interval(leads(arms, "spo", ("grpo",))["over grpo"]), details)
