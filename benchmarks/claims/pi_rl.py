"""Does PPO over denoising steps make a flow policy better that was cloned from few and poor demonstrations?

A policy that passes a post left or right is cloned from six noisy demonstrations, then fine-tuned by either variant.
"""

from typing import Any

import numpy as np

from ..testbeds.detour import Learner, Tuned, WeakDemonstrations
from .claim import Comparison, Found, Premise, Tuning
from .effects import SUCCESS, part, rates_told, summary

SDE, NOISE = "Flow-SDE", "Flow-Noise"
CLONED = "least and largest mean success of the cloned policies"
CONDITIONS = {SDE: Learner(variant="flow-sde"), NOISE: Learner(variant="flow-noise")}


def after(run: Tuned) -> float:
    """Success of the fine-tuned policy."""
    return run.after


def before(run: Tuned) -> float:
    """Success of the cloned policy."""
    return run.before


def parts(found: Found[Learner, Tuned]) -> dict[str, Any]:
    """More success than the cloned policy, in either variant; and one variant against the other beside it."""
    gains = {
        f"{name} over the cloned policy": part(
            outcome.each(after) - outcome.each(before), margin=SUCCESS, highest=1 - float(outcome.each(before).mean())
        )
        for name, outcome in found.outcomes.items()
    }
    highest = 1 - float(found[NOISE].each(after).mean())
    lead = part(found.minus(after)[NOISE], margin=0.05, highest=highest, decides=False)
    return {**gains, f"{SDE} over {NOISE}": lead}


def details(found: Found[Learner, Tuned]) -> dict[str, Any]:
    """Success before, on the way and after, and what was tried."""
    courses = {name: np.array([run.successes for run in outcome.runs]) for name, outcome in found.outcomes.items()}
    means, last = [float(of[:, 0].mean()) for of in courses.values()], found.testbed.moments
    return {
        "seeds": found.seeds,
        "environment steps, demonstrations": [found.testbed.steps, found.testbed.demonstrations],
        "learning rates": rates_told(found),
        CLONED: [min(means), max(means)],
        **{
            f"success after {i} of {last} parts": summary({name: of[:, i] for name, of in courses.items()})
            for i in range(last + 1)
        },
    }


CLAIM = Comparison(
    handle="pi-rl",
    sentence="Fine-tuning by Flow-Noise and by Flow-SDE raises the success of flow-matching policies that were cloned "
    "from few demonstrations, such as pi_0's on LIBERO from 57.6% to 97.6% (Chen et al. 2025, abstract)",
    effect="success on test problems after fine-tuning minus that of the cloned policy that it began as",
    testbed=WeakDemonstrations(),
    conditions=CONDITIONS,
    ours=SDE,
    baselines=(NOISE,),
    seeds=10,
    tuning=Tuning(after, (0.0003, 0.001, 0.003), seeds=2),
    premise=Premise(
        "Cloned policies solve some problems and leave room: means from 10% to 80%",
        (CLONED,),
        lambda ends: ends[0] >= 0.1 and ends[1] <= 0.8,
    ),
    parts=parts,
    details=details,
    remark="A point in the plane and networks of two layers of 64, where the paper has models of billions of weights "
    "that see images. The task was made finite (walls, a limit of 20 steps that ends the episode) after trials on "
    "tuning seeds, in which points without walls drifted away and success fell in either variant.",
)
measure = CLAIM.measure
