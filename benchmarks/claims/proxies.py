"""What claims about optimising reward models share: forms that conditions are tuned over, and what is told."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from ..testbeds.proxy_rewards import Optimised, Paid
from ..verdicts import Part
from .claim import Found, Premise, Tuning
from .effects import leads, rates_told, summary

COEFS = (0.03, 0.1, 0.3, 1.0)
WIDER = (*COEFS, 3.0)
"""For a comparison of rewards, whose scales are not the same: the best penalty of none is at an end."""
MARGIN = 0.01
"""A point of true reward, of the six that the best policies gain: a difference this small counts as none."""
RATES = (0.01, 0.03, 0.1)
OPEN = "the score, no penalty"
"""A condition that shows whether there is anything to over-optimise."""
FALL = "fall of the true reward from half of the training on, without a penalty"


def forms(reward: str, coefs: Sequence[float] = COEFS) -> tuple[Paid, ...]:
    """RLOO on a reward, with each of these KL penalties."""
    return tuple(Paid("rloo", reward=reward, coef=coef) for coef in coefs)


@overload
def tuning(**variants: Sequence[Paid]) -> Tuning: ...
@overload
def tuning(*, seeds: int, **variants: Sequence[Paid]) -> Tuning: ...
def tuning(*, seeds: Any = 3, **variants: Sequence[Paid]) -> Tuning:
    """Every condition takes the form and the rate that are best after half of the training."""
    return Tuning(half, RATES, seeds=seeds, variants=variants)


def half(run: Optimised) -> float:
    """The true reward after half of the training."""
    return run.half


def end(run: Optimised) -> float:
    """The true reward after training."""
    return run.end


def tried(found: Found[Paid, Optimised]) -> dict[str, dict[str, float]]:
    """The mean true reward in tuning of every form of each condition, by reward, penalty and rate."""
    assert found.claim.tuning is not None
    told: dict[str, dict[str, float]] = {name: {} for name in found.outcomes}
    for (name, rate, i), scores in found.tried.items():
        form = found.claim.tuning.variants.get(name, (found.claim.conditions[name],))[i]
        told[name][f"{form.reward}, penalty {form.coef}, rate {rate}"] = float(np.mean(scores))
    return told


def told(found: Found[Paid, Optimised]) -> dict[str, Any]:
    """What was chosen, true rewards, scores and divergences, and whether the score is over-optimised."""
    chosen = {
        name: {"reward": one.condition.reward, "coef": one.condition.coef} for name, one in found.outcomes.items()
    }
    return {
        "seeds": found.seeds,
        "tuned": rates_told(found),
        "forms": chosen,
        "true reward in tuning": tried(found),
        "true reward before": summary(found.each(lambda run: run.before)),
        "true reward at half": summary(found.each(half)),
        "true reward at the end": summary(found.each(end)),
        "score at the end": summary(found.each(lambda run: run.paid[-1])),
        "KL to the base policy at the end, nats": summary(found.each(lambda run: run.divergence[-1])),
        FALL: float(found[OPEN].each(lambda run: run.half - run.end).mean()),
    }


OVEROPTIMISED = Premise("Without a penalty, training on lowers the true reward", (FALL,), lambda fall: fall > 0)


def at_both(found: Found[Paid, Optimised], over: Sequence[str], **how: Any) -> dict[str, Part]:
    """By how much the claim's condition leads after half of the training, and after all of it."""
    both = {"at half of the training": half, "at its end": end}
    return {
        f"{name} {when}": part
        for when, value in both.items()
        for name, part in leads(found, value, over, margin=MARGIN, **how).items()
    }
