from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.hl_gauss import CLAIM, lead
from tiltyard.benchmarks.testbeds.values import Values, Walk, walk


def test_values_by_hand() -> None:
    made = Walk(np.zeros((4, 1, 3)), np.array([[1.0], [2.0], [4.0]]))
    states, values = made.values(2, gamma=0.5)
    assert values.tolist() == [1 + 0.5 * (2 + 0.5 * 4), 2 + 0.5 * 4]
    assert states.shape == (2, 3)


def test_the_policy_swings_up() -> None:
    seen = walk(40, 200, 3)
    assert seen.observations.shape == (201, 40, 3)
    assert seen.rewards[-20:].mean() > -0.1
    assert seen.rewards[:20].mean() < -2


def test_the_lead_is_over_the_better_squared_error() -> None:
    # Two seeds, two levels. Plain is better at the first level, scaled at the second: 5 - 4 and 7 - 6; 3 - 2 and 1 - 2.
    errors = {
        "squared error": [[5, 9], [7, 9]],
        "squared error, scaled": [[9, 3], [9, 1]],
        "two-hot": [[0, 0], [0, 0]],
        "HL-Gauss": [[4, 2], [6, 2]],
    }
    outcomes: Any = {name: Outcome(None, 0.0, runs) for name, runs in errors.items()}
    assert lead(Found(CLAIM, CLAIM.testbed, outcomes, {})).tolist() == [[1, 1], [1, -1]]


def test_every_head_learns_values() -> None:
    bed = replace(Values(), updates=300)
    data, fresh = walk(40, 200, 0), walk(40, 200, 1)
    states, truth = fresh.values(100)
    for head in CLAIM.conditions.values():
        values = bed.learn(data, head, 1e-3, 0)(states)
        assert np.corrcoef(values, truth)[0, 1] > 0.5


def test_the_effect_is_the_mean_over_noisy_levels() -> None:
    found = CLAIM.smallest().measure()
    by_level = found.details["lead of HL-Gauss by noise"]
    lead = (by_level["2"]["estimate"] + by_level["8"]["estimate"]) / 2
    assert any(mean == pytest.approx(lead) for mean in found.means.values())


def test_rates_are_tuned_by_the_error_under_noise() -> None:
    assert CLAIM.tuning is not None
    assert CLAIM.tuning.score([90.0, 3.0, 5.0]) == -4.0
