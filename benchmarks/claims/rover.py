"""Does valuing the random policy keep more correct completions alive than improving one's own?

Every problem has four correct completions among 256. The base policy finds one in some ten samples; what training then
does to the others is what the claim is about. Four gradient steps an iteration on all completions, since in the first
step, where nothing has moved, the random policy's values are all 0 and ROVER is REINFORCE with the group's mean as
baseline. No condition has a KL penalty, as ROVER has none.

The claim has four parts: ROVER's leads over GRPO and DAPO in success at the end, and in the share of correct
completions that 64 samples find.
"""

from typing import Any

from ..testbeds.answer_tree import AnswerTree
from ..testbeds.course import Course
from ..testbeds.testbed import Method, method
from ..testbeds.tree_diagnostics import CorrectFound
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import held_out_success, leads, summary, tree_report

SAMPLES = 64


def correct_found(course: Course) -> float:
    """The share of correct completions among :data:`SAMPLES`."""
    return course.at_end["found"]


def parts(found: Found[Method, Course]) -> dict[str, Part]:
    """Leads in success, and in correct completions found."""
    kinds = {"success": lambda course: course.end, "share of correct completions found": correct_found}
    return {f"{kind}, {name}": one for kind, value in kinds.items() for name, one in leads(found, value).items()}


def details(found: Found[Method, Course]) -> dict[str, Any]:
    """Both parts, and pass@64."""
    return {
        f"share of right answers found by {SAMPLES}": summary(found.each(correct_found)),
        f"pass@{SAMPLES}": summary(found.each(lambda course: course.pass_at(SAMPLES))),
        **tree_report(found),
    }


CLAIM = Comparison(
    handle="rover",
    sentence="Acting on the values of the uniformly random policy succeeds more often and more diversely than GRPO and "
    "its kin (He et al. 2025, abstract)",
    effect="ROVER's leads over GRPO and DAPO in success at the end, and in the correct completions found by 64",
    testbed=AnswerTree(correct=4, epochs=4, at_end=CorrectFound(SAMPLES)),
    conditions={"rover": method("rover"), "grpo": method("grpo", kl_coef=0.0), "dapo": method("dapo")},
    ours="rover",
    baselines=("grpo", "dapo"),
    seeds=12,
    tuning=held_out_success(grid=(0.01, 0.03, 0.1), seeds=2),
    premise=Premise("The base policy finds a correct completion in some ten samples", ("held-out success before",)),
    parts=parts,
    details=details,
    remark="The baseline that did better in each part was chosen on the seeds reported in the first measurement; all "
    "of them are parts since.",
)
measure = CLAIM.measure
