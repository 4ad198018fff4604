"""Does a factor on the reward of correct answers save tool calls without costing answers?

Problems that take no call, one or two, and a policy that begins with more, whatever the problem. All conditions are
the catalogue's ``grpo`` without KL penalty: on success alone, with the reward ``otc-po`` in its group form, and in the
form that takes no call to be needed. Each has the learning rate with which it answers most at the end on tuning seeds,
so that none is chosen for how little it calls.

The claim's parts are the calls saved at the end, as a share of those made without the factor; tool productivity, the
logarithm of the ratio of correct answers a call; and success minus that without, of which it may lose two points
("comparable"). What the other form comes to is told beside them. Calls never make an answer wrong here unless they are
used up, so that success alone asks for no thrift: the premise is that it leaves more calls than problems take.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.paid_sequences import Paid, PaidSequences
from ..testbeds.tool_calls import CALL, ToolCalls, calls, productivity, success
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import SUCCESS, part, rates_told, summary

NO_KL, OTHER, NEEDLESS = {"kl_coef": 0.0}, "otc-ppo's factor", "share of calls not needed after training on success"
Outcomes = Found[Paid, Floats]


def parts(found: Outcomes) -> dict[str, Part]:
    """Calls, productivity and success of each form of the factor against success alone."""
    made, answered, good = (found.each(value) for value in (calls, success, productivity))
    told: dict[str, Part] = {}
    for name, decides in (("otc-grpo", True), (OTHER, False)):
        saved, ratio = 1 - made[name] / made["grpo"], np.log(good[name] / good["grpo"])
        lost, how = answered[name] - answered["grpo"], {"wanted": "no less", "decides": decides}
        told |= {
            f"{name}: share of calls saved": part(saved, highest=1.0, margin=0.05, decides=decides),
            f"{name}: productivity": part(ratio, margin=0.05, log=True, decides=decides),
            f"{name}: success minus without": part(lost, margin=SUCCESS, **how),
        }
    return told


def details(found: Outcomes) -> dict[str, Any]:
    """Ends, and what problems take."""
    fewest = np.array([found.testbed.task.fewest_calls(seed) for seed in found.seed_list])
    return {
        "seeds": found.seeds,
        "updates": found.testbed.iterations,
        "learning rates": rates_told(found),
        "success and calls before": found["grpo"].each(lambda run: run[0]).mean(0).tolist(),
        "calls that problems take": float(fewest.mean()),
        NEEDLESS: float((1 - fewest / found["grpo"].each(calls)).mean()),
        "success at the end": summary(found.each(success)),
        "calls at the end": summary(found.each(calls)),
        "correct answers a call": summary(found.each(productivity)),
    }


CLAIM = Comparison(
    handle="otc-po",
    sentence="Multiplying the reward of correct answers by a tool-efficiency factor saves tool calls, and makes them "
    "more productive, at comparable accuracy (Wang et al. 2025, abstract)",
    effect="share of calls saved; correct answers a call over that without; success minus that without (no less than "
    "0.02 below)",
    testbed=PaidSequences(task=ToolCalls(), iterations=300),
    conditions={
        "grpo": Paid("grpo", NO_KL),
        "otc-grpo": Paid("grpo", NO_KL, rewards={"name": "otc-po", "call": CALL}),
        OTHER: Paid("grpo", NO_KL, rewards={"name": "otc-po", "call": CALL, "variant": "ppo"}),
    },
    ours="otc-grpo",
    baselines=("grpo",),
    seeds=40,
    tuning=Tuning(success, (0.03, 0.1, 0.3), 3),
    premise=Premise("Training on success alone leaves calls that problems do not take", (NEEDLESS,), lambda s: s > 0.2),
    parts=parts,
    details=details,
)
measure = CLAIM.measure
