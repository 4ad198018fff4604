from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims import w_reinforce_nsr as claim
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.testbeds.course import Course

CLAIM, BED = claim.CLAIM, claim.CLAIM.testbed


def test_gains_and_parts_by_hand() -> None:
    # One held-out problem, solved 1 time in 2 before and 3 in 4 after: pass@2 rises from 0.75 to 0.9375.
    nsr = Course(np.array([0, 1]), np.array([[0.5], [0.75]]), np.zeros((2, 1)), trained=0)
    psr = Course(np.array([0, 1]), np.array([[0.01], [0.005]]), np.zeros((2, 1)), trained=0)
    outcomes: Any = {name: Outcome(None, 0.1, [course] * 3) for name, course in {"nsr": nsr, "psr": psr}.items()}
    found = Found(CLAIM, BED, outcomes, {})
    up = claim.gains(found, "nsr")
    assert (up[1].tolist(), up[2].tolist()) == ([0.25] * 3, [0.1875] * 3)
    each = claim.effects(found)
    assert len(each) == 9 + 2
    assert each["PSR minus base at k = 1"][0] == pytest.approx(-0.005)
    assert each["base minus PSR at k = 256"][0] == pytest.approx(0.995**256 - 0.99**256)  # 0.277 - 0.076
    parts = claim.parts(found)
    assert parts["NSR minus base at k = 2"].highest == pytest.approx(0.25)  # 1 - 0.75
    assert parts["base minus PSR at k = 256"].highest == pytest.approx(1 - 0.5**256)


@pytest.mark.parametrize(("solved", "holds"), [(0.91, False), (0.89, True)])
def test_the_premise_is_room_at_the_largest_k(solved: float, holds: bool) -> None:
    assert (CLAIM.premise.missing({claim.BEFORE: {claim.LARGEST: solved}}) == "") == holds


def test_each_kind_learns_from_its_own_completions_alone() -> None:
    course = {name: BED.run(CLAIM.conditions[name], 0.03, 1000) for name in ("nsr", "psr")}
    gain = {
        name: one.success[-1, : one.trained].mean() - one.success[0, : one.trained].mean()
        for name, one in course.items()
    }
    assert min(gain.values()) > 0.2
    assert course["nsr"].entropy[-1].mean() > course["psr"].entropy[-1].mean() + 0.2
