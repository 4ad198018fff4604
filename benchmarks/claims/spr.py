"""Does predicting its own latents help Q-learning from few steps of pixels?

A ball is to be caught in small pictures with dots that flicker. Conditions are one agent with parts left out, each
tuned over the same learning rates: SPR with augmented pictures; the same without the prediction loss, which is double,
dueling Q-learning with augmentation; that without augmentation too; and SPR without augmentation, whose targets come
from a slowly moving copy, told beside.

Scored is the share of test balls that are caught, mean over training, which is high for learning soon. Each of the two
baselines is a part. ``details`` also tell how alike latents of different pictures are, which are 1 where they collapse.
"""

from typing import Any

from ..testbeds.catching import CatchingGame, Caught, Learner
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, rates_told, summary

OURS, AUGMENTED, PLAIN = "SPR", "augmentation alone", "Q-learning alone"
SLOW, END = "SPR without augmentation", "share caught at the end"
_BARE = {"shift": 0, "intensity": 0.0}


def mean(run: Caught) -> float:
    """Share of balls caught, over training."""
    return run.mean


def parts(found: Found[Learner, Caught]) -> dict[str, Part]:
    """SPR minus both baselines; beside them minus SPR without augmentation."""
    return leads(found, mean) | leads(found, mean, (SLOW,), decides=False)


def details(found: Found[Learner, Caught]) -> dict[str, Any]:
    """Shares caught, rates, and how alike latents are."""
    return {
        "seeds": found.seeds,
        "steps": found.testbed.steps,
        "learning rates": rates_told(found),
        "share caught, mean over training": summary(found.each(mean)),
        END: {name: float(of.mean()) for name, of in found.each(lambda run: float(run.shares[-1])).items()},
        "mean share caught by part of training": {
            name: of.mean(axis=0).round(3).tolist() for name, of in found.each(lambda run: run.shares).items()
        },
        "cosine between latents of different pictures": summary(found.each(lambda run: run.alike)),
    }


CLAIM = Comparison(
    handle="spr",
    sentence="Predicting its own latents several steps ahead, with augmented observations, makes Q-learning from "
    "pixels more data-efficient than augmentation alone does, or neither (Schwarzer et al. 2020, abstract)",
    effect="share of balls caught, mean over 4,000 steps of training, of SPR minus that of Q-learning with "
    "augmentation and without",
    testbed=CatchingGame(),
    conditions={
        OURS: Learner(),
        AUGMENTED: Learner({"spr_weight": 0.0}),
        PLAIN: Learner({"spr_weight": 0.0, **_BARE}),
        SLOW: Learner(_BARE),
    },
    ours=OURS,
    baselines=(AUGMENTED, PLAIN),
    seeds=10,
    tuning=Tuning(mean, (5e-4, 1e-3, 2e-3, 4e-3), 2),
    premise=Premise(
        "Q-learning with augmentation learns: it ends above a half, where a paddle that stays catches a third",
        (END,),
        lambda ends: ends[AUGMENTED] > 0.5,
    ),
    parts=parts,
    details=details,
    remark="A game of ours stands for Atari, 4,000 steps for 100,000, one update a step for two, and double, dueling "
    "Q-learning with 5-step returns for Rainbow. The size of the picture, steps and length of returns were chosen on "
    "tuning seeds 1000 and 1001, where in a larger picture and 3,000 steps nobody learnt.",
)
measure = CLAIM.measure
