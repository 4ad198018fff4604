import numpy as np
import pytest

from tiltyard.benchmarks.claims.reinforce_ada import AS_MANY, CLAIM, over_steps, uniform
from tiltyard.benchmarks.testbeds.course import Course


def test_steps_count_alike_and_groups_of_one_outcome_by_hand() -> None:
    # Problems trained on succeed half of the time or always: 2 / 16 and all of their groups of four are of one outcome.
    success = np.array([[0.5, 1.0, 0.2], [0.5, 1.0, 0.6]])
    course = Course(np.array([0, 1000]), success, np.zeros((2, 3)), trained=2)
    assert over_steps(course) == pytest.approx(0.4)
    assert uniform(course) == pytest.approx((0.125 + 1) / 2)


def test_sampling_in_rounds_takes_more_completions_and_leads_are_parts() -> None:
    found = CLAIM.smallest().measure()
    sampled = found.details["completions sampled"]
    assert sampled["grpo"] == 10 * 8 * 4
    assert sampled["balanced"] >= 10 * 8 * 8
    assert found.parts["over grpo at the end"].decides
    assert not found.parts[f"over {AS_MANY}"].decides
