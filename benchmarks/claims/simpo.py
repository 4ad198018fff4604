"""Is the mean log-probability a better reward to learn preferences with than the log-ratio to a reference?

``simpo`` is the catalogue's; ``dpo`` is its ``pacs`` on groups of two, a preferred completion and the other:
cross-entropy between a label and the difference of beta times the summed log-ratios, -log sigmoid(s_w - s_l) to the
letter. Either has the best of nine settings, three learning rates times three betas (DPO) or betas and margins from the
paper's range (SimPO), by its true win rate against the base on tuning seeds. The claim has two parts and the effect is
the smaller: SimPO's true win rate against DPO less one half; and by how many sentences DPO's completions grow more than
SimPO's. ``details`` has the same with a judge who does not mind length, and all that was tried.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ..statistics import Floats
from ..testbeds.preferences import Judged, Preferences, win_rate
from ..testbeds.sequences import SequenceMethod, Sequences
from .claim import Comparison, Found, Premise, Tuning
from .effects import summary, weakest

TASK, DUEL = Preferences(), "simpo's win rate against dpo"
SIMPO = tuple(SequenceMethod("simpo", {"beta": b, "margin": m}) for b, m in ((2.0, 0.5), (2.0, 1.6), (10.0, 5.0)))
DPO = tuple(SequenceMethod("pacs", {"beta": beta}) for beta in (0.03, 0.1, 0.3))
Run = tuple[Judged, Judged]
Outcomes = Found[SequenceMethod, Run]


def against_base(run: Run) -> float:
    """The true win rate against the policy it began as."""
    return win_rate(run[1].quality, run[0].quality)


def measured(found: Outcomes) -> dict[str, Floats]:
    """Everything that is told of one judge, ``[seeds]`` each."""
    simpo, dpo = found["simpo"].runs, found["dpo"].runs
    duels = [win_rate(ours[1].quality, theirs[1].quality) for ours, theirs in zip(simpo, dpo, strict=True)]
    told: dict[str, Floats] = {DUEL: np.array(duels)}
    policies = {"base": [(before, before) for before, _ in simpo], "simpo": simpo, "dpo": dpo}
    for name, runs in policies.items():
        told[f"win rate against the base, {name}"] = np.array([against_base(run) for run in runs])
        told[f"sentences, {name}"] = np.array([after.sentences for _, after in runs])
        told[f"held-out pairs ranked right, {name}"] = np.array([after.ranked for _, after in runs])
    return told


def parts(found: Outcomes) -> dict[str, Floats]:
    """What must be above 0 for the claim to hold."""
    of = measured(found)
    return {
        "simpo's win rate against dpo minus 1/2": of[DUEL] - 0.5,
        "sentences, dpo minus simpo": of["sentences, dpo"] - of["sentences, simpo"],
    }


def details(found: Outcomes) -> dict[str, Any]:
    """Parts, both judges, and all settings."""
    bed, tuning = found.testbed, found.claim.tuning
    fair = found.rerun(found.rates, most=found.seeds, testbed=replace(bed, task=replace(bed.task, favour=0.0)))
    forms = tuning.variants if tuning else {}
    tried: dict[str, dict[str, float]] = {name: {} for name in forms}
    for (name, rate, i), scores in found.tried.items():
        tried[name][f"{dict(forms[name][i].params)}, rate {rate}"] = float(np.mean(scores))
    chosen = {name: {"learning rate": of.rate, **of.condition.params} for name, of in found.outcomes.items()}
    return {
        "seeds": found.seeds,
        "updates": bed.iterations,
        "settings tried, by win rate against the base": tried,
        "chosen": chosen,
        "tuning seeds": min(found.seeds, tuning.seeds if tuning else 0),
        "parts": summary(parts(found)),
        f"a judge who favours length by {bed.task.favour} a sentence": summary(measured(found)),
        "a judge who does not": summary(measured(fair)),
    }


CLAIM = Comparison(
    handle="simpo",
    sentence="With the mean log-probability as reward and a margin, preference optimisation beats DPO without making "
    "answers much longer (Meng et al. 2024, abstract)",
    effect="the smaller of: SimPO's true win rate against DPO minus 1/2; sentences by which DPO's answers grow more",
    testbed=Sequences(task=TASK, iterations=TASK.iterations, every=TASK.iterations),
    conditions={"simpo": SIMPO[0], "dpo": DPO[0]},
    ours="simpo",
    baselines=("dpo",),
    seeds=20,
    tuning=Tuning(against_base, (0.03, 0.1, 0.3), 3, variants={"simpo": SIMPO, "dpo": DPO}),
    premise=Premise(
        "The judge's favour makes completions grow", (f"a judge who favours length by {TASK.favour} a sentence",)
    ),
    estimate=lambda found: weakest(parts(found)),
    details=details,
)
measure = CLAIM.measure
