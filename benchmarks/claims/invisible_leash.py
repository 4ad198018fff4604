"""Does training by rewards lose more correct completions than it finds?

A correct completion of a held-out problem is supported if its exact probability is at least 1/256. Those that training
takes out of the support are counted against those that it brings in. Beside the claim: distillation from a teacher who
knows other correct completions, for which the count should come out the other way.
"""

from typing import Any

from ..statistics import Floats
from ..testbeds.course import Course
from ..testbeds.testbed import Method
from ..testbeds.tree_support import CONDITIONS, boundary_tree
from .claim import Comparison, Found, Premise
from .effects import held_out_success, part, report, summary

MARGIN = 0.02
KINDS = ("preserved", "lost", "new", "outside")


def lost_more(found: Found[Method, Course], name: str) -> Floats:
    """Correct completions lost minus those that are new, a problem; ``[seeds]``."""
    return found[name].each(lambda course: course.at_end["lost"] - course.at_end["new"])


def supported_before(course: Course) -> float:
    """Correct completions that the base supports, a problem."""
    return course.at_end["preserved"] + course.at_end["lost"]


def parts(found: Found[Method, Course]) -> dict[str, Any]:
    """GRPO's count decides; the control is told beside it."""
    highest = float(found["grpo"].each(supported_before).mean())
    teacher = -lost_more(found, "distilled from a teacher")
    return {
        "lost minus new under GRPO": part(lost_more(found, "grpo"), margin=MARGIN, highest=highest),
        "new minus lost under a teacher": part(teacher, margin=MARGIN, decides=False),
    }


def details(found: Found[Method, Course]) -> dict[str, Any]:
    """Counts a problem, and entropies."""
    gained = found["grpo"].each(lambda course: course.end - course.held_out[0])
    return {
        "success gained by GRPO": float(gained.mean()),
        "correct completions a problem": {
            name: summary({kind: [run.at_end[kind] for run in outcome.runs] for kind in KINDS})
            for name, outcome in found.outcomes.items()
        },
        **report(found),
    }


CLAIM = Comparison(
    handle="invisible-leash",
    sentence="Under larger sampling budgets the shrinkage of empirical support generally outweighs its expansion in "
    "training with verifiable rewards (Wu et al. 2025, abstract)",
    effect="correct completions that leave the support minus those that enter it, a held-out problem with four of them",
    testbed=boundary_tree(),
    conditions=CONDITIONS,
    ours="grpo",
    baselines=("distilled from a teacher", "distilled from itself"),
    seeds=20,
    tuning=held_out_success(),
    premise=Premise(
        "GRPO learns: success on held-out problems rises by at least 0.02",
        ("success gained by GRPO",),
        lambda gained: gained >= 0.02,
    ),
    parts=parts,
    details=details,
    remark="Tabular softmax policies, whose problems share features; a support of 1/256 of 1,024 completions.",
)
measure = CLAIM.measure
