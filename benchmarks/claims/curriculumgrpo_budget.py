"""Is a token budget reached with more success when it falls than when it is tight from the start?

Completions of up to sixteen tokens, which begin with about eight, and 600 updates, as in the paper. All conditions are
the catalogue's ``grpo`` without KL penalty on the reward ``curriculumgrpo-budget`` (weights 0.6 of success and 0.3 of
length): a budget that falls from 16 to 5 tokens in three decays, and one of 5 throughout; beside them a linear fall,
and success alone. Each has the learning rate that is best under the last budget on tuning seeds: 0.6 success plus 0.3
the length reward of its mean tokens at the end.

The parts are success at the end, falling minus fixed, and the share of tokens that the falling budget saves over the
fixed one, of which it may lose 5%. The premise is that the fixed budget costs success in the first half of training.
"""

from typing import Any

from ..statistics import Floats
from ..testbeds.budgets import FIRST, LAST, Budgets, success, tokens, worth
from ..testbeds.paid_sequences import Paid, PaidSequences
from ..testbeds.thoughts import first_half
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import SUCCESS, leads, part, rates_told, summary

COST = "success that the fixed budget costs in the first half"
BUDGET = {"name": "curriculumgrpo-budget", "end": LAST, "tags": ()}
Outcomes = Found[Paid, Floats]


def budgeted(**how: Any) -> Paid:
    """A condition under budgets that end alike."""
    return Paid("grpo", {"kl_coef": 0.0}, rewards={**BUDGET, **how})


def parts(found: Outcomes) -> dict[str, Part]:
    """More success than under the fixed budget, in no more tokens; beside it the linear fall."""
    used, ends = found.each(tokens), found.each(success)
    saved, linear = 1 - used["falling"] / used["fixed"], ends["falling, linear"] - ends["fixed"]
    return leads(found, success) | {
        "share of tokens saved over fixed": part(saved, highest=1.0, margin=0.05, wanted="no less"),
        "linear over fixed": part(linear, highest=1 - float(ends["fixed"].mean()), margin=SUCCESS, decides=False),
    }


def details(found: Outcomes) -> dict[str, Any]:
    """Ends and first halves."""
    half = found.each(first_half)
    return {
        "seeds": found.seeds,
        "updates": found.testbed.iterations,
        "budgets": [FIRST, LAST],
        "learning rates": rates_told(found),
        "success and tokens before": found["fixed"].each(lambda run: run[0]).mean(0).tolist(),
        COST: float((half["success alone"] - half["fixed"]).mean()),
        "success in the first half": summary(half),
        "success at the end": summary(found.each(success)),
        "tokens at the end": summary(found.each(tokens)),
        "worth under the last budget": summary(found.each(worth)),
    }


CLAIM = Comparison(
    handle="curriculumgrpo-budget",
    sentence="A token budget that falls over training ends with higher accuracy than one that is fixed at its last "
    "value, in as many tokens or fewer (Hammoud et al. 2025, abstract)",
    effect="success at the end, falling minus fixed; share of tokens saved over fixed (no less than 0.05 below)",
    testbed=PaidSequences(task=Budgets(), iterations=600),
    conditions={
        "falling": budgeted(start=FIRST),
        "fixed": budgeted(start=LAST),
        "falling, linear": budgeted(start=FIRST, schedule="linear"),
        "success alone": Paid("grpo", {"kl_coef": 0.0}, rewards="outcome"),
    },
    ours="falling",
    baselines=("fixed",),
    seeds=40,
    tuning=Tuning(worth, (0.01, 0.03, 0.1, 0.3), 3),
    premise=Premise("A tight budget from the start costs success meanwhile", (COST,), lambda cost: cost > 0.05),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
