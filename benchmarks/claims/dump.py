"""Is more learnt when problems are drawn from where advantages are large than from all alike?

Problems of the answer tree come in six distributions by the length of their features: of short ones a policy is
unsure, so that a group of completions mostly disagrees; of long ones it is sure, right or wrong, and groups mostly
agree. Both conditions are the catalogue's ``grpo`` without KL penalty on 16 problems with 16 completions each an
iteration; ``dump`` draws them with the curriculum ``dump``, by six arms, and ``uniform`` from all alike. Batches are
that large since DUMP's bonus falls with the completions of a distribution: with few it draws all alike for long. Each
has the learning rate with which it succeeds most over training on tuning seeds.

The parts are success on the problems held out, which come from all distributions alike, mean over training ("faster")
and at the end ("better"). The premise is that some distributions teach more: before training, the mean absolute
advantage of the best is at least twice that of the worst.
"""

from typing import Any

import numpy as np

from ..testbeds.answer_tree import AnswerTree, TreeMethod
from ..testbeds.course import Course
from ..testbeds.tree_arms import by_dump, taught
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import end, held_out_success, leads, mean_held_out, tree_report

WATCHED, NO_KL = 5, {"kl_coef": 0.0}
SPREAD = "mean absolute advantage before training, best distribution over worst"


def parts(found: Found[TreeMethod, Course]) -> dict[str, Part]:
    """Over uniform draws, over training and at the end."""
    at_end = leads(found, end)
    return leads(found, mean_held_out) | {f"{name}, at the end": part for name, part in at_end.items()}


def details(found: Found[TreeMethod, Course]) -> dict[str, Any]:
    """Courses, and what each distribution can teach before training and after training on all alike."""
    bed, condition, rate = found.testbed, found["uniform"].condition, found["uniform"].rate
    before, after = [], []
    for seed in found.seed_list[:WATCHED]:
        learner = bed.learner(condition, rate, seed)
        before.append(taught(learner))
        bed.train(condition, learner)
        after.append(taught(learner))
    first, last = (np.mean(each, axis=0) for each in (before, after))
    return {
        **tree_report(found),
        "mean absolute advantage by distribution": {"before": first.tolist(), "after uniform": last.tolist()},
        SPREAD: float(first.max() / first.min()),
    }


CLAIM = Comparison(
    handle="dump",
    sentence="Drawing distributions of problems by their mean absolute advantage and a bonus for those seldom drawn "
    "makes training faster and its end better than drawing all alike (Wang et al. 2025, abstract)",
    effect="held-out success of DUMP minus that of uniform draws, mean over training and at the end",
    testbed=AnswerTree(skill=1.5, sureness=(1.0, 12.0), iterations=120, prompts=16, group=16),
    conditions={
        "dump": TreeMethod("grpo", NO_KL, iteration=by_dump),
        "uniform": TreeMethod("grpo", NO_KL),
    },
    ours="dump",
    baselines=("uniform",),
    seeds=40,
    tuning=held_out_success(),
    premise=Premise("Some distributions teach at least twice as much as others", (SPREAD,), lambda ratio: ratio > 2),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
