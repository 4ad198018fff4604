"""No interval of zero width: every function of the library that returns one, on runs that agree."""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks import bands, evaluation, saturated, statistics, verdicts
from tiltyard.benchmarks.between_bases import Bases
from tiltyard.benchmarks.claims import effects
from tiltyard.benchmarks.commands import interval_of
from tiltyard.benchmarks.docs import LOST, RESULTS
from tiltyard.benchmarks.leaderboard.rows import Metric
from tiltyard.benchmarks.nested import Tuned, nested_interval
from tiltyard.benchmarks.pages import bracketed, ranged
from tiltyard.benchmarks.statistics import Interval

BENCHMARKS = Path(statistics.__file__).parent
TAUS = np.linspace(-1, 2, 13)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def sides(values: np.ndarray) -> list[np.ndarray]:
    return [values, values + 1, values - 1, values[:, ::-1]]


GIVES: dict[str, Callable[[np.ndarray], list[Any]]] = {
    "statistics.bootstrap_interval": lambda x: [
        statistics.bootstrap_interval(x, statistic, rng=rng(), resamples=200, bounds=bounds)
        for statistic in (statistics.iqm, statistics.mean, statistics.median, statistics.optimality_gap, lambda y: 1.0)
        for bounds in (None, (0.0, 1.0), (-3.0, 7.0))
    ],
    "statistics.improvement_interval": lambda x: [
        statistics.improvement_interval(x, y, rng=rng(), resamples=200) for y in sides(x)
    ],
    "statistics.profile_band": lambda x: [statistics.profile_band(x, TAUS, rng=rng(), resamples=200)],
    "statistics.mean_band": lambda x: [statistics.mean_band(x, rng=rng(), resamples=200)],
    "bands.simultaneous_band": lambda x: [bands.simultaneous_band(x)],
    "bands.tolerance_interval": lambda x: [bands.tolerance_interval(column) for column in x.T],
    "verdicts.Sample.interval": lambda x: [verdicts.Sample.of(column).interval() for column in x.T],
    "verdicts.student_interval": lambda x: [verdicts.student_interval(column) for column in x.T],
    "nested.nested_interval": lambda x: [
        nested_interval(Tuned(np.stack([x[:2].T, x[:2].T - 1]), x, 0), rng=rng(), draws=200)
    ],
    "claims.effects.interval": lambda x: [effects.interval(x)],
    "between_bases.Bases.of_others": lambda x: [Bases(np.stack([x[:, 0], x[:, -1] - 1])).of_others],
}
WITHIN = {
    *("nested._interval", "leaderboard.board._Bootstrap.profile", "leaderboard.board._Bootstrap.curve_band"),
    *("choices.Choice.gap", "analysis.pass_at_k_boundary.lead", "between_bases.Bases.of_these"),
}
"""They pass on what a function above gives."""
MATRICES = [
    *(np.full((runs, tasks), value) for runs in (3, 8, 20) for tasks in (1, 2) for value in (0.0, 0.1, 0.5, 1.0)),
    np.tile([0.0, 1.0], (5, 1)),
    np.array([[0.0]] * 19 + [[1.0]]),  # the middle half of nearly every resample is 0
    np.array([[0.0, 0.2]] * 11 + [[1.0, 0.2]]),
    np.linspace(0, 1, 10).reshape(5, 2),
]


@cache
def returning() -> frozenset[str]:
    """Functions of the library that are annotated to return an Interval or a Band, by module and name."""
    found = set()
    for path in BENCHMARKS.rglob("*.py"):
        module = ".".join(path.relative_to(BENCHMARKS).with_suffix("").parts)
        found |= {f"{module}.{name}" for name in _returning(ast.parse(path.read_text()), "")}
    return frozenset(name for name in found if not name.startswith(("studies.", "speed.")))


def _returning(tree: ast.AST, prefix: str) -> Iterator[str]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _returning(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef) and node.returns is not None:
            if {"Interval", "Band"} & {word.strip("'\"") for word in ast.unparse(node.returns).split(" | ")}:
                yield prefix + node.name


def test_every_function_that_returns_an_interval_is_held_to_it() -> None:
    assert returning() == GIVES.keys() | WITHIN


@pytest.mark.parametrize("name", GIVES)
def test_no_interval_has_zero_width(name: str) -> None:
    for values in MATRICES[::6] if name.endswith("log_ratio") else MATRICES:  # that one takes a third of a second
        for one in GIVES[name](values):
            low, high = np.atleast_1d(one.low), np.atleast_1d(one.high)
            assert (np.isnan(low) == np.isnan(high)).all()
            known = ~np.isnan(low)
            assert (high[known] - low[known] > 1e-9).all(), (name, values, one)
            assert (low[known] <= np.atleast_1d(one.estimate)[known] + 1e-9).all()
            assert (high[known] >= np.atleast_1d(one.estimate)[known] - 1e-9).all()


def test_bounds_by_hand() -> None:
    zeros, ones = np.zeros((8, 1)), np.ones((8, 1))
    share = 1 - 0.025 ** (1 / 8)  # Clopper and Pearson's upper limit of 0 in 8
    assert share == pytest.approx(0.3694, abs=1e-4)
    found = statistics.bootstrap_interval(zeros, statistics.mean, rng=rng(), bounds=(0.0, 1.0))
    assert (found.low, found.high) == (0.0, pytest.approx(share, abs=1e-3))
    found = statistics.bootstrap_interval(ones * 0.5, statistics.mean, rng=rng(), bounds=(0.0, 2.0))
    assert (found.low, found.high) == pytest.approx((0.5 - 0.5 * share, 0.5 + 1.5 * share), abs=2e-3)
    odds = statistics.improvement_interval(ones, zeros[:5], rng=rng())
    assert (odds.low, odds.high) == (pytest.approx(0.025 ** (1 / 5)), 1.0)  # five pairs of different runs
    both = statistics.improvement_interval(np.ones((8, 2)), np.zeros((5, 2)), rng=rng())
    assert both.low == pytest.approx(0.025 ** (1 / 10))
    band = statistics.profile_band(ones, [0.5, 2.0], rng=rng())
    assert (band.low[0], band.high[0]) == (pytest.approx(1 - share), 1.0)
    assert (band.low[1], band.high[1]) == (0.0, pytest.approx(share))
    with pytest.raises(ValueError, match="do not lie within the bounds"):
        statistics.bootstrap_interval(ones * 3, statistics.mean, rng=rng(), bounds=(0.0, 1.0))


@pytest.mark.parametrize("runs", [3, 5, 8, 20])
@pytest.mark.parametrize("worth", [0.0, 0.3, 1.0])
def test_runs_that_agree_mislead_at_most_as_often_as_stated(runs: int, worth: float) -> None:
    """Runs are ``worth`` with one probability and 0 or 1 else: how often all agree, and the mean lies outside."""
    found = statistics.bootstrap_interval(np.full((runs, 1), worth), statistics.mean, rng=rng(), bounds=(0.0, 1.0))
    rates = []
    for often in np.linspace(0.01, 0.99, 99):
        for other in {0.0, 1.0} - {worth}:
            mean = often * worth + (1 - often) * other
            rates.append(often**runs * (not found.low - 1e-3 <= mean <= found.high + 1e-3))
    assert max(rates) <= 0.025 + 1e-9
    assert max(rates) > 0.015  # nor is it wider than need be


@pytest.mark.parametrize("runs", [3, 5, 8])
def test_sides_wholly_apart_mislead_at_most_as_often_as_stated(runs: int) -> None:
    """Normal scores a distance apart: how often every run of one side wins, and the true chance lies outside."""
    from scipy.stats import norm

    draws, bound = rng(), 0.025 ** (1 / runs)
    for chance in (bound - 0.02, bound - 0.1):
        a = draws.standard_normal((4000, runs)) + norm.ppf(chance) * np.sqrt(2)
        apart = a.min(axis=1) > draws.standard_normal((4000, runs)).max(axis=1)
        assert apart.mean() <= 0.025


def test_the_words_where_there_is_no_interval() -> None:
    without = Metric(0.5, None, saturated.none(4))
    assert f"{without:.2f}" == "0.50 [no interval: 4 identical runs]"
    assert f"{without.brief:.2f}" == "0.50"
    nan = float("nan")
    assert f"{Interval(0.5, nan, nan):.2f}" == "0.50 [no interval: identical runs]"
    assert bracketed([0.5, nan, nan], ".1f") == "0.5 [no interval: identical runs]"
    assert ranged([0.5, nan, nan], ".0%") == "50% (no interval: identical runs)"
    assert interval_of([2.0] * 4) == "no interval: 4 identical episodes"
    assert interval_of([1.0, 2.0]) == "needs 3 episodes"


def test_ends_that_differ_never_read_the_same() -> None:
    assert f"{Interval(0.2514, 0.2494, 0.2538):.2f}" == "0.251 [0.249, 0.254]"
    assert f"{Interval(0.2514, 0.2494, 0.2538):.0%}" == "25.1% [24.9%, 25.4%]"
    assert f"{Interval(1234.5, 1234.501, 1234.502):,.2f}" == "1,234.500 [1,234.501, 1,234.502]"
    assert f"{Interval(0.5, 0.4, 0.6):.2f}" == "0.50 [0.40, 0.60]"
    assert bracketed([0.5, 0.499, 0.501], "+.2f") == "+0.500 [+0.499, +0.501]"
    assert ranged([0.5, 0.499, 0.501], ".0%") == "50.0% (49.9% to 50.1%)"


def test_no_page_of_results_shows_an_interval_of_zero_width() -> None:
    """But for pages without raw data, which cannot be made anew."""
    pages = {path: path.read_text(encoding="utf-8") for path in RESULTS.glob("*/README.md")}
    shown = re.compile(r"[\d%] (?:\[([^\[\],|]+), ([^\[\],|]+)\]|\(([^()|]+?) to ([^()|]+?)\))")
    found = {path: shown.findall(text) for path, text in pages.items() if LOST not in text}
    assert sum(map(len, found.values())) > 500
    assert not [(path, ends) for path, all_ends in found.items() for ends in all_ends if ends[0::2] == ends[1::2]]


def test_rates_of_success_have_wilsons_interval() -> None:
    for successes in ([True] * 3, [False] * 3, [True, False]):
        low, high = evaluation.wilson(successes)
        assert low < high


def test_a_curve_without_an_interval_at_its_start_has_no_area_there() -> None:
    from tiltyard.benchmarks.charts import canvas, curve

    band = statistics.mean_band(np.array([[1.0, 0.0, 2.0], [1.0, 1.0, 3.0], [1.0, 2.0, 7.0]]), rng=rng())
    assert np.isnan(band.low).tolist() == [True, False, False]
    with canvas(2, 2) as figure:
        axes = figure.subplots()
        curve(axes, [0, 1, 2], band.estimate, band=band, colour="#000000")
        (area,) = axes.patches
        assert area.get_xy()[:, 0].min() == 1
