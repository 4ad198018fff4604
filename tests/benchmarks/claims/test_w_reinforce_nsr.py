import numpy as np
import pytest

from tiltyard.benchmarks.claims import comparisons
from tiltyard.benchmarks.claims import w_reinforce_nsr as claim
from tiltyard.benchmarks.claims.laboratory import Arm, Course, Tree


def test_gains_and_parts_by_hand() -> None:
    # One held-out problem, solved 1 time in 2 before and 3 in 4 after: pass@2 rises from 0.75 to 0.9375.
    nsr = Course(np.array([0, 1]), np.array([[0.5], [0.75]]), np.zeros((2, 1)), trained=0)
    psr = Course(np.array([0, 1]), np.array([[0.01], [0.005]]), np.zeros((2, 1)), trained=0)
    up, down = claim.gains(Arm(0.1, [nsr])), claim.gains(Arm(0.1, [psr]))
    assert (up[1].tolist(), up[2].tolist()) == ([0.25], [0.1875])
    each = claim.parts(up, down)
    assert len(each) == 9 + 2
    assert each["PSR minus base at k = 1"].item() == pytest.approx(-0.005)
    assert each["base minus PSR at k = 256"].item() == pytest.approx(0.995**256 - 0.99**256)  # 0.277 - 0.076


def test_each_kind_learns_from_its_own_answers_alone() -> None:
    course = {arm: claim.run(arm, 0.03, 1000) for arm in ("nsr", "psr")}
    gain = {
        arm: one.success[-1, : one.trained].mean() - one.success[0, : one.trained].mean() for arm, one in course.items()
    }
    assert min(gain.values()) > 0.2
    assert course["nsr"].entropy[-1].mean() > course["psr"].entropy[-1].mean() + 0.2


def test_every_arm_is_measured_in_both_kinds_of_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim, "ITERATIONS", 10)
    monkeypatch.setattr(claim, "TREE", Tree(2, 3))
    monkeypatch.setattr(comparisons, "best_rates", lambda score, arms, seeds, grid: dict.fromkeys(arms, 0.03))
    found = claim.measure(seeds=3)
    little = found.details["where problems say little about each other"]
    assert found.effect.estimate == pytest.approx(min(part["estimate"] for part in little["parts"].values()))
    assert found.details["where problems say much about each other"]["pass@k gained"].keys() == claim.ARMS.keys()
