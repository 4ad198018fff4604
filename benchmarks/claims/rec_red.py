"""Is it the clip that keeps group-relative REINFORCE safe on old answers, and are importance weights not needed?

In the laboratory (:mod:`.laboratory`) the answers that a policy learns from are written by a copy of it that is renewed
every 5 or 20 gradient steps, or never. A gradient step takes 8 fresh answers to each of 8 problems, so that nothing but
the writer's age differs. The arms are the catalogue's ``rec-red`` with other parameters:

* ``clip``: as in its row (REC-OneSide-NoIS), bounds 0.2 and no importance weights;
* ``neither``: REINFORCE with the group's mean as baseline;
* ``clip and weights``: GRPO's loss, but for the division by the standard deviation;
* ``wide clip``: bounds 0.6 and 2, with which the authors learn faster.

Every arm has the learning rate that did best at its staleness on tuning worlds: a method is not safe if a smaller step
would have done. The claim has two parts, both with a writer renewed every 20 steps, and the effect is the smaller: the
lead of ``clip`` over ``neither``; and its lead over ``clip and weights`` plus 2 points, which it may fall behind.
``details`` has the other ages, what one learning rate does to all arms, and how many worlds lost success.
"""

from typing import Any

import numpy as np
import torch

from ...agents.objectives.registry import load
from .comparisons import GRID, Arm, Course, compare, report, summary, weakest
from .harness import Claim, Measurement
from .laboratory import Student, Tree, draw_world, learn

CLAIM = Claim(
    handle="rec-red",
    sentence="Off-policy, clipping is what keeps group-relative REINFORCE stable, and importance weights are not "
    "needed (Yao et al. 2025, section 4)",
    effect="the smaller of: held-out success with a clip minus without, and minus with importance weights plus 0.02",
)

SEEDS = 20
TREE = Tree(4, 4)
STEPS = 120
NEVER = STEPS
AGES = {"every 5 steps": 5, "every 20 steps": 20, "never": NEVER}
MAIN = "every 20 steps"
METHODS: dict[str, dict[str, Any]] = {
    "clip": {},
    "neither": {"clip": "none"},
    "clip and weights": {"weight": "ratio"},
    "wide clip": {"clip_low": 0.6, "clip_high": 2.0},
}
ARMS = {f"{method}, {age}": (method, age) for age in AGES for method in METHODS}


def run(arm: str, rate: float, seed: int) -> Course:
    """Trains an arm in the world of ``seed`` on what a writer of its age wrote."""
    method, age = ARMS[arm]
    world, objective = draw_world(seed, TREE), load("rec-red", **METHODS[method])
    learner, writer = (Student(world, objective, seed=seed, learning_rate=rate) for _ in range(2))
    taken = 0

    def step() -> None:
        nonlocal taken
        if taken % AGES[age] == 0:
            writer.weight.data.copy_(learner.weight)
        taken += 1
        problems = torch.from_numpy(writer.rng.choice(world.trained, writer.prompts, replace=False))
        rollouts = writer.sample(problems.repeat_interleave(writer.group))
        learner.improve(rollouts)
        learner.answered += len(rollouts)

    return learn(learner, STEPS, iterate=step)


def _at_one_rate(count: int, rate: float) -> dict[str, Any]:
    """What becomes of the arms of the main age when all have one learning rate."""
    courses = {method: [run(f"{method}, {MAIN}", rate, seed) for seed in range(count)] for method in METHODS}
    return {
        "success at the end": summary({m: [course.held_out[-1] for course in of] for m, of in courses.items()}),
        "worlds that lost success": {m: _lost(of) for m, of in courses.items()},
    }


def _lost(courses: list[Course]) -> int:
    return int(np.sum([course.held_out[-1] < course.held_out[0] for course in courses]))


def _leads(arms: dict[str, Arm]) -> dict[str, dict[str, dict[str, float]]]:
    """Of ``clip`` over each other method at each age, and of ``wide clip`` over it."""
    score = {arm: of.scores for arm, of in arms.items()}
    return {
        age: summary({f"over {m}": score[f"clip, {age}"] - score[f"{m}, {age}"] for m in METHODS if m != "clip"})
        for age in AGES
    }


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (20 by default): three minutes."""
    arms = compare(run, ARMS, seeds=SEEDS if seeds is None else seeds)
    ours, plain, weighted = (arms[f"{method}, {MAIN}"].scores for method in ("clip", "neither", "clip and weights"))
    parts = {"clip minus neither": ours - plain, "clip minus clip and weights, plus 0.02": ours - weighted + 0.02}
    details = {
        "parts": summary(parts),
        "lead of clip": _leads(arms),
        "worlds that lost success": {arm: _lost(of.courses) for arm, of in arms.items()},
        f"all at the largest learning rate, {GRID[-1]}, {MAIN}": _at_one_rate(len(ours), GRID[-1]),
        **report(arms),
    }
    return Measurement(weakest(parts), details)
