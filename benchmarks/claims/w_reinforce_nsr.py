"""What do wrong answers alone, and right answers alone, do to pass@k?

In the laboratory (:mod:`.laboratory`) four of the 256 answers to a problem are right, and pass@k is exact, on problems
held out from training, for k up to 256. NSR learns from wrong answers alone, PSR from right ones alone, W-REINFORCE
from both at a tenth for right ones; GRPO (no KL penalty) is there to compare. An iteration is 8 problems with 8 answers
each and two gradient steps; every arm has the learning rate of :data:`.comparisons.GRID` that did best in pass@1 on
tuning worlds, as one would choose it.

Whether right answers teach or only sharpen depends on how much one problem says about another, so there are two kinds
of worlds. With 64 problems to learn from and 24 features little is said, as where a pretrained model knows what it
knows: the effect is measured there. With 256 and 6 features training finds the teacher out, and held out problems are
learnt too; ``details`` has that.

The claim has parts, and the effect is the least supported: NSR above the base policy at every k of :data:`KS`, PSR
above it at k = 1, and PSR below it at the largest k. That negative gradients spread mass in proportion is arithmetic
that the objective's own test holds.
"""

from functools import partial
from typing import Any

import numpy as np

from ...agents.objectives.registry import load
from ..statistics import Floats
from .harness import Claim, Measurement
from .laboratory import GRID, Arm, Course, Student, Tree, compare, draw_world, learn, report, summary, weakest

CLAIM = Claim(
    handle="w-reinforce-nsr",
    sentence="Training on wrong answers alone raises pass@k over the base model for all k up to 256, training on right "
    "ones alone raises pass@1 and lowers pass@k at large k (Zhu et al. 2025, abstract and section 3)",
    effect="the least of: pass@k of NSR minus the base's, over k; pass@1 of PSR minus the base's; pass@256 of the base "
    "minus PSR's",
)

SEEDS = 16
TREE = Tree(4, 4)
RIGHT = 4
ITERATIONS = 60
SETTINGS: dict[str, Any] = {"prompts": 8, "group": 8, "batch_size": 32}
KINDS: dict[str, dict[str, Any]] = {"little": {"trained": 64, "width": 24}, "much": {"trained": 256, "width": 6}}
KS = tuple(2**i for i in range(9))
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "nsr": ("w-reinforce-nsr", {"positive_weight": 0.0}),
    "psr": ("w-reinforce-nsr", {"positive_weight": 1.0, "negative_weight": 0.0}),
    "w-reinforce": ("w-reinforce-nsr", {}),
    "grpo": ("grpo", {"kl_coef": 0.0}),
}


def run(arm: str, rate: float, seed: int, *, kind: str = "little") -> Course:
    """Trains an arm in the world of ``seed`` of a kind."""
    handle, params = ARMS[arm]
    world = draw_world(seed, TREE, right=RIGHT, **KINDS[kind])
    return learn(Student(world, load(handle, **params), seed=seed, learning_rate=rate, **SETTINGS), ITERATIONS)


def gains(arm: Arm) -> dict[int, Floats]:
    """Held-out pass@k after training minus before, ``[seeds]`` for each k."""
    return {k: np.array([course.pass_at(k) - course.pass_at(k, 0) for course in arm.courses]) for k in KS}


def parts(nsr: dict[int, Floats], psr: dict[int, Floats]) -> dict[str, Floats]:
    """What must be above 0 for the claim to hold, from :func:`gains`."""
    above = {f"NSR minus base at k = {k}": gain for k, gain in nsr.items()}
    return above | {"PSR minus base at k = 1": psr[1], f"base minus PSR at k = {KS[-1]}": -psr[KS[-1]]}


def _details(arms: dict[str, Arm]) -> dict[str, Any]:
    gained = {name: gains(arm) for name, arm in arms.items()}
    return {
        "parts": summary(parts(gained["nsr"], gained["psr"])),
        "pass@k before": {f"k = {k}": float(np.mean([c.pass_at(k, 0) for c in arms["nsr"].courses])) for k in KS},
        "pass@k gained": {name: summary({f"k = {k}": gain for k, gain in of.items()}) for name, of in gained.items()},
        "pass@k of NSR minus PSR": summary({f"k = {k}": gained["nsr"][k] - gained["psr"][k] for k in KS}),
        "entropy of an answer before, nats": float(
            np.mean([course.entropy[0, course.trained :].mean() for course in arms["nsr"].courses])
        ),
        **report(arms),
    }


def measure(*, seeds: int | None = None) -> Measurement:
    """Trains every arm in ``seeds`` worlds of each kind (16 by default): a minute of processor time."""
    count = SEEDS if seeds is None else seeds
    found = {kind: compare(partial(run, kind=kind), ARMS, seeds=count, tuning=3) for kind in KINDS}
    little = found["little"]
    details = {f"where problems say {kind} about each other": _details(arms) for kind, arms in found.items()}
    effect = weakest(parts(gains(little["nsr"]), gains(little["psr"])))
    return Measurement(effect, {"learning rates tried": GRID, **details})
