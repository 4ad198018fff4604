"""Does an imagined correct completion in every group help where most groups have none?

The base policy solves about one problem in twenty, so that three groups of eight in four are all incorrect, and teach
GRPO nothing; NGRPO pushes their completions down. Two passes of one gradient step, so that clips come into play. DAPO
is its objective without dynamic sampling; no condition has a KL penalty, as NGRPO has none. ``details`` also says after
how many completions a fixed success is reached, what each condition gains on problems of which difficulty, and what
becomes of entropy without the asymmetric clip.
"""

from typing import Any

import numpy as np

from ..testbeds.answer_tree import AnswerTree
from ..testbeds.course import Course
from ..testbeds.testbed import Method, method
from ..testbeds.tree_diagnostics import uniform_incorrect_groups
from .claim import Comparison, Found, Premise
from .effects import course_leads, held_out_success, tree_report

GOAL = 0.1
DIFFICULTIES = {"base below 1%": (0.0, 0.01), "1% to 10%": (0.01, 0.1), "above 10%": (0.1, 1.1)}
ALL_INCORRECT = "groups all wrong before"


def details(found: Found[Method, Course]) -> dict[str, Any]:
    """Leads, completions to a goal, and gains by difficulty."""
    until = {name: n[np.isfinite(n)] for name, n in found.each(lambda c: c.completions_until(GOAL)).items()}
    ours = found["ngrpo"].condition
    dead = [uniform_incorrect_groups(found.testbed, ours, seed) for seed in found.seed_list]
    return {
        **tree_report(found),
        ALL_INCORRECT: float(np.mean(dead)),
        f"worlds where {GOAL} is reached": {name: len(some) for name, some in until.items()},
        f"answers to reach {GOAL}, median of those that do": {
            n: float(np.median(s)) for n, s in until.items() if len(s)
        },
        "gain by difficulty": {
            label: {name: float(np.mean([run.gain(*bounds) for run in of.runs])) for name, of in found.outcomes.items()}
            for label, bounds in DIFFICULTIES.items()
        },
    }


CLAIM = Comparison(
    handle="ngrpo",
    sentence="NGRPO, which also learns from groups of incorrect completions alone, learns better than GRPO, DAPO "
    "and PSR-NSR (Nan et al. 2025, abstract)",
    effect="held-out success, mean over training, of NGRPO minus that of GRPO, of DAPO and of W-REINFORCE",
    testbed=AnswerTree(skill=0.75, epochs=2),
    conditions={
        "ngrpo": method("ngrpo"),
        "grpo": method("grpo", kl_coef=0.0),
        "dapo": method("dapo"),
        "w-reinforce-nsr": method("w-reinforce-nsr"),
        "ngrpo, symmetric clip": method("ngrpo", clip_low=0.2, clip_high=0.2),
    },
    ours="ngrpo",
    baselines=("grpo", "dapo", "w-reinforce-nsr"),
    seeds=20,
    tuning=held_out_success(),
    premise=Premise("Most groups of the base policy are all incorrect", (ALL_INCORRECT,), lambda share: share > 0.5),
    parts=course_leads,
    details=details,
)
measure = CLAIM.measure
