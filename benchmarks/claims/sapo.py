"""Does a soft gate stand stale completions better than clips do?

An iteration's 64 completions are used for four passes of two gradient steps, so that the last step is seven behind the
policy that wrote them. Same advantages (GRPO's), same tasks; only the loss differs. GSPO's published bounds are for the
mean over thousands of tokens and close at once on completions of four; a second GSPO with PPO's bounds is there so that
it does not lose by that alone, and SAPO must beat it too. ``details`` also counts collapses (success ends below three
quarters of its peak) at the chosen rate and at three times that rate.
"""

from typing import Any

from ..testbeds.answer_tree import AnswerTree
from ..testbeds.course import Course
from ..testbeds.testbed import Method, method
from ..testbeds.tree_diagnostics import others_gradient
from .claim import Comparison, Found, Premise
from .effects import course_leads, held_out_success, mean_held_out, summary, tree_report

FASTER = 3.0


def details(found: Found[Method, Course]) -> dict[str, Any]:
    """Leads, collapses, and what one token far off the old policy does to the gradient of the other three."""
    faster = found.faster(FASTER, most=8)
    return {
        **tree_report(found),
        "worlds that collapse": found.count(lambda course: course.collapses),
        "at three times the learning rate": {
            "seeds": faster.seeds,
            "lead of SAPO over": summary(faster.minus(mean_held_out)),
            "worlds that collapse": faster.count(lambda course: course.collapses),
        },
        "gradient of three tokens once the fourth is twice as likely": {
            name: others_gradient(condition) for name, condition in found.claim.conditions.items()
        },
    }


CLAIM = Comparison(
    handle="sapo",
    sentence="A soft gate on token ratios trains more stably and to higher success than GRPO's and GSPO's clips at "
    "equal budget (Gao et al. 2025, abstract)",
    effect="held-out success, mean over training, of SAPO minus that of GRPO and of GSPO with either bounds",
    testbed=AnswerTree(iterations=30, epochs=4, batch_size=32),
    conditions={
        "sapo": method("sapo"),
        "grpo": method("grpo", kl_coef=0.0),
        "gspo": method("gspo"),
        "gspo, bounds 0.2": method("gspo", clip_low=0.2, clip_high=0.2),
    },
    ours="sapo",
    baselines=("grpo", "gspo", "gspo, bounds 0.2"),
    seeds=16,
    tuning=held_out_success(),
    premise=Premise(
        "Staleness harms: with a clip, training at three times the rate collapses in at least 2 of 8 tasks",
        ("at three times the learning rate", "worlds that collapse"),
        lambda tasks: max(tasks.values()) >= 2,
    ),
    parts=course_leads,
    details=details,
    remark="With clips 1 task of 8 collapses at three times the rate: there is little instability for a soft gate to "
    "cure.",
)
measure = CLAIM.measure
