"""Does valuing the random policy keep more right answers alive than improving one's own?

In the laboratory (:mod:`.laboratory`) every problem has four right answers among 256. The base policy finds one in some
ten samples; what training then does to the others is what the claim is about. An iteration is 8 problems with 8 answers
each and four gradient steps on all of them, since in the first step, where nothing has moved, the random policy's
values are all 0 and ROVER is REINFORCE with the group's mean as baseline. Every arm has the learning rate that did best
by held-out success over training on tuning worlds; no arm has a KL penalty, as ROVER has none.

Success and the number of different right answers among 64 are exact, on problems that were not trained on. The claim
has two parts and the effect is the smaller: ROVER's success at the end minus that of the best of GRPO and DAPO; and the
share of right answers that 64 samples find, minus that of the arm that finds most. ``details`` has pass@64 and entropy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...agents.objectives.registry import load
from .comparisons import Course, compare, report, summary, weakest
from .harness import Claim, Measurement
from .laboratory import Student, Tree, draw_world, learn

CLAIM = Claim(
    handle="rover",
    sentence="Acting on the values of the uniformly random policy succeeds more often and more diversely than GRPO and "
    "its kin (He et al. 2025, abstract)",
    effect="the smaller of ROVER's leads over the best of GRPO and DAPO in success and in right answers found by 64",
)

SEEDS = 12
TREE = Tree(4, 4)
RIGHT, SAMPLES = 4, 64
ITERATIONS = 60
RATES = (0.01, 0.03, 0.1)
SETTINGS: dict[str, Any] = {"prompts": 8, "group": 8, "epochs": 4}
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "rover": ("rover", {}),
    "grpo": ("grpo", {"kl_coef": 0.0}),
    "dapo": ("dapo", {}),
}
RIVALS = ("grpo", "dapo")


@dataclass(frozen=True)
class Spread(Course):
    """A course, and the share of right answers that :data:`SAMPLES` answers to a held-out problem find in the end."""

    found: float


def run(arm: str, rate: float, seed: int) -> Spread:
    """Trains an arm in the world of ``seed``."""
    handle, params = ARMS[arm]
    world = draw_world(seed, TREE, right=RIGHT)
    student = Student(world, load(handle, **params), seed=seed, learning_rate=rate, **SETTINGS)
    course = learn(student, ITERATIONS)
    chance = student.distribution()[world.trained :]
    found = ((1 - (1 - chance) ** SAMPLES) * (world.reward[world.trained :] > 0)).sum(1) / RIGHT
    return Spread(**vars(course), found=float(found.mean()))


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds (12 by default): half a minute."""
    arms = compare(run, ARMS, seeds=SEEDS if seeds is None else seeds, grid=RATES, tuning=2)
    success = {arm: of.each(lambda course: course.held_out[-1]) for arm, of in arms.items()}
    found = {arm: np.array([c.found for c in of.courses if isinstance(c, Spread)]) for arm, of in arms.items()}
    pass_at = {arm: of.each(lambda course: course.pass_at(SAMPLES)) for arm, of in arms.items()}
    best, broadest = (max(RIVALS, key=lambda arm: float(of[arm].mean())) for of in (success, found))
    parts = {
        f"success minus {best}'s": success["rover"] - success[best],
        f"share of right answers found minus {broadest}'s": found["rover"] - found[broadest],
    }
    details = {
        "parts": summary(parts),
        f"share of right answers found by {SAMPLES}": summary(found),
        f"pass@{SAMPLES}": summary(pass_at),
        **report(arms),
        "learning rates tried": RATES,
    }
    return Measurement(weakest(parts), details)
