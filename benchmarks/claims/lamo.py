"""Do weights pretrained on language make a Decision Transformer better, most where data are few and rewards sparse?

Conditions learn offline from the same walks, few of which reach a goal: LaMo; Decision Transformer, the same network
from random weights that all learn; LaMo without its loss on text; LaMo on random weights, which only low-rank updates
change; IQL; and behaviour cloning. All are tuned over the same learning rates by success with few walks, which decides.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...agents.models.english import english_model, held_out_loss
from ..testbeds.few_walks import FewWalks, Learner, Walked
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, part, rates_told, summary

OURS, PLAIN, IQL, CLONING = "LaMo", "Decision Transformer", "IQL", "behaviour cloning"
TEXTLESS, RANDOM = "LaMo without text", "LaMo on random weights"
FEW, MANY = 0, -1
SHOWN = "success of Decision Transformer with many walks and with few, and of cloning and of the data with many"


def success(size: int, checkpoint: int = -1) -> Callable[[Walked], float]:
    """Of an agent that learnt from the ``size``-th data."""
    return lambda run: float(run.success[size, checkpoint])


def parts(found: Found[Learner, Walked]) -> dict[str, Part]:
    """Leads with few walks; and by how much that over Decision Transformer exceeds the one with many."""
    few, many = (found.minus(success(size), (PLAIN,))[PLAIN] for size in (FEW, MANY))
    least, most = (float(found[PLAIN].each(success(size)).mean()) for size in (FEW, MANY))
    return {
        **leads(found, success(FEW), margin=0.05),
        **leads(found, success(FEW), (TEXTLESS,), margin=0.05, decides=False),
        f"lead over {PLAIN} with few less that with many": part(few - many, margin=0.05, highest=1 - least + most),
    }


def details(found: Found[Learner, Walked]) -> dict[str, Any]:
    """Success by data and updates, and what is left of the language model."""
    bed, plain = found.testbed, found[PLAIN]
    ends = {
        f"success after {count} episodes, {share:.0%} of updates": summary(found.each(success(i, k)))
        for i, count in enumerate(bed.sizes)
        for k, share in enumerate(np.arange(1, bed.checkpoints + 1) / bed.checkpoints)
    }
    behaviour = plain.each(lambda run: run.behaviour).mean(axis=0).tolist()
    shown = ((PLAIN, MANY), (PLAIN, FEW), (CLONING, MANY))
    return {
        "seeds": found.seeds,
        "updates": {name: bed.budget(outcome.condition).updates for name, outcome in found.outcomes.items()},
        "learning rates": rates_told(found),
        "share of the data's episodes that reach the goal": behaviour,
        SHOWN: [*(float(found[name].each(success(i)).mean()) for name, i in shown), behaviour[MANY]],
        **ends,
        "perplexity of held-out text, a character": {
            "before": float(np.exp(held_out_loss(english_model()))),
            **{
                name: dict(zip(map(str, bed.sizes), found[name].each(lambda run: run.perplexity).mean(0), strict=True))
                for name in (OURS, TEXTLESS)
            },
        },
    }


CLAIM = Comparison(
    handle="lamo",
    sentence="Decision Transformers do better from weights pretrained on language, most on sparse-reward tasks and "
    "with few data: there LaMo exceeds Decision Transformer and value-based offline RL (Shi et al. 2024, abstract)",
    effect="share of test episodes that reach the goal after learning from few walks, LaMo minus each rival; and by "
    "how much its lead over Decision Transformer with few walks exceeds that with many",
    testbed=FewWalks(),
    conditions={
        OURS: Learner("lamo"),
        PLAIN: Learner("decision-transformer"),
        TEXTLESS: Learner("lamo", {"language_weight": 0.0}),
        RANDOM: Learner("lamo", {"language_model": None, "language_weight": 0.0}),
        IQL: Learner("iql", {"cosine_schedule": False}, "steps"),
        CLONING: Learner("bc", kind="steps"),
    },
    ours=OURS,
    baselines=(PLAIN, RANDOM, IQL),
    seeds=12,
    tuning=Tuning(success(FEW), (1e-3, 3e-3, 1e-2), 2),
    premise=Premise(
        "Decision Transformer learns from many walks, beyond cloning and the data's own walks, and has room left "
        "with few",
        (SHOWN,),
        lambda of: of[0] > max(of[2:]) + 0.2 and of[1] < of[0] - 0.1,
    ),
    parts=parts,
    details=details,
    remark="A language model of 100,000 weights and characters in place of GPT-2, and a point in a room in place of "
    "kitchens and locomotion. LaMo differs from Decision Transformer by its perceptrons and low-rank updates too: what "
    "the pretrained weights alone do, its lead over the same on random weights tells.",
)
measure = CLAIM.measure
