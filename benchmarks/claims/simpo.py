"""Is the mean log-probability a better reward to learn preferences with than the log-ratio to a reference?

``simpo`` is the catalogue's; ``dpo`` is its ``pacs`` on groups of two, a preferred completion and the other:
cross-entropy between a label and the difference of beta times the summed log-ratios, -log sigmoid(s_w - s_l) to the
letter. Either has the best of nine settings, three learning rates times three betas (DPO) or betas and margins from the
paper's range (SimPO), by its true win rate against the base on tuning seeds. The claim has two parts:
SimPO's true win rate against DPO less one half; and by how many sentences DPO's completions grow more than
SimPO's. ``details`` has the same with a judge who does not mind length, and all that was tried.
"""

from typing import Any

from ..statistics import Floats
from ..testbeds.preferences import FAVOUR, PREFERENCES, Run, against_base, duels, told_of
from ..testbeds.sequences import SequenceMethod
from ..verdicts import Part
from .claim import Comparison, Found, Premise, Tuning
from .effects import SUCCESS, part, rates_told, summary, tried_told

DUEL, FAVOURS = "simpo's win rate against dpo", f"a judge who favours length by {FAVOUR} a sentence"
SIMPO = tuple(SequenceMethod("simpo", {"beta": b, "margin": m}) for b, m in ((2.0, 0.5), (2.0, 1.6), (10.0, 5.0)))
DPO = tuple(SequenceMethod("pacs", {"beta": beta}) for beta in (0.03, 0.1, 0.3))


def measured(found: Found[SequenceMethod, Run]) -> dict[str, Floats]:
    """Everything that is told of one judge, ``[seeds]`` each."""
    simpo, dpo = found["simpo"].runs, found["dpo"].runs
    base = [(before, before) for before, _ in simpo]
    return {DUEL: duels(simpo, dpo), **told_of("base", base), **told_of("simpo", simpo), **told_of("dpo", dpo)}


def parts(found: Found[SequenceMethod, Run]) -> dict[str, Part]:
    """SimPO wins more often than not, and writes less."""
    of = measured(found)
    return {
        "simpo's win rate against dpo minus 1/2": part(of[DUEL] - 0.5, highest=0.5, margin=SUCCESS),
        "sentences, dpo minus simpo": part(of["sentences, dpo"] - of["sentences, simpo"], margin=0.1),
    }


def details(found: Found[SequenceMethod, Run]) -> dict[str, Any]:
    """Parts, both judges, and all settings."""
    fair = found.rerun(found.rates, most=found.seeds, testbed=found.testbed.with_task(favour=0.0))
    return {
        "seeds": found.seeds,
        "updates": found.testbed.iterations,
        "settings tried, by win rate against the base": tried_told(found),
        "chosen": {name: {"learning rate": of.rate, **of.condition.params} for name, of in found.outcomes.items()},
        "tuning seeds": rates_told(found)["tuning seeds"],
        FAVOURS: summary(measured(found)),
        "a judge who does not": summary(measured(fair)),
    }


CLAIM = Comparison(
    handle="simpo",
    sentence="With the mean log-probability as reward and a margin, preference optimisation beats DPO without making "
    "completions much longer (Meng et al. 2024, abstract)",
    effect="SimPO's true win rate against DPO minus 1/2; sentences by which DPO's grow more",
    testbed=PREFERENCES,
    conditions={"simpo": SIMPO[0], "dpo": DPO[0]},
    ours="simpo",
    baselines=("dpo",),
    seeds=20,
    tuning=Tuning(against_base, (0.03, 0.1, 0.3), 3, variants={"simpo": SIMPO, "dpo": DPO}),
    premise=Premise("The judge's favour makes completions grow", (FAVOURS,)),
    parts=parts,
    details=details,
    remark="DPO's beta is the least that was tried, so that it may be better still.",
)
measure = CLAIM.measure
