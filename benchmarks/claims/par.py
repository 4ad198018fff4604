"""Does the probability of being preferred to a reference, paid in place of a score, resist over-optimisation?

Both rewards are of the same kind of reward model, of 2,048 pairs of which a quarter is labelled wrongly, both with a KL
penalty, and the score without one too; the true reward is exact. Each takes the penalty and the rate with which
it is best after half of the training; the other half shows what becomes of them.
"""

from typing import Any

from ..testbeds.proxy_rewards import Optimised, Paid, ProxyRewards
from ..verdicts import Part
from .claim import Comparison, Found
from .proxies import OPEN, OVEROPTIMISED, WIDER, at_both, forms, told, tuning

ALONE, LSC = "the score", "lsc"


def parts(found: Found[Paid, Optimised]) -> dict[str, Part]:
    """A higher true reward than the score's, with a penalty and without, soon and in the end; beside it LSC's."""
    return {**at_both(found, (ALONE, OPEN)), **at_both(found, (LSC,), decides=False)}


def details(found: Found[Paid, Optimised]) -> dict[str, Any]:
    """All that is told."""
    return told(found)


CLAIM = Comparison(
    handle="par",
    sentence="Paying the probability of being preferred to a reference mitigates reward hacking: a higher true reward, "
    "kept when training goes on (Fu et al. 2025, abstract)",
    effect="true reward with PAR minus that with the score of the reward model, after half of the training and all",
    testbed=ProxyRewards(),
    conditions={"par": forms("par")[0], ALONE: forms("model")[0], LSC: forms("lsc")[0], OPEN: Paid("rloo")},
    ours="par",
    baselines=(ALONE, OPEN),
    seeds=40,
    tuning=tuning(
        seeds=12,
        **{
            "par": forms("par", WIDER),
            ALONE: forms("model", WIDER),
            LSC: forms("lsc", WIDER),
            OPEN: forms("model", (0.0,) * len(WIDER)),
        },
    ),
    premise=OVEROPTIMISED,
    parts=parts,
    details=details,
    remark="References are one completion of the base policy, drawn for each batch. Two earlier measurements, one "
    "tuned on three seeds and one with these runs, did not compare with the score without a penalty, which is "
    "the better one after half of the training, and were supported; the first had PAR ahead of LSC by 0.017 "
    "and 0.022.",
)
measure = CLAIM.measure
