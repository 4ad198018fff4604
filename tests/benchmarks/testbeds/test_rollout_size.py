"""Rollout size: mass is a probability, it rises, and tokens that lose are counted."""

import numpy as np

from tiltyard.benchmarks.testbeds.rollout_size import Mass, RolloutSize


def test_losing_tokens_by_hand() -> None:
    assert Mass(np.array([0.1, 0.2, 0.1, 0.1]), np.array([0.05, 0.3, 0.1, 0.2])).losing == 0.25


def test_the_mass_begins_alike_and_rises() -> None:
    bed = RolloutSize(tokens=300, steps=60)
    few, many = bed.run(4, 1.0, 0), bed.run(256, 1.0, 0)
    assert np.array_equal(few.before, many.before)
    assert ((many.after > 0) & (many.after < 1)).all()
    assert many.after.sum() > many.before.sum()
    assert few.losing > 0
