"""Does the log-sigmoid-centred reward gain more true reward than the score that it is made of?

The experiment is that of ``par``, with another condition: the logarithm of the sigmoid of the score above the 0.85
quantile of ten completions of the base policy.
"""

from typing import Any

from ..testbeds.proxy_rewards import Optimised, Paid, ProxyRewards
from ..verdicts import Part
from .claim import Comparison, Found
from .proxies import OPEN, OVEROPTIMISED, WIDER, at_both, forms, told, tuning

ALONE = "the score"


def parts(found: Found[Paid, Optimised]) -> dict[str, Part]:
    """A higher true reward, with a penalty and without, soon and in the end."""
    return at_both(found, (ALONE, OPEN))


def details(found: Found[Paid, Optimised]) -> dict[str, Any]:
    """All that is told."""
    return told(found)


CLAIM = Comparison(
    handle="lsc",
    sentence="Reinforcement learning on log-sigmoid-centred rewards does better than on the rewards themselves, as it "
    "mitigates over-optimisation (Wang et al. 2024, abstract)",
    effect="true reward with LSC minus that with the score of the reward model, after half of the training and all",
    testbed=ProxyRewards(),
    conditions={"lsc": forms("lsc")[0], ALONE: forms("model")[0], OPEN: Paid("rloo")},
    ours="lsc",
    baselines=(ALONE, OPEN),
    seeds=40,
    tuning=tuning(
        seeds=12,
        **{"lsc": forms("lsc", WIDER), ALONE: forms("model", WIDER), OPEN: forms("model", (0.0,) * len(WIDER))},
    ),
    premise=OVEROPTIMISED,
    parts=parts,
    details=details,
    remark="One reward; the paper's second claim, that sums of such rewards are a conjunction, is not tried. An "
    "earlier measurement on the same seeds, tuned on three seeds over fewer penalties, had the score ahead, "
    "by 0.015 after half of the training and 0.026 at its end: the verdict hangs on what tuning chooses.",
)
measure = CLAIM.measure
