"""Does learning from the policy's own pairs beat learning from pairs written once, at equal distance?

The same IPO loss on pairs of the reference with true labels (offline), on the policy's own with labels of a proxy
learnt from those pairs (online), and on the pairs of an online run in another order. The effect is the best true win
rate against the reference within a KL of 1 nat, on prompts held out. ``details`` has other budgets, and how well the
policies classify pairs, where the paper finds offline ahead.
"""

from typing import Any

from ..testbeds.alignment import Alignment, Course
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, summary

BUDGET, MARGIN = 1.0, 0.01
BUDGETS = (0.25, 0.5, 1.0, 2.0, 4.0)
ONLINE, OFFLINE, SHUFFLED = "online", "offline", "offline on online pairs"


def within(course: Course) -> float:
    """The best win rate within the budget."""
    return course.best(BUDGET)


def details(found: Found[str, Course]) -> dict[str, Any]:
    """Frontiers, classification, and how far training moves."""
    return {
        "win rate of offline within the budget": float(found[OFFLINE].each(within).mean()),
        "win rate within a KL of": {
            str(budget): summary(
                {name: [run.best(budget) for run in outcome.runs] for name, outcome in found.outcomes.items()}
            )
            for budget in BUDGETS
        },
        "pairs classified as the true reward does": summary(found.each(lambda course: course.classification)),
        "KL at the end": summary(found.each(lambda course: course.divergence[-1])),
    }


CLAIM = Comparison(
    handle="online-vs-offline-gap",
    sentence="Online alignment outperforms offline alignment at equal KL, and the coverage of online data does not "
    "explain it (Tang et al. 2024, abstract)",
    effect="best true win rate against the reference within a KL of 1 nat: online minus offline",
    testbed=Alignment(),
    conditions={name: name for name in (ONLINE, OFFLINE, SHUFFLED)},
    ours=ONLINE,
    baselines=(OFFLINE, SHUFFLED),
    seeds=20,
    tuning=Tuning(within, (0.003, 0.01, 0.03, 0.1), 3),
    premise=Premise(
        "The baseline learns: offline reaches a win rate of at least 0.55",
        ("win rate of offline within the budget",),
        lambda rate: rate >= 0.55,
    ),
    parts=lambda found: leads(found, within, margin=MARGIN),
    details=details,
    remark="Policies that are linear in features, for which IPO on given pairs is a least-squares problem.",
)
measure = CLAIM.measure
