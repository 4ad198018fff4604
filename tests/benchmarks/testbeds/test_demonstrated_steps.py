"""Demonstrations whose sub-goals are known, and the measures of what is found in them."""

import os
from dataclasses import dataclass

import numpy as np
import pytest

from tiltyard.benchmarks.claims.perceptualreward import CLAIM, CONDITIONS, OURS, PIXELS, PRINTED, details, parts
from tiltyard.benchmarks.testbeds.demonstrated_steps import (
    DemonstratedSteps,
    Method,
    Scores,
    boundary_error,
    correlation,
    demonstrations,
    overlap,
    random_overlap,
)

TRUE = np.array([0, 0, 0, 1])


def test_measures_by_hand() -> None:
    """Two of four frames of step 1 found one early: 2/3 of the first step's frames overlap, and 1/2 of the second's."""
    found = np.array([0, 0, 1, 1])
    assert overlap(found, TRUE) == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert overlap(TRUE, TRUE) == 1.0
    assert boundary_error(found, TRUE) == 0.25
    # A random boundary is at 1, 2 or 3 alike: (1/3 + 1/3) / 2, 7/12 as above, and 1.
    drawn = random_overlap(TRUE, np.random.default_rng(0), 4000)
    assert drawn == pytest.approx((1 / 3 + 7 / 12 + 1) / 3, abs=0.02)
    assert correlation([1.0, 2.0, 9.0], [0, 5, 6]) == 1.0
    assert correlation([1.0, 1.0, 1.0], [0, 5, 6]) == 0.0


@pytest.mark.parametrize(("task", "last"), [("open door", 1), ("open drawer", 1), ("relocation", 2)])
def test_demonstrations_reach_every_sub_goal_in_order(task: str, last: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "glfw")  # which would need a display
    one, two = demonstrations(task, 2, 1000)
    assert os.environ["MUJOCO_GL"] == "glfw"
    for shown in (one, two):
        assert shown.frames.shape == (len(shown.steps), 64, 64, 3)
        assert shown.steps[0] == 0
        assert sorted(set(shown.steps.tolist())) == list(range(last + 1))
        assert (np.diff(shown.steps) >= 0).all()
        assert correlation(shown.hand_made, np.arange(len(shown.steps))) > 0.9
        assert (shown.frames[0] != shown.frames[-1]).any()
    assert one.frames.shape != two.frames.shape or (one.frames != two.frames).any()


@dataclass(frozen=True, kw_only=True)
class Invented(DemonstratedSteps):
    """Overlaps and agreements that are known, best with 32 features."""

    def run(self, condition: Method, rate: float, seed: int) -> Scores:
        """By condition."""
        noise = 0.001 * np.random.default_rng([seed, condition.by_length]).random()
        worse = 0.1 * (rate != 32) + 0.3 * (not condition.by_length) + 0.05 * (condition.shortest != 0.1)
        return Scores(0.8 - worse + noise, 0.5, 0.6, 0.05 + noise, 0.7 + noise, 0.9 - worse + noise, 0.99)


def test_parts_are_of_the_best_form() -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented())
    assert {name: one.rate for name, one in found.outcomes.items()} == dict.fromkeys(CONDITIONS, 32)
    means = {name: one.sample.mean for name, one in parts(found).items()}
    assert list(means.values()) == pytest.approx([0.3, 0.05, 0.7, 0.9, 0.2, 0.0], abs=0.002)
    told = details(found)
    assert told["chosen forms"] == {name: {"shortest": 0.1} for name in (OURS, PRINTED, PIXELS)}
    assert CLAIM.premise.missing(told) == ""
    assert told["scores"]["overlap"][PRINTED]["estimate"] == pytest.approx(0.5, abs=0.002)
