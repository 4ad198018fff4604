"""Does GRPO neglect unlikely correct completions, and does a reward for them mend pass@k?

Eight of the 1,024 completions of a problem are correct, some of them likely to the base policy and some not, so that a
group of 32 holds several correct ones. Both conditions learn from groups of mixed outcomes alone, as the authors do.
Rank bias is exact here: of the correct completions of the problems trained on, those are counted that are likelier
after training than before, by their place in the base policy. Each condition has the learning rate that was best for
pass@k, mean over k, at the end. GRPO with two passes, the paper's other remedy, is told beside.
"""

from typing import Any

import numpy as np

from ..testbeds.answer_tree import AnswerTree, TreeMethod
from ..testbeds.course import Course
from ..testbeds.tree_components import grpo, risen
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import part, summary, tree_report

KS, CORRECT, PASSES = (1, 4, 16, 64, 256), 8, "grpo, two passes"
PLACES = [f"place {i + 1}" for i in range(CORRECT)]
BIAS, GAP = "GRPO raises the likeliest more often than the least likely, by", 0.1


def mean_pass(course: Course) -> float:
    """Held-out pass@k at the end, mean over k."""
    return float(np.mean([course.pass_at(k) for k in KS]))


def unlikely(course: Course) -> float:
    """The share of correct completions that rose, among the less likely half of each problem's."""
    return float(np.mean([course.at_end[place] for place in PLACES[CORRECT // 2 :]]))


def parts(found: Found[TreeMethod, Course]) -> dict[str, Part]:
    """More of the unlikely ones rise, and pass@k is higher at large k."""
    rises = found.each(unlikely)
    room = 1 - float(rises["grpo"].mean())
    made = {"unlikely correct completions that rise": part(found.minus(unlikely)["grpo"], highest=room, margin=0.02)}
    for k in KS[2:]:
        passes = found.each(lambda course, k=k: course.pass_at(k))
        lead = passes["unlikeliness"] - passes["grpo"]
        made[f"pass@{k} over grpo"] = part(lead, highest=1 - float(passes["grpo"].mean()), margin=0.005)
    return made | {"two passes: unlikely ones that rise": part(rises[PASSES] - rises["grpo"], decides=False)}


def details(found: Found[TreeMethod, Course]) -> dict[str, Any]:
    """Rises by place, and pass@k before and after."""
    by_place = found.each(lambda course: [course.at_end[place] for place in PLACES])
    passes = {moment: found.each(lambda c, at=moment: [c.pass_at(k, at) for k in KS]) for moment in (0, -1)}
    names = [f"k = {k}" for k in KS]
    gained = {name: (after - passes[0][name]).T for name, after in passes[-1].items()}
    return {
        BIAS: float((by_place["grpo"][:, 0] - by_place["grpo"][:, -1]).mean()),
        "share that rises, by place before": {name: of.mean(0).round(4).tolist() for name, of in by_place.items()},
        "pass@k before": dict(zip(names, passes[0]["grpo"].mean(0).tolist(), strict=True)),
        "pass@k gained": {name: summary(dict(zip(names, of, strict=True))) for name, of in gained.items()},
        **tree_report(found),
    }


CLAIM = Comparison(
    handle="unlikeliness-grpo",
    sentence="Unlikeliness reward mitigates GRPO's bias to reinforce likely completions and neglect rare ones, "
    "and improves pass@k over a large range of k (He et al. 2025, abstract)",
    effect="share of the less likely correct completions that become likelier, and held-out pass@k, minus GRPO's",
    testbed=AnswerTree(
        depth=5, correct=CORRECT, trained=64, width=24, group=32, iterations=120, every=60, at_end=risen
    ),
    conditions={"unlikeliness": grpo("unlikeliness-grpo"), "grpo": grpo(), PASSES: grpo(epochs=2)},
    ours="unlikeliness",
    baselines=("grpo",),
    seeds=48,
    tuning=Tuning(mean_pass, seeds=3),
    premise=Premise(f"GRPO has a rank bias of {GAP} at least", (BIAS,), lambda gap: gap >= GAP),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
