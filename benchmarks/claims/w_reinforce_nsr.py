"""What do incorrect completions alone, and correct ones alone, do to pass@k?

Four of the 256 completions of a problem are correct, and pass@k is exact for k up to 256. NSR learns from incorrect
completions alone, PSR from correct ones alone, W-REINFORCE from both at a tenth for correct ones; GRPO (no KL penalty)
is there to compare. Whether correct ones teach or only sharpen depends on how much one problem says about another. With
64 problems to learn from and 24 features little is said, as where a pretrained model knows what it knows: the effect is
measured there. With 256 and 6 features training finds the teacher out; ``details`` has that.

The claim has eleven parts: NSR above the base policy at every k, PSR above it at k = 1, and PSR below it at
the largest k. That negative gradients spread mass in proportion is arithmetic that the objective's own test holds.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.answer_tree import AnswerTree
from ..testbeds.course import Course
from ..testbeds.testbed import Method, method
from .claim import Comparison, Found, Premise
from .effects import held_out_success, part, report, summary

KS = tuple(2**i for i in range(9))
KINDS: dict[str, dict[str, Any]] = {"little": {"trained": 64, "width": 24}, "much": {"trained": 256, "width": 6}}


def gains(found: Found[Method, Course], name: str) -> dict[int, Floats]:
    """Held-out pass@k after training minus before, ``[seeds]`` for each k."""
    return {k: np.array([run.pass_at(k) - run.pass_at(k, 0) for run in found[name].runs]) for k in KS}


def effects(found: Found[Method, Course]) -> dict[str, Floats]:
    """What must be above 0 for the claim to hold."""
    nsr, psr = gains(found, "nsr"), gains(found, "psr")
    above = {f"NSR minus base at k = {k}": gain for k, gain in nsr.items()}
    return above | {"PSR minus base at k = 1": psr[1], f"base minus PSR at k = {KS[-1]}": -psr[KS[-1]]}


def of_kind(found: Found[Method, Course]) -> dict[str, Any]:
    """What is told of problems that say little, or much, about each other."""
    gained = {name: gains(found, name) for name in found.outcomes}
    before = {k: np.mean([run.pass_at(k, 0) for run in found["nsr"].runs]) for k in KS}
    return {
        "effects": summary(effects(found)),
        "pass@k before": {f"k = {k}": float(mean) for k, mean in before.items()},
        "pass@k gained": {name: summary({f"k = {k}": gain for k, gain in of.items()}) for name, of in gained.items()},
        "pass@k of NSR minus PSR": summary({f"k = {k}": gained["nsr"][k] - gained["psr"][k] for k in KS}),
        "entropy of an answer before, nats": float(
            found["nsr"].each(lambda c: c.entropy[0, c.trained :].mean()).mean()
        ),
        **report(found),
    }


def details(found: Found[Method, Course]) -> dict[str, Any]:
    """Both kinds of tasks."""
    much = found.claim.compare(seeds=found.seed_list, testbed=replace(found.testbed, **KINDS["much"]))
    told = {
        f"where problems say {kind} about each other": of_kind(f) for kind, f in zip(KINDS, (found, much), strict=True)
    }
    return {"learning rates tried": found.grid, **told}


CLAIM = Comparison(
    handle="w-reinforce-nsr",
    sentence="Training on incorrect completions alone raises pass@k over the base model for all k up to 256, training "
    "on correct ones alone raises pass@1 and lowers pass@k at large k (Zhu et al. 2025, abstract and section 3)",
    effect="pass@k of NSR minus the base's, over k; pass@1 of PSR minus the base's; pass@256 of the base minus PSR's",
    testbed=AnswerTree(correct=4, batch_size=32, **KINDS["little"]),
    conditions={
        "nsr": method("w-reinforce-nsr", positive_weight=0.0),
        "psr": method("w-reinforce-nsr", positive_weight=1.0, negative_weight=0.0),
        "w-reinforce": method("w-reinforce-nsr"),
        "grpo": method("grpo", kl_coef=0.0),
    },
    ours="nsr",
    baselines=("psr", "grpo"),
    seeds=16,
    tuning=held_out_success(),
    premise=Premise(
        "pass@k before training leaves room at every k", ("where problems say little about each other", "pass@k before")
    ),
    parts=lambda found: {name: part(of, margin=0.01) for name, of in effects(found).items()},
    details=details,
    remark="A problem has 256 completions here, so that 256 samples nearly exhaust them: pass@k at large k has little "
    "room.",
)
measure = CLAIM.measure
