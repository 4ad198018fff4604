"""Does DPO learn to rank the pairs it is trained on, and which of the reference's mistakes does it set right?

Pairs come from the base policy, which is the reference, with Bradley-Terry preferences that are known, so that the
ranking accuracy of the objective's optimum is exact. DPO is the catalogue's ``pacs`` on groups of two, with the best of
nine settings by its true win rate. The claim's parts: ranking accuracy stays below the idealised one; fewer than half
of the reference's mistakes are set right; and small ones are set right more often than large ones.
"""

from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.preference_ranks import Outcome, RankedPairs, told_of_pairs
from ..testbeds.sequences import SequenceMethod, Sequences
from .claim import Comparison, Found, Premise, Tuning
from .effects import SUCCESS, part, summary

TASK = RankedPairs()
DPO = tuple(SequenceMethod("pacs", {"beta": beta}) for beta in (0.1, 0.3, 1.0))
SFT = tuple(SequenceMethod("w-reinforce-nsr", {"positive_weight": 1.0, "negative_weight": 0.0}) for _ in DPO)


def measured(found: Found[SequenceMethod, Outcome]) -> dict[str, Floats]:
    """Everything that is told, ``[seeds]`` each."""
    beta = float(found["dpo"].condition.params["beta"])
    told = [told_of_pairs(run, beta) for run in found["dpo"].runs]
    return {name: np.array([one[name] for one in told]) for name in told[0]}


def parts(found: Found[SequenceMethod, Outcome]) -> dict[str, Any]:
    """The three parts of the claim."""
    of = measured(found)
    gap = of["idealised ranking accuracy"] - of["ranking accuracy"]
    sides = of["small mistakes set right"] - of["large mistakes set right"]
    return {
        "idealised minus observed ranking accuracy": part(gap, margin=SUCCESS, highest=1.0),
        "1/2 minus share of mistakes set right": part(0.5 - of["mistakes set right"], margin=SUCCESS, highest=0.5),
        "small minus large mistakes set right": part(sides, margin=SUCCESS, highest=1.0),
    }


CLAIM = Comparison(
    handle="preference-ranking-accuracy",
    sentence="Preference-tuned models rank below their idealised accuracy, and DPO rarely flips the reference's "
    "ranking mistakes, large ones least (Chen et al. 2024, abstract and section 4)",
    effect="idealised minus observed ranking accuracy; share of mistakes that DPO sets right, by size",
    testbed=Sequences(task=TASK, iterations=TASK.iterations, every=TASK.iterations),
    conditions={"dpo": DPO[0], "sft": SFT[0]},
    ours="dpo",
    baselines=("sft",),
    seeds=20,
    tuning=Tuning(lambda run: run.win_rate, (0.01, 0.03, 0.1), 3, variants={"dpo": DPO, "sft": SFT}),
    premise=Premise(
        "DPO learns: its true win rate against the reference is at least 0.55",
        ("win rate",),
        lambda rate: rate >= 0.55,
    ),
    parts=parts,
    details=lambda found: {
        "win rate": float(measured(found)["win rate against the reference"].mean()),
        "beta": found["dpo"].condition.params["beta"],
        **summary(measured(found)),
    },
    remark="Completions of at most twelve sentences and a policy that is linear in a prompt's features.",
)
measure = CLAIM.measure
