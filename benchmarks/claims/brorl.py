"""Do more rollouts a prompt let all correct tokens gain, and not only those that happened to be sampled?

A softmax over 2,000 tokens, a tenth of them correct, takes 100 policy-gradient steps with 4, 16, 64 or 256 rollouts
each. The effect is the share of correct tokens that end less likely than they began: with few rollouts minus with many.
Steps are equal, rollouts are not; the mass of all correct tokens, which ``details`` has, rises about as much with all.
"""

from typing import Any

from ..testbeds.rollout_size import Mass, RolloutSize
from .claim import Comparison, Found, Premise
from .effects import part, summary

SIZES = (4, 16, 64, 256)
MARGIN = 0.02


def parts(found: Found[int, Mass]) -> dict[str, Any]:
    """Fewer tokens lose with each size than with a quarter of it."""
    losing = found.each(lambda run: run.losing)
    return {
        f"losing tokens, N = {few} minus N = {many}": part(
            losing[str(few)] - losing[str(many)], margin=MARGIN, highest=float(losing[str(few)].mean())
        )
        for few, many in zip(SIZES, SIZES[1:], strict=False)
    }


def details(found: Found[int, Mass]) -> dict[str, Any]:
    """Shares, and the mass at the end."""
    losing = found.each(lambda run: run.losing)
    return {
        "correct tokens that lose": summary(losing),
        "correct tokens that lose with 4 rollouts": float(losing["4"].mean()),
        "mass of correct tokens before": float(found["4"].each(lambda run: run.before.sum()).mean()),
        "mass of correct tokens at the end": summary(found.each(lambda run: run.after.sum())),
    }


CLAIM = Comparison(
    handle="brorl",
    sentence="As the number of rollouts per example grows, the effect of unsampled terms diminishes; a sufficiently "
    "large one makes the mass of all correct tokens expand (Hu et al. 2025, abstract)",
    effect="share of correct tokens that end less likely than before: with fewer rollouts a step minus with more",
    testbed=RolloutSize(),
    conditions={str(size): size for size in SIZES},
    ours="256",
    baselines=("4", "16", "64"),
    seeds=30,
    premise=Premise(
        "Correct tokens lose at times: a tenth of them at least with 4 rollouts",
        ("correct tokens that lose with 4 rollouts",),
        lambda share: share >= 0.1,
    ),
    parts=parts,
    details=details,
    remark="A simulation of the paper's kind; whether a saturated language model goes on learning is not tested.",
)
measure = CLAIM.measure
