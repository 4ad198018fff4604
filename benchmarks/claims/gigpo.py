"""Does credit from equal states teach what credit from whole episodes does not?

The conditions run through the catalogue: ``gigpo``, as in its row, and ``gigpo, scaled``, where both of its advantages
are divided by their group's standard deviation (the authors have either); ``episodes alone``, ``gigpo`` with omega = 0,
which is group-relative credit without the standard deviation; ``grpo``, as in its row but for the KL penalty; and
``episodes alone, discounted``: GiGPO's steps are discounted, so that it learns to be quick too, and this condition says
how much of its lead that is. The score is success averaged over training, which is high for learning soon and well;
each baseline is a part, with GiGPO's condition that did better on the seeds of tuning.
"""

from dataclasses import asdict
from typing import Any

from ..statistics import Floats
from ..testbeds.errands import GAMMA, Discounted, Errands, gigpo, mean_success
from ..testbeds.sequences import SequenceMethod, Sequences
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import SUCCESS, interval, one_of, part, rates_told, summary

OURS, BEFORE = ("gigpo", "gigpo, scaled"), "success before training"


def parts(found: Found[SequenceMethod, Floats]) -> dict[str, Part]:
    """GiGPO's condition that did better in tuning, minus each baseline."""
    scores = found.each(mean_success)
    ours = scores[one_of(found, OURS)]
    return {
        f"over {n}": part(ours - scores[n], highest=1 - scores[n].mean(), margin=SUCCESS) for n in found.claim.baselines
    }


def details(found: Found[SequenceMethod, Floats]) -> dict[str, Any]:
    """Scores, ends, and what each lead is."""
    scores, ends = found.each(mean_success), found.each(lambda run: float(run[-1]))
    ours, others, task = one_of(found, OURS), found.claim.baselines, found.testbed.task
    return {
        "seeds": found.seeds,
        "updates": found.testbed.iterations,
        "episodes an update": task.errands * task.group,
        "learning rates": rates_told(found),
        BEFORE: float(found[ours].each(lambda run: float(run[0])).mean()),
        "success over training": summary(scores),
        "success at the end": summary(ends),
        "GiGPO's condition, by tuning": ours,
        f"{ours} minus each": summary({name: scores[ours] - scores[name] for name in others}),
        f"success at the end, {ours} minus each": summary({name: ends[ours] - ends[name] for name in others}),
        "gigpo minus episodes alone": asdict(interval(scores["gigpo"] - scores["episodes alone"])),
    }


CLAIM = Comparison(
    handle="gigpo",
    sentence="Comparing actions taken in equal states within a group makes agents succeed more often than GRPO's "
    "credit for whole episodes, from the same rollouts (Feng et al. 2025, abstract)",
    effect="held-out success over training of GiGPO's better form minus each with credit for episodes alone",
    testbed=Sequences(task=Errands()),
    conditions={
        "gigpo": gigpo(1.0),
        "gigpo, scaled": gigpo(1.0, scale=True),
        "episodes alone": gigpo(0.0),
        "grpo": SequenceMethod("grpo", {"kl_coef": 0.0}),
        "episodes alone, discounted": gigpo(0.0, sees=Discounted(GAMMA)),
    },
    ours="gigpo",
    baselines=("episodes alone", "grpo", "episodes alone, discounted"),
    seeds=12,
    tuning=Tuning(mean_success, (0.01, 0.03, 0.1), 2),
    premise=Premise(
        "The policy succeeds now and then before training, so that episodes can teach",
        (BEFORE,),
        lambda success: success > 0.02,
    ),
    parts=parts,
    details=details,
    remark="In the first measurement GiGPO's plain form had the largest learning rate of its grid, and its form was "
    "chosen on the seeds reported; grids are widened since, and the form is chosen in tuning.",
)
measure = CLAIM.measure
