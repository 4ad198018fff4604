import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.sapo import CLAIM, COST, FRESH, METHODS, details
from tiltyard.benchmarks.testbeds.answer_tree import AnswerTree
from tiltyard.benchmarks.testbeds.course import Course
from tiltyard.benchmarks.testbeds.tree_diagnostics import others_gradient


def test_one_token_far_off_shuts_gspo_out_and_leaves_sapo_the_others() -> None:
    # A completion's ratio is 2 ** (1 / 4) = 1.19, beyond 1.0004 but not beyond 1.2, where the surrogate grows with it.
    found = {name: others_gradient(CLAIM.conditions[name]) for name in METHODS}
    assert found == {
        "sapo": pytest.approx(1),
        "grpo": pytest.approx(1),
        "gspo": 0,
        "gspo, bounds 0.2": pytest.approx(2**0.25),
    }


@pytest.mark.parametrize(("end", "expected"), [(0.29, True), (0.31, False)])
def test_a_collapse_by_hand(end: float, expected: bool) -> None:
    success = np.array([[math.nan, 0.1], [math.nan, 0.4], [math.nan, end]])  # three quarters of the peak are 0.3
    assert Course(np.arange(3), success, np.zeros((3, 2)), trained=1).collapses == expected


@pytest.mark.parametrize(("cost", "holds"), [(0.019, False), (0.021, True)])
def test_the_premise_is_that_staleness_costs_success(cost: float, holds: bool) -> None:
    assert (CLAIM.premise.missing({COST: {"estimate": cost}}) == "") == holds


def test_what_staleness_costs_by_hand() -> None:
    def course(success: float) -> Course:  # held-out success stays what it is
        return Course(np.array([0, 1]), np.full((2, 2), success), np.zeros((2, 2)), trained=1)

    ends = {"sapo": 0.5, "grpo": 0.3, "gspo": 0.3, "gspo, bounds 0.2": 0.3, FRESH: 0.4}
    claim = replace(CLAIM, testbed=AnswerTree(depth=1, branching=2, iterations=1, every=1, trained=8, held_out=2))
    outcomes: Any = {
        name: Outcome(claim.conditions[name], 0.1, [course(end + 0.01 * i) for i in range(3)])
        for name, end in ends.items()
    }
    told = details(Found(claim, claim.testbed, outcomes, {}, range(3)))
    assert told[COST]["estimate"] == pytest.approx(0.1)
    assert told["tasks that collapse"] == dict.fromkeys(ends, 0)
