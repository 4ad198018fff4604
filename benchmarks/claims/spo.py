"""Does one completion a problem, against a remembered success rate, teach more than groups that often agree?

Most problems are nearly solved or nearly hopeless, where a group of eight mostly agrees and GRPO learns nothing. All
conditions get 64 completions an iteration, and make two passes of one gradient step on them: GRPO (no KL penalty) 8
problems with 8 each, SPO 64 problems with one. SPO draws problems by sqrt(v (1 - v)) + 0.05, as the paper does, v being
the tracker's estimate of success; a condition that draws them alike is there too, and one that also has a constant in
place of the estimates, which has as many different problems a batch and no tracker: what decides is the lead over it.
The tracker is the trainer's own: unlike the paper's it begins with no measured success. That SPO waits for no group to
finish is not simulated.
"""

from dataclasses import replace
from typing import Any

from ..testbeds.answer_tree import AnswerTree, TreeMethod
from ..testbeds.course import Course
from ..testbeds.tree_diagnostics import LARGE, large_advantages
from ..testbeds.tree_loops import prioritised, untracked
from ..verdicts import Part
from .claim import Comparison, Found, Premise
from .effects import SUCCESS, averages, held_out_success, leads, mean_held_out, part, tree_report

WATCHED, CONSTANT = 5, "spo, a constant"
ONE_EACH = {"prompts": 64, "group": 1}
SHARES = f"share of answers with an advantage beyond {LARGE}"


def parts(found: Found[TreeMethod, Course]) -> dict[str, Part]:
    """What the estimates add, as a baseline and to draw problems by; beside it, SPO's lead over GRPO's groups."""
    alike, constant = found["spo, problems alike"].each(mean_held_out), found[CONSTANT].each(mean_held_out)
    room = 1 - float(constant.mean())
    return {
        "estimates over a constant": part(alike - constant, highest=room, margin=SUCCESS),
        "estimates and draws by them over a constant": leads(found, mean_held_out, (CONSTANT,))[f"over {CONSTANT}"],
        "64 problems over 8 groups": replace(leads(found, mean_held_out)["over grpo"], decides=False),
    }


def details(found: Found[TreeMethod, Course]) -> dict[str, Any]:
    """Leads, and how many completions teach where."""
    tasks = found.seed_list[:WATCHED]
    shares = {
        name: [large_advantages(found.testbed, found[name].condition, found[name].rate, seed) for seed in tasks]
        for name in ("spo", "grpo")
    }
    return {**tree_report(found), SHARES: averages(shares)}


CLAIM = Comparison(
    handle="spo",
    sentence="One completion a problem against a persistent estimate of its success learns better than GRPO's groups, "
    "as no completions are wasted on groups that agree (Xu and Ding 2025, abstract)",
    effect="held-out success, mean over training, of SPO minus that with a constant in place of its estimates; beside "
    "it, minus GRPO's, with equally many completions",
    testbed=AnswerTree(skill=1.5, sureness=(1.0, 6.0), epochs=2),
    conditions={
        "spo": TreeMethod("spo", settings=ONE_EACH, iteration=prioritised),
        "spo, problems alike": TreeMethod("spo", settings=ONE_EACH),
        CONSTANT: TreeMethod("spo", settings=ONE_EACH, iteration=untracked),
        "grpo": TreeMethod("grpo", {"kl_coef": 0.0}),
    },
    ours="spo",
    baselines=("grpo",),
    seeds=20,
    tuning=held_out_success(),
    premise=Premise(
        "Few of GRPO's completions teach where problems are nearly solved or hopeless",
        (SHARES, "grpo", "all"),
        lambda s: s < 0.5,
    ),
    parts=parts,
    details=details,
    remark="SPO's lead over GRPO is that of 64 different problems a batch over 8: with a constant in place of its "
    "estimates it leads as far.",
)
measure = CLAIM.measure
