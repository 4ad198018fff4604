import math

import numpy as np
import pytest

from tiltyard.benchmarks.claims import comparisons, sapo
from tiltyard.benchmarks.claims.laboratory import Course, Tree


def test_one_token_far_off_shuts_gspo_out_and_leaves_sapo_the_others() -> None:
    # The answer's ratio is 2 ** (1 / 4) = 1.19, beyond 1.0004 but not beyond 1.2, where the surrogate grows with it.
    assert sapo.others_gradient("sapo") == pytest.approx(1)
    assert sapo.others_gradient("grpo") == pytest.approx(1)
    assert sapo.others_gradient("gspo") == 0
    assert sapo.others_gradient("gspo, bounds 0.2") == pytest.approx(2**0.25)


@pytest.mark.parametrize(("end", "expected"), [(0.29, True), (0.31, False)])
def test_a_collapse_by_hand(end: float, expected: bool) -> None:
    success = np.array([[math.nan, 0.1], [math.nan, 0.4], [math.nan, end]])  # three quarters of the peak are 0.3
    assert sapo.collapsed(Course(np.arange(3), success, np.zeros((3, 2)), trained=1)) == expected


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sapo, "ITERATIONS", 10)
    monkeypatch.setattr(sapo, "TREE", Tree(2, 3))
    monkeypatch.setattr(comparisons, "best_rates", lambda score, arms, seeds, grid: dict.fromkeys(arms, 0.03))
    found = sapo.measure(seeds=3)
    means = {name: one["estimate"] for name, one in found.details["held-out success, mean over training"].items()}
    assert means.keys() == sapo.ARMS.keys()
    assert found.effect.estimate == pytest.approx(means["sapo"] - max(means[name] for name in sapo.RIVALS))
