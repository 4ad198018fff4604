"""Tuning's noise in intervals: coverage and false differences by simulation, and what cannot be resampled."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import t as student

from tiltyard.benchmarks.nested import Tuned, nested_difference, nested_interval


class World(NamedTuple):
    """True means of a grid's values, the spread of a trial of each, tuning seeds, and runs of the race."""

    means: tuple[float, ...]
    spreads: tuple[float, ...]
    seeds: int
    runs: int

    def condition(self, rng: np.random.Generator) -> Tuned:
        """Tunes and races."""
        means, spreads = np.array(self.means)[:, None, None], np.array(self.spreads)[:, None, None]
        trials = means + spreads * rng.standard_normal((len(self.means), 1, self.seeds))
        best = int(trials.mean(axis=(1, 2)).argmax())
        return Tuned(trials, means[best] + spreads[best] * rng.standard_normal((self.runs, 1)), best)

    def worth(self, rng: np.random.Generator) -> float:
        """The mean score of tuning and racing."""
        means, spreads = np.array(self.means), np.array(self.spreads)
        tuned = means + spreads * rng.standard_normal((100_000, len(means))) / np.sqrt(self.seeds)
        return float(means[tuned.argmax(axis=1)].mean())


FLAT = World((0.5,) * 4, (0.05,) * 4, 2, 8)
SLOPE = World((0.3, 0.4, 0.5, 0.55), (0.05,) * 4, 2, 8)
WORLDS = {
    "flat": FLAT,
    "slope": SLOPE,
    "slope, more seeds": SLOPE._replace(seeds=3, runs=12),
    "peak": World((0.3, 0.5, 0.5, 0.1), (0.1,) * 4, 2, 5),
    "plateau": World((0.3, 0.44, 0.46, 0.48, 0.5, 0.2), (0.06,) * 6, 3, 12),
    "collapse": World((0.5, 0.48, 0.2, 0.0, 0.0, 0.0), (0.1, 0.1, 0.1, 0.01, 0.01, 0.01), 2, 8),
    "two values": World((0.5, 0.4), (0.1, 0.1), 2, 8),
}


def rates(world: World, repeats: int) -> tuple[float, float, float]:
    """Coverage of the nested interval; how often it, and a t test of the runs alone, calls equal conditions apart."""
    rng = np.random.default_rng(7)
    worth, covered, nested, alone = world.worth(rng), 0, 0, 0
    for _ in range(repeats):
        a, b = world.condition(rng), world.condition(rng)
        interval = nested_interval(a, rng=rng, draws=600)
        covered += interval.low <= worth <= interval.high
        nested += nested_difference(a, b, rng=rng, draws=600)[1] <= 0.05
        error = np.sqrt((a.scores.var(ddof=1) + b.scores.var(ddof=1)) / world.runs)
        alone += abs(a.scores.mean() - b.scores.mean()) > student.ppf(0.975, 2 * world.runs - 2) * error
    return covered / repeats, nested / repeats, alone / repeats


def test_tuning_noise_that_runs_alone_do_not_show_is_in_the_interval() -> None:
    covered, nested, alone = rates(SLOPE, 250)
    assert covered >= 0.94
    assert nested <= 0.03
    assert alone >= 0.09


@pytest.mark.slow  # pytest -m slow tests/benchmarks/test_nested.py: a minute
@pytest.mark.parametrize("name", WORLDS)
def test_coverage_and_false_differences_are_as_stated(name: str) -> None:
    covered, nested, _ = rates(WORLDS[name], 1000)
    assert covered >= 0.95
    assert nested <= 0.02


def test_a_choice_that_trials_leave_no_doubt_of_adds_nothing() -> None:
    rng = np.random.default_rng(0)
    trials = np.array([[[0.1, 0.11]], [[0.9, 0.91]], [[0.2, 0.21]]])
    scores = 0.9 + 0.02 * rng.standard_normal((8, 1))
    found = nested_interval(Tuned(trials, scores, 1), rng=rng)
    half = student.ppf(0.975, 7) * scores.std(ddof=1) / np.sqrt(8)
    assert (found.low, found.high) == pytest.approx((scores.mean() - half, scores.mean() + half), abs=0.001)


def test_values_are_chosen_over_all_tasks_and_effects_told_of_one() -> None:
    """Value 1 is the best over both tasks, and the worst of the first task."""
    trials = np.array([[[0.5, 0.51], [0.1, 0.11]], [[0.2, 0.21], [0.9, 0.91]]])
    one = Tuned(trials, np.array([[0.2, 0.9], [0.21, 0.91], [0.22, 0.92], [0.23, 0.93]]), 1)
    outcomes = one.outcomes(np.random.default_rng(0), 500, [0])
    assert np.median(outcomes) == pytest.approx(0.215, abs=0.01)


def test_a_difference_that_is_there_is_found_and_none_of_equals() -> None:
    rng = np.random.default_rng(0)
    better, worse = SLOPE.condition(rng), World((0.0, 0.1, 0.2, 0.1), (0.05,) * 4, 2, 8).condition(rng)
    found, p = nested_difference(better, worse, rng=rng)
    assert found.low > 0.1
    assert p < 0.01
    same = Tuned(np.full((2, 1, 2), 0.5), np.full((3, 1), 0.5), 0)
    found, p = nested_difference(same, same, rng=rng)
    assert np.isnan([found.low, found.high]).all()
    assert p == 1.0


@pytest.mark.parametrize(
    ("trials", "scores", "raced", "message"),
    [
        (np.zeros((3, 1, 1)), np.zeros((8, 1)), 0, "two tuning seeds"),
        (np.zeros((3, 1, 2)), np.zeros((2, 1)), 0, "3 runs"),
        (np.zeros((3, 2, 2)), np.zeros((8, 1)), 0, "2 tasks were tuned and 1 raced"),
        (np.zeros((3, 1, 2)), np.zeros((8, 1)), 1, "its trials choose 0"),
        (np.full((3, 1, 2), np.nan), np.zeros((8, 1)), 0, "finite"),
    ],
)
def test_what_cannot_be_resampled_is_refused(trials: np.ndarray, scores: np.ndarray, raced: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tuned(trials, scores, raced)
