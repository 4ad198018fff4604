"""Does the progress of steps under a better policy, beside the outcome, teach more from as many completions?

All conditions are the catalogue's ``pav``: ``pav`` with a prover that is the best of four or sixteen completions of the
base policy, ``own progress`` with the base policy as its own prover, and ``outcome`` without progress, or another
method of outcomes alone. Each has four forms and the same learning rates to choose from. A problem has one correct path
of 256, and an iteration has 16 completions. The verifier has seen 16 completions of the base policy from every node.

The claim's parts are held-out success, mean over training, over both; ``details`` has the share of the completions
after which the outcome's success at the end is reached.
"""

from typing import Any

import numpy as np

from ..testbeds.answer_tree import AnswerTree, TreeMethod
from ..testbeds.course import Course
from ..verdicts import Part
from .claim import GRID, Comparison, Found, Premise, Tuning
from .effects import course_leads, mean_held_out, tree_report, tried_told


def form(**params: Any) -> TreeMethod:
    """PAV with these parameters."""
    return TreeMethod("pav", params)


FORMS = {
    "pav": tuple(form(alpha=alpha, best_of=best_of) for alpha in (1.0, 3.0) for best_of in (4, 16)),
    "outcome": (form(alpha=0.0), *(TreeMethod(name) for name in ("rloo", "dr-grpo", "reinforce"))),
    "own progress": tuple(form(alpha=alpha, best_of=1) for alpha in (0.3, 1.0, 3.0, 10.0)),
}


def share_needed(found: Found[TreeMethod, Course]) -> float:
    """Of the completions, until PAV succeeds on held-out problems as outcomes do at the end; median over seeds."""
    pairs = zip(found["pav"].runs, found["outcome"].runs, strict=True)
    return float(np.median([pav.completions_until(outcome.end) / pav.completions[-1] for pav, outcome in pairs]))


def details(found: Found[TreeMethod, Course]) -> dict[str, Any]:
    """What was chosen, what was tried, and how many completions were saved."""
    return {
        "forms": {
            name: {"method": one.condition.handle, **one.condition.params} for name, one in found.outcomes.items()
        },
        "share of completions to the outcome's success at the end": share_needed(found),
        "success in tuning": tried_told(found),
        **tree_report(found),
    }


def parts(found: Found[TreeMethod, Course]) -> dict[str, Part]:
    """More success over training."""
    return course_leads(found)


CLAIM = Comparison(
    handle="pav",
    sentence="Rewards for progress under a prover that is another policy make online reinforcement learning from "
    "outcomes more efficient in samples, and the policy's own progress does not do as well (Setlur et al. 2024)",
    effect="held-out success, mean over training, minus that of outcomes alone and of the policy's own progress",
    testbed=AnswerTree(depth=8, branching=2, skill=1.5, prompts=4, group=4, iterations=240, every=20),
    conditions={name: forms[0] for name, forms in FORMS.items()},
    ours="pav",
    baselines=("outcome", "own progress"),
    seeds=40,
    tuning=Tuning(mean_held_out, GRID, 5, variants=FORMS),
    premise=Premise(
        "The base policy succeeds with a chance of at most 0.4, so that the best of four does more often",
        ("held-out success before", "estimate"),
        lambda chance: chance <= 0.4,
    ),
    parts=parts,
    details=details,
    remark="Completions that the verifier has seen are not counted, as in the paper; here it knows every node and errs "
    "by chance alone. Batches are small: with 128 completions an iteration the lead over outcomes was about 0.01 on "
    "three tuning seeds.",
)
measure = CLAIM.measure
