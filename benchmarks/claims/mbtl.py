"""Do a few well chosen contexts serve all of them as well as training in each?

Cart-poles of 30 pole lengths. A training is one run of the cross-entropy method in one context, on a budget that fails
here and there; a context is served by the best of the policies trained so far. MBTL chooses up to ten contexts.
Independent training has a policy in each of the thirty; multi-task training one policy for all, with as many episodes
as MBTL has used. The same trained policies stand behind every strategy of a seed.

The first part is how many trainings independent training needs for each that MBTL needs to do as well (all thirty where
ten do not suffice). Beside the claim: MBTL against contexts drawn at random, and against equally spaced ones, whose
number must be known beforehand.
"""

from typing import Any

import numpy as np

from ..testbeds.contextual_cart_pole import CartPoles, Choice, Strategy, equidistant, mbtl, multitask, random
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import leads, part, summary

PERFORMANCE, OF_EACH = "performance, mean over trainings", "performance, mean over contexts"
INDEPENDENT, ORACLE = "independent training", "the best policy in each context"


def mean_performance(run: Choice) -> float:
    """Over contexts, and over 1 to ten trainings."""
    return float(run.performance.mean())


def needed(found: Found[Strategy, Choice], name: str) -> list[int]:
    """Trainings until independent training is matched, a seed."""
    return [found.testbed.needed(run, seed) for seed, run in zip(found.seed_list, found[name].runs, strict=True)]


def parts(found: Found[Strategy, Choice]) -> dict[str, Part]:
    """Over both ways of the abstract, and beside it over two simple choices."""
    count = found.testbed.count
    factor = np.log(count / np.array(needed(found, "MBTL")))
    return {
        "trainings of independent training for each of MBTL": part(
            factor, log=True, highest=np.log(count), margin=np.log(1.1)
        ),
        **leads(found, mean_performance, ["multi-task"], margin=0.02),
        **leads(found, mean_performance, ["random", "equidistant"], margin=0.02, decides=False),
    }


def details(found: Found[Strategy, Choice]) -> dict[str, Any]:
    """Performances, numbers of trainings, and what is within reach."""
    every = [found.testbed.contexts(seed) for seed in found.seed_list]
    return {
        "seeds": found.seeds,
        "contexts": found.testbed.count,
        PERFORMANCE: summary(found.each(mean_performance)),
        OF_EACH: {
            INDEPENDENT: float(np.mean([one.independent for one in every])),
            "the best single policy": float(np.mean([one.transfer.mean(axis=1).max() for one in every])),
            ORACLE: float(np.mean([one.transfer.max(axis=0).mean() for one in every])),
        },
        "trainings until independent training is matched": {
            name: needed(found, name) for name in found.claim.conditions
        },
    }


CLAIM = Comparison(
    handle="mbtl",
    sentence="Choosing training tasks by a model of transfer improves sample efficiency over independent and "
    "multi-task training (Cho et al. 2024, abstract: up to 50 times)",
    effect="trainings that independent training needs for each that MBTL needs to do as well; and MBTL's mean "
    "performance over contexts and trainings minus that of each other way",
    testbed=CartPoles(),
    conditions={"MBTL": mbtl, "multi-task": multitask, "random": random, "equidistant": equidistant},
    ours="MBTL",
    baselines=("multi-task",),
    seeds=20,
    premise=Premise(
        "Transfer matters: policies of other contexts do better than a context's own, and no single one as well",
        (OF_EACH,),
        lambda of: of[ORACLE] > of[INDEPENDENT] + 0.02 and of[ORACLE] > of["the best single policy"] + 0.02,
    ),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
