"""Does training by rewards concentrate on one of the formats that the base policy mixes?

The first choice of a completion is its format; every problem can be solved in each of the four. GRPO without a KL
penalty. The effect is by how much the largest mean share of a format on held-out problems grows. Beside the claim:
whether it exceeds nine tenths, and whether the winner is the format with most correct completions before training (its
share times its accuracy), less the one in four of a guess.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.course import Course
from ..testbeds.testbed import Method, method
from ..testbeds.tree_formats import LEAST, FormatTree
from .claim import Comparison, Found, Premise
from .effects import held_out_success, part, report, summary

CHANCE = 0.25
TOLD = (
    *("largest share before", "largest share after", "one has taken over"),
    *("it was the commonest", "it was the most correct", "it was predicted"),
)


def parts(found: Found[Method, Course]) -> dict[str, Any]:
    """The growth decides; how far, and what was foreseen, is told beside it."""
    after = found["grpo"].each(lambda course: course.at_end["largest share after"])
    before = found["grpo"].each(lambda course: course.at_end["largest share before"])
    foreseen = found["grpo"].each(lambda course: course.at_end["it was predicted"])
    return {
        "growth of the largest share": part(after - before, margin=0.05, highest=float(1 - before.mean())),
        f"largest share minus {LEAST}": part(after - LEAST, decides=False, highest=1 - LEAST),
        "winner predicted, above a guess": part(foreseen - CHANCE, decides=False, highest=1 - CHANCE),
    }


def told(found: Found[Method, Course], name: str) -> dict[str, Floats]:
    """Shares of formats at the end, ``[seeds]`` each."""
    runs = found[name].runs
    return {one: np.array([run.at_end[one] for run in runs]) for one in TOLD}


def details(found: Found[Method, Course]) -> dict[str, Any]:
    """Shares, winners, and success."""
    gained = found["grpo"].each(lambda course: course.end - course.held_out[0])
    return {
        "success gained by GRPO": float(gained.mean()),
        "formats": {name: summary(told(found, name)) for name in found.outcomes},
        **report(found),
    }


CLAIM = Comparison(
    handle="echo-chamber",
    sentence="RL algorithms consistently converge towards a dominant output distribution, amplifying patterns in the "
    "pretraining data (Zhao et al. 2025, abstract)",
    effect="largest mean share of one of four formats on held-out problems: after training minus before",
    testbed=FormatTree(depth=4, width=12, batch_size=32, iterations=100, every=20),
    conditions={"grpo": method("grpo", kl_coef=0.0), "grpo, scale off": method("dr-grpo", kl_coef=0.0)},
    ours="grpo",
    baselines=("grpo, scale off",),
    seeds=20,
    tuning=held_out_success(),
    premise=Premise(
        "GRPO learns: success on held-out problems rises by at least 0.02",
        ("success gained by GRPO",),
        lambda gained: gained >= 0.02,
    ),
    parts=parts,
    details=details,
    remark="Formats are the first of four choices of a tabular policy; the dependence on a model's size is not tested.",
)
measure = CLAIM.measure
