"""Does an imagined right answer in every group help where most groups have none?

In the laboratory (:mod:`.laboratory`) the base policy solves about one problem in twenty, so that three groups of eight
in four are all wrong, and teach GRPO nothing; NGRPO pushes their answers down. Trees of 256 answers, one of them right;
an iteration is 8 problems with 8 answers each and two passes of one gradient step, so that clips come into play. Every
arm has the learning rate of :data:`.comparisons.GRID` that did best on tuning worlds, and 3,840 answers. DAPO is its
objective without dynamic sampling; no arm has a KL penalty, as NGRPO has none.

The effect is NGRPO's lead in held-out success, mean over training, over the arm that comes nearest. ``details`` also
says after how many answers a fixed success is reached, what each arm gains on problems of which difficulty, and what
becomes of entropy without the asymmetric clip.
"""

from typing import Any

import numpy as np

from ...agents.objectives.parts.ops import group_std
from ...agents.objectives.registry import load
from .harness import Claim, Measurement
from .laboratory import (
    GRID,
    Arm,
    Course,
    Student,
    Tree,
    World,
    compare,
    draw_world,
    leads,
    learn,
    report,
    summary,
    weakest,
)

CLAIM = Claim(
    handle="ngrpo",
    sentence="NGRPO, which also learns from groups of wrong answers alone, learns better than GRPO, DAPO and PSR-NSR "
    "(Nan et al. 2025, abstract)",
    effect="held-out success, mean over training, of NGRPO minus that of the best of GRPO, DAPO and W-REINFORCE",
)

SEEDS = 20
TREE = Tree(4, 4)
SKILL = 0.75
ITERATIONS = 60
SETTINGS = {"prompts": 8, "group": 8, "epochs": 2}
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "ngrpo": ("ngrpo", {}),
    "grpo": ("grpo", {"kl_coef": 0.0}),
    "dapo": ("dapo", {}),
    "w-reinforce-nsr": ("w-reinforce-nsr", {}),
    "ngrpo, symmetric clip": ("ngrpo", {"clip_low": 0.2, "clip_high": 0.2}),
}
RIVALS = ("grpo", "dapo", "w-reinforce-nsr")
GOAL = 0.1
DIFFICULTIES = {"base below 1%": (0.0, 0.01), "1% to 10%": (0.01, 0.1), "above 10%": (0.1, 1.1)}


def problems(seed: int) -> World:
    """Mostly hard ones."""
    return draw_world(seed, TREE, skill=SKILL)


def run(arm: str, rate: float, seed: int) -> Course:
    """Trains an arm in the world of ``seed``."""
    handle, params = ARMS[arm]
    return learn(Student(problems(seed), load(handle, **params), seed=seed, learning_rate=rate, **SETTINGS), ITERATIONS)


def dead_groups(seed: int) -> float:
    """The share of the base policy's groups whose answers are all wrong."""
    student = Student(problems(seed), load("ngrpo"), seed=seed, learning_rate=0.0, prompts=256)
    rollouts = student.iterate()
    return float(((group_std(rollouts.reward, rollouts.group) == 0) & (rollouts.reward == 0)).double().mean())


def gain(course: Course, low: float, high: float) -> float:
    """What success rose by on the held-out problems whose base success is in ``[low, high)``."""
    before, after = course.success[[0, -1], course.trained :]
    return float((after - before)[(before >= low) & (before < high)].mean())


def _details(arms: dict[str, Arm]) -> dict[str, Any]:
    reached = {name: arm.each(lambda course: course.answers_until(GOAL)) for name, arm in arms.items()}
    seeds = len(arms["ngrpo"].courses)
    return {
        "groups all wrong before": float(np.mean([dead_groups(seed) for seed in range(seeds)])),
        f"worlds where {GOAL} is reached": {name: int(np.isfinite(answers).sum()) for name, answers in reached.items()},
        f"answers to reach {GOAL}, median of those that do": {
            name: float(np.median(answers[np.isfinite(answers)]))
            for name, answers in reached.items()
            if np.isfinite(answers).any()
        },
        "gain by difficulty": {
            label: {name: float(np.mean([gain(c, *bounds) for c in arm.courses])) for name, arm in arms.items()}
            for label, bounds in DIFFICULTIES.items()
        },
    }


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (20 by default): a minute of processor time."""
    arms = compare(run, ARMS, seeds=SEEDS if seeds is None else seeds, tuning=3)
    lead = leads(arms, "ngrpo", RIVALS)
    return Measurement(
        weakest(lead), {"lead of NGRPO": summary(lead), "learning rates tried": GRID, **report(arms), **_details(arms)}
    )
