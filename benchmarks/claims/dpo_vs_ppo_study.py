"""Which matters more when a policy learns from preferences: better data, or policy gradients in place of DPO?

All sixteen combinations of two levels of four factors, each with the best of six learning rates and two weights of the
KL penalty. The claim's parts are contrasts over all combinations: the main effect of better data, that of the policy
gradient over DPO, and by how much the first is larger. ``details`` has the whole table.
"""

from dataclasses import asdict
from itertools import product
from typing import Any

from ..analysis.dpo_vs_ppo_study import contrast, effects, table
from ..statistics import Floats
from ..testbeds.preference_factors import FACTORS, Levels, PreferenceFactors
from .claim import Comparison, Found, Premise, Tuning
from .effects import part

MARGIN = 0.01
CELLS = {
    ", ".join(name for name, on in zip(FACTORS, levels, strict=True) if on) or "none": levels
    for levels in product((False, True), repeat=len(FACTORS))
}
BETAS = (0.03, 0.3)
FORMS = {name: tuple(Levels(*levels)._replace(beta=beta) for beta in BETAS) for name, levels in CELLS.items()}
ALL, NONE = ", ".join(FACTORS), "none"


def scores(found: Found[Levels, float]) -> Floats:
    """Win rates, ``[2, 2, 2, 2, seeds]``."""
    return table({outcome.condition.cell: outcome.runs for outcome in found.outcomes.values()})


def parts(found: Found[Levels, float]) -> dict[str, Any]:
    """Data, algorithm, and the first above the second."""
    values = scores(found)
    data, algorithm = contrast(values, [0]), contrast(values, [1])
    return {
        "better data": part(data, margin=MARGIN, highest=1.0),
        "policy gradient over DPO": part(algorithm, margin=MARGIN, highest=1.0),
        "data minus algorithm": part(data - algorithm, margin=MARGIN, highest=2.0),
    }


def details(found: Found[Levels, float]) -> dict[str, Any]:
    """The table of effects, and win rates at both ends."""
    values = scores(found)
    return {
        "win rate of the worst combination": float(values.mean(-1).min()),
        "win rate of every combination": {name: float(found[name].each(float).mean()) for name in found.outcomes},
        "effects": [
            {"factors": " x ".join(one.factors), **asdict(one.interval), "p": one.p, "share of the variance": one.share}
            for one in effects(values, FACTORS)
        ],
    }


CLAIM = Comparison(
    handle="dpo-vs-ppo-study",
    sentence="Better preference data leads to the largest improvements, followed by the choice of algorithm, PPO over "
    "DPO (Ivison et al. 2024, abstract)",
    effect="main effects on the true win rate against the reference, over all combinations of four factors",
    testbed=PreferenceFactors(),
    conditions={name: forms[0] for name, forms in FORMS.items()},
    ours=ALL,
    baselines=(NONE,),
    seeds=20,
    tuning=Tuning(float, (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0), 3, variants=FORMS),
    premise=Premise(
        "Every combination learns: a win rate of at least 0.55",
        ("win rate of the worst combination",),
        lambda rate: rate >= 0.55,
    ),
    parts=parts,
    details=details,
    remark="Policies that are linear in features; better data are pairs with fewer wrong labels. In the first "
    "measurement most conditions had the largest of the learning rates.",
)
measure = CLAIM.measure
