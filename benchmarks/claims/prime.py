"""Do process rewards that are learnt from the same outcomes teach more than the outcomes alone?

All conditions are the catalogue's ``prime`` with its filter of problems, and train the same reward model: ``prime``
learns from process rewards and outcomes, ``outcome`` from outcomes alone, which is RLOO with PPO's clip. Each has two
forms and the same learning rates to choose from: process rewards weigh 1, as in the authors' script, or 0.3; and
outcomes' advantages are whitened, as there, or not. Completions are eight choices, one path of 256 being correct.

The claim's parts are held-out success, mean over training and at its end, over ``outcome``. The premise is that the
reward model knows something: how often it scores the correct completion of a problem above incorrect ones, on problems
held out.
"""

from typing import Any

from ..testbeds.answer_tree import AnswerTree, TreeMethod
from ..testbeds.course import Course
from ..testbeds.tree_components import filtered, ordered
from ..verdicts import Part
from .claim import GRID, Comparison, Found, Premise, Tuning
from .effects import end, leads, mean_held_out, summary, tree_report, tried_told

KNOWN, CHANCE = "incorrect completions that the reward model scores below the correct one", 0.5
LEAST = 0.6
"""Of them, so that the reward model can be said to know outcomes."""


def form(**params: Any) -> TreeMethod:
    """PRIME with its filter and other parameters."""
    keeps = {"name": "online-difficulty-filter", "low": 0.2, "high": 0.8}
    return TreeMethod("prime", params, iteration=filtered(keeps))


FORMS = {
    "prime": (form(), form(process_weight=0.3)),
    "outcome": (form(process_weight=0.0), form(process_weight=0.0, whiten=False)),
}


def parts(found: Found[TreeMethod, Course]) -> dict[str, Part]:
    """More success over training, and at its end."""
    values = {"mean over training": mean_held_out, "at the end": end}
    return {name: leads(found, value)["over outcome"] for name, value in values.items()}


def details(found: Found[TreeMethod, Course]) -> dict[str, Any]:
    """What was chosen, what was tried and what the reward model knows."""
    known = found.each(lambda course: course.at_end["ordered"])
    return {
        KNOWN: {
            "prime": float(known["prime"].mean()),
            "without process rewards": summary({"outcome": known["outcome"]}),
        },
        "forms": {name: dict(outcome.condition.params) for name, outcome in found.outcomes.items()},
        "success in tuning": tried_told(found),
        **tree_report(found),
    }


CLAIM = Comparison(
    handle="prime",
    sentence="Implicit process rewards that are updated online from outcomes, beside the outcomes, raise performance "
    "and the efficiency of samples over outcomes alone (Cui et al. 2025)",
    effect="held-out success, mean over training and at its end, minus that of outcomes alone",
    testbed=AnswerTree(depth=8, branching=2, skill=1.5, prompts=16, iterations=120, every=20, at_end=ordered),
    conditions={name: forms[0] for name, forms in FORMS.items()},
    ours="prime",
    baselines=("outcome",),
    seeds=40,
    tuning=Tuning(mean_held_out, GRID, 5, variants=FORMS),
    premise=Premise(
        f"The reward model scores at least {LEAST} of incorrect completions below the correct one, where chance is "
        f"{CHANCE}",
        (KNOWN, "prime"),
        lambda share: share >= LEAST,
    ),
    parts=parts,
    details=details,
    remark="Completions of eight tokens; the paper's have thousands, over which an outcome says less of each.",
)
measure = CLAIM.measure
