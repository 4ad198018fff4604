from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.otc_po import CLAIM, NEEDLESS, OTHER, parts


def found(**ends: tuple[float, float]) -> Any:
    """Runs that end with these successes and calls, three of each condition."""
    outcomes: Any = {
        name: Outcome(CLAIM.conditions[name], 0.1, [np.array([[0.2, 3.0], [s + i / 100, c]]) for i in range(3)])
        for name, (s, c) in ends.items()
    }
    return Found(CLAIM, CLAIM.testbed, outcomes, {}, range(3))


def test_parts_by_hand() -> None:
    told = parts(found(**{"grpo": (0.8, 2.0), "otc-grpo": (0.79, 1.0), OTHER: (0.6, 0.5)}))
    means = {name: part.sample.mean for name, part in told.items()}
    assert means["otc-grpo: share of calls saved"] == pytest.approx(0.5)
    assert means["otc-grpo: success minus without"] == pytest.approx(-0.01)
    assert np.exp(means["otc-grpo: productivity"]) == pytest.approx(2 * 0.80 / 0.81, abs=1e-3)
    assert [name for name, part in told.items() if part.decides] == [name for name in told if name[:8] == "otc-grpo"]


@pytest.mark.parametrize(("share", "holds"), [(0.19, False), (0.21, True)])
def test_the_premise_is_that_calls_are_left_which_no_problem_takes(share: float, holds: bool) -> None:
    assert (CLAIM.premise.missing({NEEDLESS: share}) == "") == holds


def test_calls_are_given_up_for_the_factor_alone() -> None:
    bed = replace(CLAIM.testbed, iterations=60, every=60)  # type: ignore[type-var]
    without, with_it = (bed.run(CLAIM.conditions[name], 0.1, 10000)[-1, 1] for name in ("grpo", "otc-grpo"))
    assert with_it < 0.8 * without
