"""Does a best-of-four score tell which reward model is best for best-of-n sampling?

In a world, 24 reward models of varied quality; the effect is Spearman's correlation of their best-of-four score over
four skills with how often the best of 16 solutions by their reward is correct. One value a world. ``details`` has the
best of 64 and the other benchmarks.
"""

from typing import Any

from ..testbeds.reward_models import RewardModels, Scores
from .claim import Comparison, Found, Premise
from .effects import part, summary

OURS, BEFORE = "best of four by skill", "pairs of other styles"
LEAST = 0.8


def told(run: Scores) -> float:
    """The correlation with the best of 16."""
    return run.correlation(run.best_of_16)


def parts(found: Found[str, Scores]) -> dict[str, Any]:
    """High, and higher than that of pairs."""
    correlation = found[OURS].each(told)
    return {
        "correlation with best of 16": part(correlation, threshold=LEAST, margin=0.05, highest=1.0),
        "lead over pairs of other styles": part(correlation - found[BEFORE].each(told), margin=0.05, highest=2.0),
    }


def details(found: Found[str, Scores]) -> dict[str, Any]:
    """Correlations with both, and how much models differ."""
    spread = found[OURS].each(lambda run: run.best_of_16.max() - run.best_of_16.min())
    return {
        "best of 16, best model minus worst": float(spread.mean()),
        "correlation with best of 16": summary(found.each(told)),
        "correlation with best of 64": summary(found.each(lambda run: run.correlation(run.best_of_64))),
    }


CLAIM = Comparison(
    handle="rewardbench-2",
    sentence="Scores on a best-of-four benchmark of reward models correlate highly with their use in best-of-n "
    "sampling (Malik et al. 2025, abstract and section on downstream use)",
    effect=f"Spearman's correlation over reward models, above {LEAST}; and its lead over pairs of other styles",
    testbed=RewardModels(),
    conditions={name: name for name in (OURS, BEFORE, "one to many")},
    ours=OURS,
    baselines=(BEFORE, "one to many"),
    seeds=range(100, 500),
    premise=Premise(
        "Models differ in use: the best is correct at least 0.1 more often than the worst",
        ("best of 16, best model minus worst",),
        lambda spread: spread >= 0.1,
    ),
    parts=parts,
    details=details,
    remark="Linear reward models on features of eight steps; styles that go with correctness in training are planted. "
    "Measured first with 20 other seeds, which left the correlation undecided; 400 were chosen by its deviation there.",
)
measure = CLAIM.measure
