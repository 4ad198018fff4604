"""Do two switches, the batch's deviation and a mean over tokens, make plain clipped policy gradients better than GRPO?

Completions have one to four tokens, and problems range from hopeless to nearly solved. The whole grid of deviations
(none, the group's, the batch's) and means (over completions, over tokens) is run, each cell by the registry's own
functions, and DAPO's objective (group, tokens, a wider upper clip; no dynamic sampling). GRPO is the group's deviation
and the mean over completions, without a KL penalty; Lite PPO the batch's and the mean over tokens. ``details`` has by
how much each deviation blows up the advantages of problems that the base policy nearly solves: their root mean square
over that of problems it solves about half the time, where 1 would be no distinction at all.
"""

from typing import Any

import numpy as np

from ..testbeds.answer_tree import AnswerTree
from ..testbeds.course import Course
from ..testbeds.testbed import Method, method
from ..testbeds.tree_diagnostics import inflation
from .claim import Comparison, Found, Premise
from .effects import course_leads, held_out_success, tree_report

OVER_TOKENS = {"aggregate": method("lite-ppo")}
OVER_COMPLETIONS = {"aggregate": method("grpo")}
UNSCALED, BY_GROUP = {"scale": False, "kl_coef": 0.0}, {"kl_coef": 0.0}
BLOWN_UP = "advantages of nearly solved problems over those of half-solved ones, by deviation"


def details(found: Found[Method, Course]) -> dict[str, Any]:
    """Leads, all cells, and :func:`~tiltyard.benchmarks.testbeds.tree_diagnostics.inflation`."""
    cells = {"none": "none, tokens", "group": "group, tokens", "batch": "lite-ppo"}
    tasks = found.seed_list[:10]
    return {
        **tree_report(found),
        BLOWN_UP: {
            by: float(np.mean([inflation(found.testbed, found[cell].condition, seed) for seed in tasks]))
            for by, cell in cells.items()
        },
    }


CLAIM = Comparison(
    handle="lite-ppo",
    sentence="Vanilla PPO loss with advantages by the group's mean and the batch's deviation and a mean over tokens "
    "beats GRPO and DAPO (Liu et al. 2025, abstract and section 5)",
    effect="held-out success, mean over training, of Lite PPO minus that of GRPO, and of DAPO",
    testbed=AnswerTree(stops=True, sureness=(1.0, 6.0), batch_size=32),
    conditions={
        "none, answers": Method("grpo", UNSCALED, OVER_COMPLETIONS),
        "none, tokens": Method("grpo", UNSCALED, OVER_TOKENS),
        "grpo": method("grpo", kl_coef=0.0),
        "group, tokens": Method("grpo", BY_GROUP, OVER_TOKENS),
        "batch, answers": Method("lite-ppo", parts=OVER_COMPLETIONS),
        "lite-ppo": method("lite-ppo"),
        "dapo": method("dapo"),
    },
    ours="lite-ppo",
    baselines=("grpo", "dapo"),
    seeds=20,
    tuning=held_out_success(),
    premise=Premise(
        "The group's deviation blows up the advantages of nearly solved problems",
        (BLOWN_UP,),
        lambda by: by["group"] > by["none"],
    ),
    parts=course_leads,
    details=details,
)
measure = CLAIM.measure
