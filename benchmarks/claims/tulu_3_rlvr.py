"""Is a policy that is paid by a verifier alone more often right than one that is paid a reward model's scores as well?

Both are trained by PPO with a KL penalty. The reward model learnt the preferences of a judge who likes correctness and,
as much, something else; a quarter of its 2,048 pairs are labelled wrongly. Each condition has the penalty and the rate
with which it is right most often. Beside it, a judge of correctness alone and one of the other alone.
"""

from dataclasses import replace
from typing import Any

from ..testbeds.proxy_rewards import Optimised, Paid
from ..testbeds.verified_rewards import BOTH, VERIFIER, VerifiedRewards
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, part, rates_told, summary
from .proxies import MARGIN, RATES, end, tried

GAIN = "success after training minus before, by the verifier alone"
COEFS = (0.0, 0.03, 0.1, 0.3, 1.0)
JUDGES = {"a judge of correctness alone": 0.0, "a judge of something else alone": 1.0}


def forms(reward: str) -> tuple[Paid, ...]:
    """PPO on a reward, with each of the KL penalties."""
    return tuple(Paid("tulu-3-rlvr", reward=reward, coef=coef) for coef in COEFS)


def parts(found: Found[Paid, Optimised]) -> dict[str, Part]:
    """More often right after training; beside it, with other judges."""
    alone = found[VERIFIER]
    return {
        **leads(found, end, margin=MARGIN),
        **{
            f"over scores of {name}": part(alone.each(end) - other.each(end), margin=MARGIN, decides=False)
            for name, other in judged(found).items()
        },
    }


def judged(found: Found[Paid, Optimised]) -> dict[str, Any]:
    """The verifier and scores, where another judge has compared the pairs."""
    rate = {BOTH: found[BOTH].rate}
    beds = {name: replace(found.testbed, taste=taste) for name, taste in JUDGES.items()}
    return {name: found.rerun(rate, most=found.seeds, testbed=bed)[BOTH] for name, bed in beds.items()}


def details(found: Found[Paid, Optimised]) -> dict[str, Any]:
    """What was chosen, successes, the judge's liking and divergences."""
    return {
        "seeds": found.seeds,
        "tuned": rates_told(found),
        "KL penalty": {name: one.condition.coef for name, one in found.outcomes.items()},
        "success in tuning": tried(found),
        "success before": summary(found.each(lambda run: run.before)),
        "success at the end": summary(found.each(end)),
        "success at the end with scores of": summary({name: one.each(end) for name, one in judged(found).items()}),
        "the judge's liking at the end": summary(found.each(lambda run: run.paid[-1])),
        "KL to the base policy at the end, nats": summary(found.each(lambda run: run.divergence[-1])),
        GAIN: float(found[VERIFIER].each(lambda run: run.end - run.before).mean()),
    }


CLAIM = Comparison(
    handle="tulu-3-rlvr",
    sentence="Reinforcement learning on verifiable rewards alone does better than on their sum with a reward model's "
    "scores, which add noise (Lambert et al. 2024, section 6)",
    effect="success on held-out problems with the verifier minus that with the verifier and scores",
    testbed=VerifiedRewards(),
    conditions={VERIFIER: forms(VERIFIER)[0], BOTH: forms(BOTH)[0]},
    ours=VERIFIER,
    baselines=(BOTH,),
    seeds=40,
    tuning=Tuning(end, RATES, seeds=12, variants={VERIFIER: forms(VERIFIER), BOTH: forms(BOTH)}),
    premise=Premise("The verifier teaches", (GAIN,), lambda gain: gain > 0.05),
    parts=parts,
    details=details,
    remark="Alpha is 10 and scores are added as they are, as in the authors' code; within a problem they have a "
    "standard deviation of about 1.4 under the base policy. How the critic begins is not tried.",
)
measure = CLAIM.measure
