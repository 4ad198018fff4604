"""Does credit from equal states teach what credit from whole episodes does not?

Errands of up to 80 moves, so that rewards come late, as in the paper's household tasks of up to 50 turns. The
conditions run through the catalogue: ``gigpo``; ``episodes alone``, ``gigpo`` with omega = 0; ``grpo``, as in its row
but for the KL penalty; and ``episodes alone, discounted``: GiGPO's steps are discounted, so that it learns to be quick
too, and this condition says how much of its lead that is. Each has two forms, with and without division by a group's
standard deviation (the paper has either), and is tuned over forms and rates with the same trials.

The score is success averaged over training, which is high for learning soon and well; each baseline is a part. Success
at the end is judged beside it. ``details`` also tell how much of a batch's gradient is signal on the tuning seeds.
"""

from typing import Any

from ..statistics import Floats
from ..testbeds.errands import GAMMA, Discounted, Errands, gigpo, mean_success, signal
from ..testbeds.sequences import SequenceMethod, Sequences
from ..verdicts import Part
from .claim import TUNING, Comparison, Found, Premise, Tuning
from .effects import leads, rates_told, summary, tried_told

BEFORE = "success before training"
FORMS = {
    "gigpo": [gigpo(1.0, scale=scale) for scale in (False, True)],
    "episodes alone": [gigpo(0.0, scale=scale) for scale in (False, True)],
    "grpo": [SequenceMethod("grpo", {"kl_coef": 0.0, "scale": scale}) for scale in (False, True)],
    "episodes alone, discounted": [gigpo(0.0, scale=scale, sees=Discounted(GAMMA)) for scale in (False, True)],
}


def last(run: Floats) -> float:
    """Success at the end."""
    return float(run[-1])


def parts(found: Found[SequenceMethod, Floats]) -> dict[str, Part]:
    """GiGPO minus each baseline: mean over training decides, the end is told."""
    ends = leads(found, last, decides=False)
    return leads(found, mean_success) | {f"{name}, at the end": part for name, part in ends.items()}


def details(found: Found[SequenceMethod, Floats]) -> dict[str, Any]:
    """Scores, tuning, and the signal in gradients."""
    task = found.testbed.task
    return {
        "seeds": found.seeds,
        "updates": found.testbed.iterations,
        "episodes an update": task.errands * task.group,
        "learning rates": rates_told(found),
        "success in tuning": tried_told(found),
        BEFORE: float(found["gigpo"].each(lambda run: float(run[0])).mean()),
        "success over training": summary(found.each(mean_success)),
        "success at the end": summary(found.each(last)),
        "cosine of two batches' gradients before training": {
            name: signal(task, outcome.condition, TUNING) for name, outcome in found.outcomes.items()
        },
    }


CLAIM = Comparison(
    handle="gigpo",
    sentence="Comparing actions taken in equal states within a group makes agents succeed more often than GRPO's "
    "credit for whole episodes, from the same rollouts (Feng et al. 2025, abstract)",
    effect="held-out success, mean over training, of GiGPO minus that of each with credit for episodes alone",
    testbed=Sequences(task=Errands(side=7, walls=8, moves=80)),
    conditions={name: forms[0] for name, forms in FORMS.items()},
    ours="gigpo",
    baselines=("episodes alone", "grpo", "episodes alone, discounted"),
    seeds=40,
    tuning=Tuning(mean_success, (0.01, 0.02, 0.04, 0.08), 6, variants=FORMS),
    premise=Premise("Untrained policies succeed now and then", (BEFORE,), lambda success: success > 0.02),
    parts=parts,
    details=details,
    remark="Errands of 30 moves were measured first (12 seeds, two tuning seeds): undecided against GRPO, and GiGPO "
    "had more trials than its baselines. The longer errands were chosen on tuning seeds 1000 and 1001, by how much "
    "signal gradients have and by ten trials.",
)
measure = CLAIM.measure
