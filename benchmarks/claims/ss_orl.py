"""Do actions filled in by an inverse model make up for those that were never recorded?

Pendulum, 200 trajectories, of which 150 are of a scripted swing-up and 50 of random actions. A tenth has its actions,
drawn from the quarter with the lowest returns, which are the random ones: what is worth imitating came without actions.
TD3+BC learns from the labelled trajectories alone, from these and the rest with the inverse model's actions (SS-ORL),
or from all with the true ones; everything else is equal.

The claim is that SS-ORL matches the true labels; that it gains over the few is a part of its own. ``details`` has the
error of the actions filled in, as a share of the true ones' variance.
"""

from dataclasses import asdict
from typing import Any

from ..testbeds.action_free import ActionFree, Outcome
from ..testbeds.control import Agent
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import interval, leads, part, summary

OURS, FEW, ALL = "SS-ORL", "labelled alone", "all actions known"
SCORES = "normalised return"


def score(run: Outcome) -> float:
    """The normalised return."""
    return run.score


def error(run: Outcome) -> float:
    """Of the actions filled in."""
    return run.error


def parts(found: Found[Agent, Outcome]) -> dict[str, Part]:
    """The lead over the few labels, and how near it comes to all of them."""
    behind = found.minus(score, [ALL])[ALL]
    return {
        **leads(found, score, [FEW], top=float("inf"), margin=0.05),
        f"minus {ALL}": part(behind, margin=0.05, wanted="no less"),
    }


def details(found: Found[Agent, Outcome]) -> dict[str, Any]:
    """Scores, and errors of the actions filled in."""
    return {
        "seeds": found.seeds,
        "updates": found.testbed.updates,
        SCORES: {name: of["estimate"] for name, of in summary(found.each(score)).items()},
        f"{SCORES}, with intervals": summary(found.each(score)),
        "error of the actions filled in, share of the variance": asdict(interval(found[OURS].each(error))),
        "share of trajectories with actions": found.testbed.labelled,
        "settings of all": found.testbed.settings,
    }


CLAIM = Comparison(
    handle="ss-orl",
    sentence="Even with a tenth of the trajectories labelled, and these of low quality, semi-supervised offline "
    "learning can match learning from fully labelled data (Zheng et al. 2022, abstract)",
    effect="normalised return (0 random, 1 the swing-up) of SS-ORL minus that of TD3+BC on the labelled tenth, and "
    "minus that with all actions known (no less than 0.05 below)",
    testbed=ActionFree(),
    conditions={
        OURS: Agent("ss-orl", {"labels": "proxy"}),
        FEW: Agent("ss-orl", {"labels": "few"}),
        ALL: Agent("ss-orl", {"labels": "all"}),
    },
    ours=OURS,
    baselines=(FEW, ALL),
    seeds=8,
    premise=Premise(
        "Labels are missed: with all of them TD3+BC earns at least 0.1 more than with the few",
        (SCORES,),
        lambda of: of[ALL] > of[FEW] + 0.1,
    ),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
