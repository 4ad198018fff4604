"""Wilson's interval against scipy's."""

import pytest
from scipy.stats import binomtest

from tiltyard.agents.binomial import wilson_interval


@pytest.mark.parametrize(("successes", "trials"), [(0, 1), (1, 1), (0, 20), (20, 20), (3, 7), (50, 100), (999, 1000)])
def test_it_is_scipys(successes: int, trials: int) -> None:
    found = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert wilson_interval(successes, trials) == pytest.approx((found.low, found.high), abs=1e-15)
