"""Does the greedy completion's reward do for a baseline what PPO's critic does?

Every method gets 32 problems an iteration and one completion of each, as the paper does, for 80 iterations of one
gradient step; ReMax's greedy completion of each comes on top. PPO's critic is linear in the policy's features, and PPO
may choose how fast it learns: each of two rates is a condition, and a part of the claim.
REINFORCE with the batch's mean as a baseline is there to compare. "No loss" is read as no more than a hundredth of
success lost. ``details`` holds the exact variance of one completion's gradient under each
baseline over that with none, and what the real trainer holds and takes for ReMax and PPO on Countdown.
"""

from typing import Any

from ..testbeds.answer_tree import AnswerTree, TreeMethod
from ..testbeds.course import Course
from ..testbeds.trainer_costs import costs
from ..testbeds.tree_diagnostics import variances_of
from .claim import Comparison, Found, Premise
from .effects import averages, held_out_success, leads, mean_held_out, summary, tree_report

WATCHED = 4
VARIANCE = "variance of the gradient over that without a baseline, mean of worlds"
PPO = {f"ppo, critic's rate {rate:g}": TreeMethod("ppo", settings={"critic_rate": rate}) for rate in (0.03, 0.1)}


def details(found: Found[TreeMethod, Course]) -> dict[str, Any]:
    """Leads, variances and costs."""
    bed, ours, tasks = found.testbed, found["remax"], found.seed_list[:WATCHED]
    before, after = zip(*(variances_of(bed, ours.condition, ours.rate, seed) for seed in tasks), strict=True)
    return {
        "lead of ReMax over": summary(found.minus(mean_held_out, ("reinforce",))),
        **tree_report(found),
        VARIANCE: averages({"before": before, "after": after}),
        **costs(("remax", "ppo"), iterations=max(1, bed.iterations // 20), problems=bed.prompts),
    }


CLAIM = Comparison(
    handle="remax",
    sentence="REINFORCE with the greedy completion's reward as a baseline loses nothing in performance against PPO at "
    "about half its memory and time (Li et al. 2023, abstract)",
    effect="held-out success, mean over training, of ReMax minus that of PPO with either of its critics",
    testbed=AnswerTree(iterations=80, prompts=32, group=1),
    conditions={"remax": TreeMethod("remax"), "reinforce": TreeMethod("reinforce"), **PPO},
    ours="remax",
    baselines=tuple(PPO),
    seeds=20,
    tuning=held_out_success(),
    premise=Premise("Both baselines lower the variance of the gradient", (VARIANCE, "before")),
    parts=lambda found: leads(found, mean_held_out, margin=0.01, wanted="no less"),
    details=details,
    remark="Rewards are 0 or 1, so that a greedy completion's reward says little of a problem; the paper's reward "
    "model is continuous. In the first measurement ReMax's rate was the largest that was tried.",
)
measure = CLAIM.measure
