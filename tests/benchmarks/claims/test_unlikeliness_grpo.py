import numpy as np
import pytest

from tiltyard.benchmarks.claims.unlikeliness_grpo import BIAS, CLAIM, PLACES, curve, mean_pass, unlikely
from tiltyard.benchmarks.testbeds.course import Course


def course(**at_end: float) -> Course:
    """One problem held out, with a success of 0 and then of 1/2."""
    success = np.array([[0.9, 0.0], [0.9, 0.5]])
    return Course(np.array([0, 1]), success, np.zeros((2, 2)), trained=1, at_end=at_end)


def test_pass_at_k_by_hand() -> None:
    assert curve(course())[:2] == pytest.approx([0.5, 1 - 0.5**4])
    assert curve(course(), 0) == [0.0] * 5
    assert mean_pass(course()) == pytest.approx((0.5 + 0.9375 + (1 - 0.5**16) + 2) / 5, abs=1e-6)


def test_the_less_likely_half_is_the_second_one() -> None:
    assert unlikely(course(**{place: float(i >= 4) for i, place in enumerate(PLACES)})) == 1.0


def test_a_lead_over_grpo_is_a_part_and_the_bias_is_told() -> None:
    found = CLAIM.smallest().measure()
    assert {"pass@16 over grpo", "pass@256 over grpo"} < found.parts.keys()
    rises = found.details["share that rises, by place before"]["grpo"]
    assert found.details[BIAS] == pytest.approx(rises[0] - rises[-1], abs=1e-4)
