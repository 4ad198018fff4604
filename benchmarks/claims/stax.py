"""Does STAX explore as well as a search that is given the behaviour space, and make more of the rewards it finds?

Policies linear in the image of a point maze with three exits that pay, each with its own episode. STAX learns the
behaviour space from images; novelty search is given it (where an episode ends); random search draws all policies from
one distribution. All have the same number of evaluations and are tuned alike, over the deviation of mutations (of
random search: of its distribution) and the limit of weights. Novelty search in the learnt space, STAX without emitters,
stands beside the claim.

Scored are the share of the true grid's cells in which some evaluated policy ends, the share of exits found, and the
highest reward at each exit, mean over the three: one reward alone, the highest of all, is near its limit for everyone.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..testbeds.sparse_exits import ExitSearch, Form, Searched
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, summary

STAX, TRUE, RANDOM, ALONE = "STAX", "novelty search, true space", "random search", "novelty search, learnt space"
CONDITIONS = {STAX: Form(emitters=True), TRUE: Form(true=True), RANDOM: Form(random=True), ALONE: Form()}
LIMITS = (1.0, 5.0)
MEASURES: dict[str, Callable[[Searched], float]] = {
    "coverage": lambda run: run.coverage,
    "exits": lambda run: run.areas,
    "best reward of each exit": lambda run: run.best_of_each,
    "best reward": lambda run: run.best,
}
COVERAGE, EXITS, BEST, _ = MEASURES


def parts(found: Found[Form, Searched]) -> dict[str, Any]:
    """Four effects that decide, and the same rewards against STAX without emitters beside them."""
    effects: list[tuple[str, str, float, dict[str, Any]]] = [
        (COVERAGE, RANDOM, 0.05, {}),
        (COVERAGE, TRUE, 0.05, {"wanted": "no less"}),
        (EXITS, RANDOM, 0.05, {}),
        (BEST, TRUE, 0.02, {}),
        (BEST, ALONE, 0.02, {"decides": False}),
    ]
    return {
        f"{what} {name}": effect
        for what, other, margin, how in effects
        for name, effect in leads(found, MEASURES[what], [other], margin=margin, **how).items()
    }


def details(found: Found[Form, Searched]) -> dict[str, Any]:
    """All measures of all conditions, and what was tried."""
    return {
        "seeds": found.seeds,
        "evaluations": found.testbed.evaluations,
        **{what: summary(found.each(value)) for what, value in MEASURES.items()},
        "runs that find all exits": found.count(lambda run: run.areas == 1),
        "share of evaluations by emitters": float(found[STAX].each(lambda run: run.exploited).mean()),
        "chosen limits of weights": {name: outcome.condition.limit for name, outcome in found.outcomes.items()},
        "mean scores of tuning": {
            f"{name}, {rate:g}, {i}": float(np.mean(of)) for (name, rate, i), of in found.tried.items()
        },
    }


CLAIM = Comparison(
    handle="stax",
    sentence="STAX performs comparably to baselines that are given a behaviour space, on sparse rewards, while it "
    "learns that space (Paolo et al. 2021, abstract)",
    effect="shares of the true grid covered and of exits found, and the highest reward of each exit, of STAX minus a "
    "baseline, after as many evaluations",
    testbed=ExitSearch(),
    conditions=CONDITIONS,
    ours=STAX,
    baselines=(TRUE, RANDOM),
    seeds=10,
    tuning=Tuning(
        score=lambda run: run.score,
        grid=(0.1, 0.3, 1.0, 3.0),
        seeds=3,
        variants={name: [replace(form, limit=limit) for limit in LIMITS] for name, form in CONDITIONS.items()},
    ),
    premise=Premise(
        "Exploring helps: random search covers less than 0.8 of what novelty search does in the true space",
        (COVERAGE,),
        lambda of: of[RANDOM]["estimate"] < 0.8 * of[TRUE]["estimate"],
    ),
    parts=parts,
    details=details,
    remark="One small maze of our own, with linear policies and 4,000 evaluations where the paper's searches have "
    "hundreds of thousands; images are 12 x 12 and the autoencoder is fully connected.",
)
measure = CLAIM.measure
