"""Does a policy gain true reward by a reward model that learnt from preferences, and lose it if it is pushed too far?

The reward model has 2,048 pairs of completions of the base policy, a quarter of them labelled wrongly. A policy with a
KL penalty, tuned, stands beside one without, at ten times its learning rate.
"""

from collections.abc import Mapping
from typing import Any

from ..testbeds.proxy_rewards import Optimised, Paid, ProxyRewards
from ..verdicts import Part
from .claim import Comparison, Found
from .effects import part, summary
from .proxies import COEFS, MARGIN, OPEN, OVEROPTIMISED, end, forms, half, told, tuning

RLHF = "with a KL penalty"
FASTER = 10.0


def parts(found: Found[Paid, Optimised]) -> dict[str, Part]:
    """The true reward rises over the base policy's; pushed further it falls, while the score rises."""
    free = pushed(found)
    ours, highest = found[RLHF], 1.0
    return {
        "over the base policy": part(
            ours.each(half) - ours.each(lambda run: run.before), margin=MARGIN, highest=highest
        ),
        "over one pushed further, in true reward": part(ours.each(half) - free["true"], margin=MARGIN, highest=highest),
        "of one pushed further, in its score": part(free["paid"] - ours.each(lambda run: _half(run.paid))),
    }


def pushed(found: Found[Paid, Optimised]) -> Mapping[str, Any]:
    """True reward and score at the end without a penalty, at ten times the learning rate."""
    again = found.rerun({OPEN: FASTER * found[OPEN].rate}, most=found.seeds)[OPEN]
    return {"true": again.each(end), "paid": again.each(lambda run: run.paid[-1])}


def details(found: Found[Paid, Optimised]) -> dict[str, Any]:
    """All that is told, and of the policy that is pushed further."""
    return {**told(found), "pushed further": summary(pushed(found))}


def _half(curve: Any) -> float:
    return float(curve[len(curve) // 2])


CLAIM = Comparison(
    handle="tldr-rlhf",
    sentence="Optimising a reward model that learnt from comparisons raises what is truly preferred over the "
    "supervised policy; over-optimising it lowers that (Stiennon et al. 2020, sections 4.1 and 4.3)",
    effect="true reward minus that of the base policy, and minus that of a policy pushed further without a penalty",
    testbed=ProxyRewards(),
    conditions={RLHF: forms("model")[0], OPEN: Paid("rloo")},
    ours=RLHF,
    baselines=(OPEN,),
    seeds=40,
    tuning=tuning(**{RLHF: forms("model"), OPEN: forms("model", (0.0,) * len(COEFS))}),
    premise=OVEROPTIMISED,
    parts=parts,
    details=details,
    remark="The base policy stands for the supervised one; preferences are of an exact judge whose labels are flipped.",
)
measure = CLAIM.measure
