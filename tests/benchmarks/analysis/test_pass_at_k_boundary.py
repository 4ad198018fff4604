"""Reasoning boundary: curves by counting subsets, crossings, coverage and perplexity by hand."""

from itertools import combinations

import numpy as np
import pytest

from tiltyard.benchmarks.analysis.pass_at_k_boundary import (
    Coverage,
    coverage,
    crossover,
    curve,
    exact_curve,
    lead,
    perplexity,
)


def test_curves_are_those_of_all_subsets() -> None:
    completions = [[True, False, False, False, True], [False, False, True, False, False], [False] * 5]
    counts = [sum(row) for row in completions]
    for k in range(1, 6):
        subsets = [[any(one) for one in combinations(row, k)] for row in completions]
        assert curve(5, counts, [k])[0] == pytest.approx(np.mean([np.mean(one) for one in subsets]))


def test_the_estimate_varies_less_than_that_of_k_completions_alone() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.random((400, 64)) < 0.1
    whole, few = (np.array([float(x) for x in part]) for part in (
        [curve(64, [row.sum()], [8])[0] for row in drawn], drawn[:, :8].any(1)
    ))  # fmt: skip
    assert whole.mean() == pytest.approx(few.mean(), abs=0.06)
    assert whole.var() < few.var() / 4


def test_exact_curves_by_hand() -> None:
    assert exact_curve([0.5, 0.0], [1, 2, 3]).tolist() == [0.25, 0.375, 0.4375]
    with pytest.raises(ValueError, match="between 0 and 1"):
        exact_curve([1.2], [1])


@pytest.mark.parametrize(
    ("trained", "found"),
    [
        ([0.3, 0.4, 0.5, 0.6], 8),  # the base has caught up at 8
        ([0.3, 0.4, 0.7, 0.6], 8),
        ([0.3, 0.2, 0.7, 0.9], None),  # still ahead at the end
        ([0.1, 0.2, 0.3, 0.4], None),  # never ahead
    ],
)
def test_the_base_is_no_worse_from_the_crossing_on(trained: list[float], found: int | None) -> None:
    assert crossover([0.1, 0.3, 0.45, 0.8], trained, [1, 2, 4, 8]) == found


def test_a_crossing_at_a_tie_counts() -> None:
    assert crossover([0.1, 0.5, 0.9], [0.2, 0.5, 0.8], [1, 4, 16]) == 4


def test_coverage_and_perplexity_by_hand() -> None:
    assert coverage([3, 0, 1, 0], [1, 2, 0, 0]) == Coverage(0.25, 0.25, 0.25, 0.25)
    logp = np.log([[0.5, 0.5, 0.9], [0.25, 1.0, 0.1]])
    assert perplexity(logp, [[True, True, False], [True, True, False]]).tolist() == pytest.approx([2.0, 2.0])


def test_leads_are_paired_by_problem() -> None:
    base, trained = np.array([0, 4, 8, 2] * 5), np.array([1, 5, 8, 2] * 5)
    found = lead(16, base, trained, [1, 4], rng=np.random.default_rng(0))
    assert found.estimate[0] == pytest.approx(0.5 / 16)
    assert found.low[0] < 0.5 / 16 < found.high[0] < 1 / 16, "differences of problems, not of policies"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: crossover([0.1], [0.1, 0.2], [1, 2]), "one value of each curve"),
        (lambda: crossover([0.1, 0.2], [0.1, 0.2], [2, 1]), "ascending"),
        (lambda: coverage([1], [1, 2]), "same problems"),
        (lambda: curve(4, [1], [8]), "k must lie"),
        (lambda: perplexity([[0.0]], [[False]]), "a token in every row"),
    ],
)
def test_bad_input_is_a_sentence(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
