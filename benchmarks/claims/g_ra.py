"""Do rewards of steps lead astray when they add up, and no more when they wait for success?

Proofs whose steps are scored, and a step, filler, that is scored well and leads nowhere. All conditions are the
catalogue's ``grpo`` without KL penalty, on the sum of an episode's rewards: ``gated``, the reward ``g-ra``, which
counts scores of steps only in proofs that succeed; ``direct``, its other mode, which counts them all; and ``outcome``,
success alone. Each has the learning rate with which it succeeds most at the end on tuning seeds, from a grid that
reaches down to where ``direct`` has hardly begun to change.

The claim's parts are success at the end of ``gated`` minus that of ``direct``, and minus that before training, which
it shall not degrade but raise. What gated rewards add to success alone is told beside them. ``details`` also has all
conditions at the largest learning rate of the grid, where what each is paid for is learnt whole.
"""

from typing import Any

from ..statistics import Floats
from ..testbeds.farmed_proofs import FarmedProofs, gained, success
from ..testbeds.paid_sequences import Paid, PaidSequences
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import SUCCESS, leads, part, rates_told, summary

NO_KL, HASTY_SEEDS, MISLED = {"kl_coef": 0.0}, 5, "success lost by adding all up, at the largest learning rate"
Outcomes = Found[Paid, Floats]


def parts(found: Outcomes) -> dict[str, Part]:
    """More than direct accumulation, and more than before."""
    rose, before = found["gated"].each(gained), found["gated"].each(lambda run: run[0, 0])
    beside = leads(found, success, ("outcome",), decides=False)
    return (
        leads(found, success, ("direct",))
        | {"over the policy that it began with": part(rose, highest=1 - float(before.mean()), margin=SUCCESS)}
        | beside
    )


def details(found: Outcomes) -> dict[str, Any]:
    """Ends, and what haste leads to."""
    hasty = found.rerun(dict.fromkeys(found.outcomes, found.grid[-1]), most=HASTY_SEEDS)
    return {
        "seeds": found.seeds,
        "updates": found.testbed.iterations,
        "learning rates": rates_told(found),
        "success before": float(found["gated"].each(lambda run: run[0, 0]).mean()),
        "success at the end": summary(found.each(success)),
        "steps at the end": summary(found.each(lambda run: run[-1, 1])),
        "seeds at the largest learning rate": hasty.seeds,
        "success at the end, at the largest learning rate": summary(hasty.each(success)),
        "steps at the end, at the largest learning rate": summary(hasty.each(lambda run: run[-1, 1])),
        MISLED: float(-hasty["direct"].each(gained).mean()),
    }


CLAIM = Comparison(
    handle="g-ra",
    sentence="Immediate rewards that count only where the long-term reward meets a threshold raise completion, where "
    "adding them up degrades the policy (Sun et al. 2025, abstract)",
    effect="success at the end with gated rewards minus that with all rewards added up, and minus that before training",
    testbed=PaidSequences(task=FarmedProofs(), iterations=100),
    conditions={
        "gated": Paid("grpo", NO_KL, rewards="g-ra"),
        "direct": Paid("grpo", NO_KL, rewards={"name": "g-ra", "mode": "direct"}),
        "outcome": Paid("grpo", NO_KL, rewards="outcome"),
    },
    ours="gated",
    baselines=("direct",),
    seeds=40,
    tuning=Tuning(success, (0.003, 0.01, 0.03), 3),
    premise=Premise("Rewards of steps can be farmed: added up, they cost success", (MISLED,), lambda lost: lost > 0.05),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
