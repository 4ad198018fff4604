"""Which problems does training by rewards lift, and when does distillation raise capability?

Held-out problems in quarters by the base policy's exact success. The claim's parts: GRPO lifts the easier half and
lowers the hardest quarter; distillation raises pass@64 where its completions hold something new, and does not where
they are the base's own.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.course import Course
from ..testbeds.testbed import Method
from ..testbeds.tree_support import CONDITIONS, boundary_tree
from .claim import Comparison, Found, Premise
from .effects import held_out_success, part, report, summary

MARGIN, TINY = 0.01, 0.002
QUARTERS = {"hardest": (0.0, 0.25), "hard": (0.25, 0.5), "easier": (0.5, 0.75), "easiest": (0.75, 1.0)}
EASIER_HALF = (0.5, 1.0)
AT = 64


def capability(found: Found[Method, Course], name: str) -> Floats:
    """pass@64 after training minus before, ``[seeds]``."""
    return found[name].each(lambda course: course.pass_at(AT) - course.pass_at(AT, 0))


def of_quarter(course: Course, low: float, high: float) -> tuple[float, float]:
    """Success before and after training on held-out problems of these shares of the base's ranking."""
    before, after = course.success[[0, -1], course.trained :]
    order, count = np.argsort(before, kind="stable"), len(before)
    rows = order[round(low * count) : round(high * count)]
    return float(before[rows].mean()), float(after[rows].mean())


def lifted(found: Found[Method, Course], name: str, low: float, high: float) -> Floats:
    """Success after training minus before on such problems, ``[seeds]``."""
    return found[name].each(lambda course: float(np.diff(of_quarter(course, low, high))[0]))


def parts(found: Found[Method, Course]) -> dict[str, Any]:
    """The four parts of the claim."""
    hardest = QUARTERS["hardest"]
    before = float(found["grpo"].each(lambda course: of_quarter(course, *hardest)[0]).mean())
    itself = -capability(found, "distilled from itself")
    return {
        "success gained by GRPO on the easier half": part(lifted(found, "grpo", *EASIER_HALF), margin=MARGIN),
        "success lost by GRPO on the hardest": part(-lifted(found, "grpo", *hardest), margin=TINY, highest=before),
        "pass@64 gained from a teacher": part(capability(found, "distilled from a teacher"), margin=MARGIN),
        "pass@64 not gained from its own completions": part(itself, margin=MARGIN, wanted="no less"),
    }


def details(found: Found[Method, Course]) -> dict[str, Any]:
    """Success before and gains, by quarter."""
    runs = found["grpo"].runs
    before = {name: np.array([of_quarter(run, *ends)[0] for run in runs]) for name, ends in QUARTERS.items()}
    return {
        "success before, hardest quarter": float(before["hardest"].mean()),
        "success before by quarter": summary(before),
        "success gained by quarter": {
            name: summary({quarter: lifted(found, name, *ends) for quarter, ends in QUARTERS.items()})
            for name in found.outcomes
        },
        **report(found),
    }


CLAIM = Comparison(
    handle="rl-vs-distillation",
    sentence="RLVR improves accuracy on easier questions at the cost of the hardest, and distillation improves "
    "capability only where it brings new knowledge (Kim et al. 2025, abstract)",
    effect="gains in success by the base's success, and in pass@64, on held-out problems",
    testbed=boundary_tree(),
    conditions=CONDITIONS,
    ours="grpo",
    baselines=("distilled from a teacher", "distilled from itself"),
    seeds=20,
    tuning=held_out_success(),
    premise=Premise(
        "There is something to lose: the base solves the hardest quarter with a probability of at least 0.003",
        ("success before, hardest quarter",),
        lambda before: before >= 0.003,
    ),
    parts=parts,
    details=details,
    remark="Tabular softmax policies, whose problems share features; little can be lost on the hardest problems.",
)
measure = CLAIM.measure
