"""Does one against nine tell robust reward models where one against one of another style does not?

In a world, 24 reward models of varied quality; the effect is Spearman's correlation of one-to-many accuracy with how
often the best of 64 solutions by their reward is correct, minus that of pairs whose correct solution is in the style of
people. One value a world. The claim's second part: that of pairs is hardly there.
"""

from typing import Any

from ..testbeds.reward_models import RewardModels, Scores
from .claim import Comparison, Found, Premise
from .effects import part, summary

OURS, RANK, BEFORE = "one to many", "one to many, reciprocal rank", "pairs of other styles"
HARDLY = 0.3


def told(run: Scores) -> float:
    """The correlation with the best of 64."""
    return run.correlation(run.best_of_64)


def parts(found: Found[str, Scores]) -> dict[str, Any]:
    """The lead of one to many, and how little pairs tell."""
    before = found[BEFORE].each(told)
    return {
        "lead over pairs of other styles": part(found[OURS].each(told) - before, margin=0.05, highest=2.0),
        f"{HARDLY} minus the correlation of pairs": part(HARDLY - before, margin=0.05, highest=1.3),
    }


def details(found: Found[str, Scores]) -> dict[str, Any]:
    """Correlations, and how much models differ."""
    spread = found[OURS].each(lambda run: run.best_of_64.max() - run.best_of_64.min())
    return {
        "best of 64, best model minus worst": float(spread.mean()),
        "correlation with best of 64": summary(found.each(told)),
        "correlation with best of 16": summary(found.each(lambda run: run.correlation(run.best_of_16))),
    }


CLAIM = Comparison(
    handle="rewardmath",
    sentence="One-to-many scores strongly correlate with the results of optimised policies, whereas the existing "
    "pairwise benchmark shows almost no correlation (Kim et al. 2024, abstract)",
    effect="Spearman's correlation over reward models with best-of-64 accuracy: one to many minus pairs; and pairs'",
    testbed=RewardModels(),
    conditions={name: name for name in (OURS, RANK, BEFORE)},
    ours=OURS,
    baselines=(BEFORE, RANK),
    seeds=20,
    premise=Premise(
        "Models differ in use: the best is correct at least 0.1 more often than the worst",
        ("best of 64, best model minus worst",),
        lambda spread: spread >= 0.1,
    ),
    parts=parts,
    details=details,
    remark="Linear reward models on features of eight steps; styles that go with correctness in training are planted.",
)
measure = CLAIM.measure
