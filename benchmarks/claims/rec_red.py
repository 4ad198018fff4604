"""Is it the clip that keeps group-relative REINFORCE safe on old answers, and are importance weights not needed?

In the laboratory (:mod:`.laboratory`) the answers that a policy learns from are written by a copy of it that is renewed
every 20 gradient steps, or never. A gradient step takes 8 fresh answers to each of 8 problems, so that nothing but the
writer's age differs. The arms are the catalogue's ``rec-red`` with other parameters:

* ``clip``: as in its row (REC-OneSide-NoIS), bounds 0.2 and no importance weights;
* ``neither``: REINFORCE with the group's mean as baseline;
* ``clip and weights``: GRPO's loss, but for the division by the standard deviation;
* ``wide clip``: bounds 0.6 and 2, with which the authors learn faster.

Every arm has the learning rate that did best at its staleness on tuning worlds: a method is not safe if a smaller step
would have done. The claim has two parts, both with a writer renewed every 20 steps, and the effect is the smaller: the
lead of ``clip`` over ``neither``; and its lead over ``clip and weights`` plus 2 points, which it may fall behind.
``details`` has the writer that is never renewed, both arms at one large learning rate, and how many worlds lost
success.
"""

from typing import Any

import numpy as np
import torch

from ...agents.objectives.registry import load
from .comparisons import Course, compare, report, summary, weakest
from .harness import Claim, Measurement
from .laboratory import Student, Tree, draw_world, learn

CLAIM = Claim(
    handle="rec-red",
    sentence="Off-policy, clipping is what keeps group-relative REINFORCE stable, and importance weights are not "
    "needed (Yao et al. 2025, section 4)",
    effect="the smaller of: held-out success with a clip minus without, and minus with importance weights plus 0.02",
)

SEEDS, TUNING_SEEDS, SEEDS_AT_ONE_RATE = 12, 2, 6
TREE = Tree(4, 4)
STEPS = 80
RATES = (0.03, 0.1, 0.3)
AGES = {"every 20 steps": 20, "never": STEPS}
MAIN = "every 20 steps"
METHODS: dict[str, dict[str, Any]] = {
    "clip": {},
    "neither": {"clip": "none"},
    "clip and weights": {"weight": "ratio"},
    "wide clip": {"clip_low": 0.6, "clip_high": 2.0},
}
ARMS = {f"{method}, {MAIN}": (method, MAIN) for method in METHODS}
ARMS |= {f"{method}, never": (method, "never") for method in ("clip", "neither")}


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
    """What becomes of the main arms when both have one learning rate."""
    pair = ("clip", "neither")
    courses = {method: [run(f"{method}, {MAIN}", rate, seed) for seed in range(count)] for method in pair}
    return {
        "success at the end": summary({m: [course.held_out[-1] for course in of] for m, of in courses.items()}),
        "worlds that lost success": {m: _lost(of) for m, of in courses.items()},
    }


def _lost(courses: list[Course]) -> int:
    return int(np.sum([course.held_out[-1] < course.held_out[0] for course in courses]))


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (12 by default): half a minute."""
    count = SEEDS if seeds is None else seeds
    arms = compare(run, ARMS, seeds=count, grid=RATES, tuning=TUNING_SEEDS)
    ours, plain, weighted = (arms[f"{method}, {MAIN}"].scores for method in ("clip", "neither", "clip and weights"))
    parts = {"clip minus neither": ours - plain, "clip minus clip and weights, plus 0.02": ours - weighted + 0.02}
    details = {
        "parts": summary(parts),
        f"clip minus each, {MAIN}": summary({m: ours - arms[f"{m}, {MAIN}"].scores for m in METHODS if m != "clip"}),
        "clip minus neither, never": summary({"": arms["clip, never"].scores - arms["neither, never"].scores})[""],
        "worlds that lost success": {arm: _lost(of.courses) for arm, of in arms.items()},
        f"at the largest learning rate, {RATES[-1]}": _at_one_rate(min(count, SEEDS_AT_ONE_RATE), RATES[-1]),
        **report(arms),
        "learning rates tried": RATES,
    }
    return Measurement(weakest(parts), details)
