"""Does the IQM need fewer runs than the median for intervals of the same width?

Both statistics are taken of the same simulated experiments, on 40 suites of 26 tasks drawn from a model of Atari 100k
agents. The median's relative width at 25 runs is the mark: how many runs does the IQM need to reach it? The effect is
the geometric mean over suites, and its interval is over suites.

The claim could fail: the median of task means averages over all runs of the two middle tasks, so with little noise, few
tasks or widely spaced tasks it can be the steadier of the two. ``details`` tells what happens there.
"""

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.interval_width import NORMAL, STATISTICS, IntervalWidth, Widths
from .claim import Comparison, Found, Premise
from .effects import interval, part

VARIATIONS: dict[str, dict[str, Any]] = {
    "4 tasks": {"tasks": 4},
    "10 tasks": {"tasks": 10},
    "half the noise": {"noise": 0.5},
    "a quarter of the noise": {"noise": 0.25},
    "normal noise": {"shape": NORMAL},
}


def ratios(found: Found[str, Widths]) -> Floats:
    """Runs the median needs for each run the IQM needs, ``[suites]``."""
    pairs = zip(found["IQM"].runs, found["median"].runs, strict=True)
    return np.array([found.testbed.ratio(iqm, median) for iqm, median in pairs])


def details(found: Found[str, Widths]) -> dict[str, Any]:
    """Ratios of suites and of variations."""
    main, bed = ratios(found), found.testbed
    beds = {name: replace(bed, stream=i, **how) for i, (name, how) in enumerate(VARIATIONS.items(), 1)}
    others = {name: ratios(found.claim.compare(seeds=found.seed_list, testbed=other)) for name, other in beds.items()}
    return {
        "suites": found.seeds,
        "share of suites with a ratio above 1": float((main > 1).mean()),
        "smallest and largest ratio of a suite": [round(float(main.min()), 2), round(float(main.max()), 2)],
        "runs of the median": bed.reference,
        "variations": {
            name: [round(float(np.exp(end)), 3) for end in asdict(interval(np.log(of))).values()]
            for name, of in others.items()
        },
        "model": "task ranges of figure A.14 (DER, Atari 100k); noise normal, skewed, heavy-tailed or bimodal by task",
    }


CLAIM = Comparison(
    handle="rliable",
    sentence="IQM requires fewer runs than median for small uncertainty (Agarwal et al. 2021, section 4.3 and the "
    "captions of figures 2 and 4)",
    effect="runs the median needs for each run the IQM needs, at equal relative width of the 95% interval",
    testbed=IntervalWidth(),
    conditions={name: name for name in STATISTICS},
    ours="IQM",
    baselines=("median",),
    seeds=40,
    premise=Premise("Runs differ as much as published: with less noise the median gains", ("variations",)),
    parts=lambda found: {"": part(np.log(ratios(found)), log=True, margin=float(np.log(1.1)))},
    details=details,
)
measure = CLAIM.measure
