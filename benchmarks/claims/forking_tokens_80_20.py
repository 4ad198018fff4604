"""Do the fifth of all tokens with the highest entropy carry what a policy gradient teaches?

Five of a completion's 25 tokens are forks. All conditions are the catalogue's ``forking-tokens-80-20``, which differ in
the tokens that learn: ``top 20%``, as in its row, by entropy; ``all``, ``share=1``, DAPO's objective; ``bottom 80%``,
``share=0.8``, the method being told the negative of the entropies; ``random 20%``, as in its row, told random numbers.

The claim has two parts: ``top 20%`` is no less than ``all`` ("maintaining performance"; one point of success counts as
none), and it leads over ``bottom 80%``. ``details`` says how often the chosen tokens are the forks.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from ..testbeds.course import Course
from ..testbeds.forks import HANDLE, Forks, forks_chosen, opposite_entropy, random_entropy
from ..testbeds.sequences import SequenceMethod, Sequences
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import held_out_success, interval, leads, mean_held_out, summary, tree_report

CHOSEN = "share of forks among the tokens chosen"


def parts(found: Found[SequenceMethod, Course]) -> dict[str, Part]:
    """No less than all tokens, and more than the bottom 80%."""
    return {
        **leads(found, mean_held_out, ("all",), margin=0.01, wanted="no less"),
        **leads(found, mean_held_out, ("bottom 80%",)),
    }


def details(found: Found[SequenceMethod, Course]) -> dict[str, Any]:
    """Parts, gains over the base, and which tokens were chosen."""
    (over_random,) = found.minus(mean_held_out, ("random 20%",)).values()
    return {
        "gain over the base": summary(found.each(lambda course: course.mean_held_out - course.held_out[0])),
        "top 20% minus random 20%": asdict(interval(over_random)),
        CHOSEN: float(np.mean([forks_chosen(found.testbed.task, seed) for seed in found.seed_list])),
        **tree_report(found),
    }


CLAIM = Comparison(
    handle=HANDLE,
    sentence="Policy gradients of the 20% of tokens with the highest entropy alone maintain the performance of all "
    "tokens', while the other 80% alone are much worse (Wang et al. 2025, abstract)",
    effect="held-out success of the top 20% minus all tokens' (no less than 0.01 below), and minus the bottom 80%'s",
    testbed=Sequences(task=Forks()),
    conditions={
        "top 20%": SequenceMethod(HANDLE, {"share": 0.2}),
        "all": SequenceMethod(HANDLE, {"share": 1.0}),
        "bottom 80%": SequenceMethod(HANDLE, {"share": 0.8}, sees=opposite_entropy),
        "random 20%": SequenceMethod(HANDLE, {"share": 0.2}, sees=random_entropy),
    },
    ours="top 20%",
    baselines=("all", "bottom 80%"),
    seeds=12,
    tuning=held_out_success(grid=(0.003, 0.01, 0.03), seeds=2),
    premise=Premise("Forks are what the base policy is unsure of", (CHOSEN,)),
    parts=parts,
    details=details,
    remark="The top 20% are worse than all tokens by 0.020 of success, as much as the earlier rule tolerated.",
)
measure = CLAIM.measure
