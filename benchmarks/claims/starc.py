"""Does the STARC distance of two rewards tell regret better than EPIC's?

In an environment, 128 pairs of rewards; the effect is how much better their STARC distances agree in rank with what
optimising the wrong one of the pair loses. One value an environment. ``details`` has the correlation of a distance
without any canonical form, too.
"""

from typing import Any

from ..testbeds.reward_pairs import DISTANCES, Pairs, RewardPairs
from .claim import Comparison, Found, Premise
from .effects import leads, summary


def correlation(run: Pairs) -> float:
    """Spearman's, of distance and regret."""
    return run.correlation


def details(found: Found[str, Pairs]) -> dict[str, Any]:
    """Correlations, and how much the pairs of an environment differ."""
    spread = found["starc"].each(lambda run: run.regrets.std())
    return {
        "correlation of distance and regret": summary(found.each(correlation)),
        "standard deviation of the regrets of an environment": float(spread.mean()),
    }


CLAIM = Comparison(
    handle="starc",
    sentence="STARC metrics correlate better with regret than EPIC does (Skalse et al. 2023, section on experiments)",
    effect="Spearman's correlation of distance and regret, of STARC (VAL, L2) minus EPIC's, in random environments",
    testbed=RewardPairs(),
    conditions={name: name for name in DISTANCES},
    ours="starc",
    baselines=("epic", "no canonical form"),
    seeds=20,
    premise=Premise(
        "Pairs differ in regret: its standard deviation is at least 0.05",
        ("standard deviation of the regrets of an environment",),
        lambda spread: spread >= 0.05,
    ),
    parts=lambda found: leads(found, correlation),
    details=details,
)
measure = CLAIM.measure
