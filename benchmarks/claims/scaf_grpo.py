"""Does one completion with the smallest hint that makes it succeed, in a group that failed, teach more than GRPO?

A problem has one correct path of 256, on which nine of ten groups of eight fail altogether before training; hints are
its first one, two or three choices. GRPO has groups of eight too, or of ten, which take more completions in all than
the hinted ones. Beside them stand hints from the first step on, and GHPO, which samples whole groups again: of three,
so that it takes fewer completions.
"""

from typing import Any

import numpy as np

from ..testbeds.answer_tree import AnswerTree, TreeMethod
from ..testbeds.course import Course
from ..testbeds.tree_hints import hinted, hopeless
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import end, leads, tree_report

ITERATIONS, GROUP, LARGE, SMALL = 120, 8, 10, 3
AS_MANY, AT_ONCE, WHOLE = f"grpo, groups of {LARGE}", "hints from the first step", f"ghpo, groups of {SMALL}"
HOPELESS = f"groups of {GROUP} that fail altogether before"
GRPO = {"kl_coef": 0.0}


def scaffolded(**settings: Any) -> TreeMethod:
    """Scaf-GRPO; a hint of the whole path would leave nothing to write."""
    guidance = {"name": "scaf-grpo", "shares": (0.25, 0.5, 0.75), **settings}
    return TreeMethod("scaf-grpo", GRPO, iteration=hinted(guidance, ITERATIONS))


def parts(found: Found[TreeMethod, Course]) -> dict[str, Part]:
    """More success at the end than GRPO at equal steps, and than with more completions; beside the other hints."""
    return {
        **leads(found, end, ("grpo", AS_MANY)),
        **leads(found, end, (AT_ONCE, WHOLE), decides=False),
    }


def details(found: Found[TreeMethod, Course]) -> dict[str, Any]:
    """Success, completions that were sampled, and groups that taught nothing."""
    sampled = found.each(lambda course: course.completions[-1])
    return {
        **tree_report(found),
        "completions sampled": {name: float(np.mean(of)) for name, of in sampled.items()},
        HOPELESS: float(found["grpo"].each(hopeless(GROUP)).mean()),
    }


CLAIM = Comparison(
    handle="scaf-grpo",
    sentence="Minimal hints, given only where a group failed after a period without any, raise pass@1 without hints "
    "over GRPO (Zhang et al. 2025, abstract)",
    effect="held-out success of Scaf-GRPO minus GRPO's at equal steps, and minus that of GRPO with more completions",
    testbed=AnswerTree(noise=1.5, iterations=ITERATIONS, group=GROUP),
    conditions={
        "scaf-grpo": scaffolded(),
        AT_ONCE: scaffolded(exemption=0.0),
        WHOLE: TreeMethod("grpo", GRPO, settings={"group": SMALL}, iteration=hinted("ghpo", ITERATIONS)),
        "grpo": TreeMethod("grpo", GRPO),
        AS_MANY: TreeMethod("grpo", GRPO, settings={"group": LARGE}),
    },
    ours="scaf-grpo",
    baselines=("grpo", AS_MANY),
    seeds=40,
    tuning=Tuning(end, seeds=3),
    premise=Premise("Most groups fail altogether before training", (HOPELESS,), lambda share: share > 0.5),
    parts=parts,
    details=details,
    remark="Hints are of the paper's last tier alone, parts of the solution, and begin the completion.",
)
measure = CLAIM.measure
