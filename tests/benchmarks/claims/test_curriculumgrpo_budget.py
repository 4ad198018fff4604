from dataclasses import replace
from typing import Any

import pytest

from tiltyard.benchmarks.claims.curriculumgrpo_budget import CLAIM, COST

BED: Any = CLAIM.testbed


def test_falling_and_fixed_budgets_end_alike_and_begin_otherwise() -> None:
    batch = BED.task.learner(1000).rollouts()
    bed = replace(BED, iterations=2)
    first, last = {}, {}
    for name in ("falling", "fixed"):
        pay = bed.payer(CLAIM.conditions[name].rewards)
        first[name], last[name] = (pay(batch, None).reward.tolist() for _ in range(2))
    assert first["falling"] != first["fixed"]
    assert first["fixed"] == last["fixed"]
    assert last["falling"] != last["fixed"]  # half of the way: two of three decays are over
    end = bed.payer(CLAIM.conditions["falling"].rewards)
    for _ in range(3):
        done = end(batch, None).reward.tolist()
    assert done == pytest.approx(last["fixed"])


def test_a_tight_budget_makes_completions_shorter_at_once() -> None:
    bed = replace(BED, iterations=60, every=60)
    falling, fixed = (bed.run(CLAIM.conditions[name], 0.1, 10000)[-1, 1] for name in ("falling", "fixed"))
    assert fixed < falling


@pytest.mark.parametrize(("cost", "holds"), [(0.04, False), (0.06, True)])
def test_the_premise_is_that_a_tight_budget_costs_success_meanwhile(cost: float, holds: bool) -> None:
    assert (CLAIM.premise.missing({COST: cost}) == "") == holds
