"""Does training by rewards lead at small k and the base at large k, while a teacher widens what can be solved?

pass@k is exact on held-out problems of 1,024 completions, four of them correct. The reinforcement learner is GRPO
without a KL penalty; the control learns from all correct completions of the problems trained on, which the base policy
need not have known.
"""

from typing import Any

import numpy as np

from ..analysis.pass_at_k_boundary import crossover
from ..statistics import Floats
from ..testbeds.course import Course
from ..testbeds.testbed import Method
from ..testbeds.tree_support import CONDITIONS, KS, boundary_tree
from .claim import Comparison, Found, Premise
from .effects import held_out_success, part, report, summary

MARGIN = 0.01
LARGE = KS[-1]


def gain(found: Found[Method, Course], name: str, k: int) -> Floats:
    """pass@k after training minus before, ``[seeds]``."""
    return found[name].each(lambda course: course.pass_at(k) - course.pass_at(k, 0))


def parts(found: Found[Method, Course]) -> dict[str, Any]:
    """The lead at k = 1, the base's at the largest k ("match or beat"), and the teacher's."""
    base = found["grpo"].each(lambda course: course.pass_at(LARGE, 0))
    room = float((1 - base).mean())
    return {
        "GRPO minus base at k = 1": part(gain(found, "grpo", 1), margin=MARGIN),
        f"base minus GRPO at k = {LARGE}": part(
            -gain(found, "grpo", LARGE), margin=MARGIN, wanted="no less", highest=float(base.mean())
        ),
        f"distilled from a teacher minus base at k = {LARGE}": part(
            gain(found, "distilled from a teacher", LARGE), margin=MARGIN, highest=room
        ),
    }


def details(found: Found[Method, Course]) -> dict[str, Any]:
    """Curves, and the k of the crossing in each task."""
    before = [float(np.mean([run.pass_at(k, 0) for run in found["grpo"].runs])) for k in KS]
    crossings = [
        crossover([run.pass_at(k, 0) for k in KS], [run.pass_at(k) for k in KS], KS) for run in found["grpo"].runs
    ]
    return {
        "room above the base at the largest k": 1 - before[-1],
        "pass@k before": dict(zip(map(str, KS), before, strict=True)),
        "pass@k gained": {name: summary({str(k): gain(found, name, k) for k in KS}) for name in found.outcomes},
        "tasks in which the curves cross": int(np.sum([k is not None for k in crossings])),
        "k of the crossings": sorted(k for k in crossings if k is not None),
        **report(found),
    }


CLAIM = Comparison(
    handle="pass-at-k-boundary",
    sentence="RL-trained models outperform their base at small k, but the base matches or surpasses them at large k; "
    "distillation can expand the boundary (Yue et al. 2025, abstract)",
    effect=f"differences in exact pass@k on held-out problems: at k = 1 and k = {LARGE}",
    testbed=boundary_tree(),
    conditions=CONDITIONS,
    ours="grpo",
    baselines=("distilled from a teacher", "distilled from itself"),
    seeds=20,
    tuning=held_out_success(),
    premise=Premise(
        "pass@k of the base leaves room at the largest k: at least 0.05",
        ("room above the base at the largest k",),
        lambda room: room >= 0.05,
    ),
    parts=parts,
    details=details,
    remark="Tabular softmax policies, whose problems share features; learning rates are tuned for success at k = 1.",
)
measure = CLAIM.measure
