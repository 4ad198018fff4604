"""Does a targeted attack on observations make a victim do what a teacher prefers, where other attacks do not?

The victim hovers at the origin; a teacher, who only compares segments, prefers it a quarter of a unit to one side. All
attackers move each number observed by at most 0.1. Conditions: RAT; RAT with equal weights of all states; SAC that is
paid for the victim's losses, as attacks on the return are; uniform noise. All have the same steps, learning rates and
trials; noise has nothing to learn. Each is tuned by what it trains for: the attack on the return by how far it takes
the victim from the origin, the others by how near they hold it to the teacher's target.
"""

from typing import Any

from ..testbeds.deceived import Attacker, Deceived, DeceivedMass
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import leads, rates_told, summary

OURS, EQUAL, RETURN, NOISE = "RAT", "RAT, equal weights", "attack on the return", "noise"
SHOWN = "distance of the victim from the origin without an attack, and by the attack on its return"


def held(run: Deceived) -> float:
    """1 where the teacher wants the victim, 0 as far from there as the origin is."""
    return run.held


def sought(run: Deceived) -> float:
    """What the attacker trains for."""
    return run.sought


def parts(found: Found[Attacker, Deceived]) -> dict[str, Part]:
    """Over each rival."""
    return leads(found, held, margin=0.05)


def details(found: Found[Attacker, Deceived]) -> dict[str, Any]:
    """Where victims are held."""
    return {
        "seeds": found.seeds,
        "steps": found.testbed.steps,
        "epsilon": found.testbed.epsilon,
        "learning rates": rates_told(found),
        SHOWN: [
            float(found[NOISE].each(lambda run: run.free).mean()),
            float(found[RETURN].each(lambda run: run.distance).mean()),
        ],
        "held at the target": summary(found.each(held)),
        "distance from the origin": summary(found.each(lambda run: run.distance)),
    }


CLAIM = Comparison(
    handle="rat",
    sentence="A targeted attack by an intention policy learnt from preferences, an adversary and a weighting of states "
    "is more effective at inducing specific behaviours than attacks that reduce the reward (Bai et al. 2024, abstract)",
    effect="how near the victim is held to where the teacher wants it (1: there, 0: as far off as the origin), under "
    "RAT minus under each other attack",
    testbed=DeceivedMass(),
    conditions={
        OURS: Attacker("rat"),
        EQUAL: Attacker("rat", {"weighting": False}),
        RETURN: Attacker("return"),
        NOISE: Attacker("noise"),
    },
    ours=OURS,
    baselines=(EQUAL, RETURN, NOISE),
    seeds=range(100, 140),
    tuning=Tuning(sought, (1e-4, 3e-4, 1e-3, 3e-3, 1e-2), 2),
    premise=Premise(
        "The victim hovers, and an attack on its return moves it, so that both it and the attacks have learnt",
        (SHOWN,),
        lambda of: of[0] < 0.05 and of[1] > 0.15,
    ),
    parts=parts,
    details=details,
    remark="A point mass in place of robots; the attack on the return is plain SAC, without the constraint of SA-RL or "
    "the direction search of PA-AD, and knows nothing of the target. Twelve other seeds left the lead over equal "
    "weights undecided, -0.065 [-0.139, 0.009]; these are as many as that scatter asks for.",
)
measure = CLAIM.measure
