"""Does a refined schedule beat linear decay, and linear decay the cosine and a constant rate?

Stochastic gradient descent on logistic regressions whose least loss is known, each schedule with a peak of its own from
one grid. Effects are logarithms of ratios of the last loss above the least: of the rival's over that of the schedule
that the claim prefers. The refined schedule comes from the gradient norms of a run of linear decay with the same peak
and other batches, so that it costs twice the steps; ``details`` says where its peak lies (after 0: a warm-up).
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.logistic import LogisticRegression, Trained
from .claim import Comparison, Found, Premise, Tuning
from .effects import part, summary

MARGIN = float(np.log(1.1))


def ratios(found: Found[str, Trained], ours: str, theirs: str) -> Floats:
    """log(excess loss of theirs / of ours), ``[seeds]``."""
    mine, other = (found[name].each(lambda run: run.excess) for name in (ours, theirs))
    return np.asarray(np.log(other / mine))


def parts(found: Found[str, Trained]) -> dict[str, Any]:
    """Linear decay over the other defaults, and the refined schedule over linear decay."""
    return {
        "linear over constant": part(ratios(found, "linear", "constant"), log=True, margin=MARGIN),
        "linear over cosine": part(ratios(found, "linear", "cosine"), log=True, margin=MARGIN, wanted="no less"),
        "refined over linear": part(ratios(found, "refined", "linear"), log=True, margin=MARGIN),
    }


def details(found: Found[str, Trained]) -> dict[str, Any]:
    """Losses, peaks, and the share of the loss that the constant rate takes away."""
    learnt = 1 - found["constant"].each(lambda run: run.excess / run.before)
    return {
        "share of the excess loss that a constant rate removes": float(learnt.mean()),
        "excess loss": summary(found.each(lambda run: run.excess)),
        "where the refined schedule peaks": summary({"": found["refined"].each(lambda run: run.peak)})[""],
    }


CLAIM = Comparison(
    handle="refined-lr",
    sentence="Linear decay matches or outperforms commonly used default schedules including cosine annealing, and "
    "schedules refined from gradient norms improve further (Defazio et al. 2023, abstract)",
    effect="ratio of the last loss above the least: the rival's over the preferred schedule's, peaks tuned for each",
    testbed=LogisticRegression(),
    conditions={name: name for name in ("refined", "linear", "cosine", "constant")},
    ours="refined",
    baselines=("linear", "cosine", "constant"),
    seeds=30,
    tuning=Tuning(lambda run: -float(np.log(max(run.excess, 1e-12))), (0.1, 0.3, 1.0, 3.0, 10.0), 5),
    premise=Premise(
        "The baseline learns: a constant rate removes at least half of the excess loss",
        ("share of the excess loss that a constant rate removes",),
        lambda share: share >= 0.5,
    ),
    parts=parts,
    details=details,
    remark="One kind of convex problem of 512 examples; the paper's deep networks and language models are not here.",
)
measure = CLAIM.measure
