"""Does GRPO neglect unlikely correct completions, and does a reward for them mend pass@k?

Eight of the 1,024 completions of a problem are correct, some of them likely to the base policy and some not, so that a
group of 32 holds several correct ones. All learn from groups of mixed outcomes alone, as the authors do. Counted is
which correct completions of problems trained on become likelier, by their place in the base policy. Each condition
has the rate that was best for pass@k at the end, mean over k. Two passes, the paper's other remedy, stand beside.
"""

from functools import partial
from typing import Any

import numpy as np

from ..testbeds.answer_tree import AnswerTree, TreeMethod
from ..testbeds.course import Course
from ..testbeds.tree_components import grpo, risen
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, part, summary, tree_report

KS, PASSES, PLACES = (1, 4, 16, 64, 256), "grpo, two passes", [f"place {i + 1}" for i in range(8)]
BIAS, GAP = "GRPO raises the likeliest more often than the least likely, by", 0.1


def mean_pass(course: Course) -> float:
    """Held-out pass@k at the end, mean over k."""
    return float(np.mean(curve(course)))


def curve(course: Course, moment: int = -1) -> list[float]:
    """Held-out pass@k for each k."""
    return [course.pass_at(k, moment) for k in KS]


def unlikely(course: Course) -> float:
    """The share of correct completions that rose, among the less likely half of each problem's."""
    return float(np.mean([course.at_end[place] for place in PLACES[4:]]))


def parts(found: Found[TreeMethod, Course]) -> dict[str, Part]:
    """More of the unlikely ones rise, and pass@k is higher at large k."""
    rises = found.each(unlikely)
    made = {"unlikely ones that rise, over grpo": leads(found, unlikely)["over grpo"]}
    made["unlikely ones that rise, two passes over one"] = part(rises[PASSES] - rises["grpo"], decides=False)
    for k in KS[2:]:
        made[f"pass@{k} over grpo"] = leads(found, partial(Course.pass_at, k=k), margin=0.005)["over grpo"]
    return made


def details(found: Found[TreeMethod, Course]) -> dict[str, Any]:
    """Rises by place, and pass@k before and after."""
    by_place = found.each(lambda course: [course.at_end[place] for place in PLACES])
    before, after = found["grpo"].each(lambda course: curve(course, 0)), found.each(curve)
    return {
        BIAS: float((by_place["grpo"][:, 0] - by_place["grpo"][:, -1]).mean()),
        "share that rises, by place before": {name: of.mean(0).round(4).tolist() for name, of in by_place.items()},
        "pass@k before": dict(zip(map(str, KS), before.mean(0).tolist(), strict=True)),
        "pass@k gained": {
            name: summary(dict(zip(map(str, KS), (of - before).T, strict=True))) for name, of in after.items()
        },
        **tree_report(found),
    }


CLAIM = Comparison(
    handle="unlikeliness-grpo",
    sentence="Unlikeliness reward mitigates GRPO's bias to reinforce likely completions and neglect rare ones, "
    "and improves pass@k over a large range of k (He et al. 2025, abstract)",
    effect="share of the less likely correct completions that become likelier, and held-out pass@k, minus GRPO's",
    testbed=AnswerTree(depth=5, correct=8, trained=64, width=24, group=32, iterations=120, every=60, at_end=risen),
    conditions={"unlikeliness": grpo("unlikeliness-grpo"), "grpo": grpo(), PASSES: grpo(epochs=2)},
    ours="unlikeliness",
    baselines=("grpo",),
    seeds=64,
    tuning=Tuning(mean_pass, seeds=3),
    premise=Premise(f"GRPO has a rank bias of {GAP} at least", (BIAS,), lambda gap: gap >= GAP),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
