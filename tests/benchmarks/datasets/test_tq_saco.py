import numpy as np
import pytest

from tiltyard.benchmarks.datasets.tq_saco import (
    approximate_unique,
    cells,
    state_action_coverage,
    trajectory_quality,
    unique,
)

REFERENCE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 4.0], [1.0, 4.0]])


def test_quality_is_the_normalised_mean_return():
    assert trajectory_quality([10.0, 30.0], random=10.0, expert=50.0) == 0.25  # (20 - 10) / 40
    assert trajectory_quality([0.0], random=10.0, expert=50.0) == -0.25


def test_coverage_worked_by_hand():
    # In 2 x 2 cells of [0, 1] x [0, 4] the reference fills 4; these five pairs fill (0, 0), (1, 1) and (0, 1).
    pairs = np.array([[0.1, 0.5], [0.4, 1.9], [0.9, 3.0], [0.6, 2.1], [0.0, 9.0]])
    assert state_action_coverage(pairs, REFERENCE, bins=2) == 0.75
    assert state_action_coverage(REFERENCE, REFERENCE, bins=2) == 1.0
    assert state_action_coverage(pairs, REFERENCE, bins=1) == 1.0  # one cell holds them all


def test_cells_worked_by_hand_and_what_lies_beyond_falls_into_the_outer_ones():
    found = cells(np.array([[-5.0], [0.0], [0.9], [1.0], [3.9], [4.0], [70.0]]), np.array([0.0]), np.array([4.0]), 4)
    np.testing.assert_array_equal(found[:, 0], [0, 0, 0, 1, 3, 3, 3])


@pytest.mark.filterwarnings("error")
def test_a_constant_column_has_one_cell():
    pairs = np.array([[7.0, 0.0], [7.0, 1.0]])
    found = cells(pairs, pairs.min(axis=0), pairs.max(axis=0), 3)
    np.testing.assert_array_equal(found, [[0, 0], [0, 2]])


@pytest.mark.parametrize("bins", [0, 257])
def test_cells_that_do_not_fit_a_byte_are_refused(bins):
    with pytest.raises(ValueError, match=f"1 to 256 cells, got {bins}"):
        cells(REFERENCE, REFERENCE.min(axis=0), REFERENCE.max(axis=0), bins)


def test_equal_rows_are_counted_once():
    rows = np.array([[1, 2], [1, 2], [2, 1], [1, 3]], np.uint8)
    assert unique(rows) == 3
    assert unique(np.asfortranarray(rows)) == 3
    assert approximate_unique(rows) == 3


@pytest.mark.parametrize("count", [1, 100, 5_000, 60_000, 100_000, 300_000])
def test_the_approximate_count_is_within_two_per_cent_of_the_exact_one(count):
    rows = np.random.default_rng(count).integers(0, 256, (count, 14), dtype=np.uint8)
    rows = np.concatenate((rows, rows[: count // 3]))  # repeated rows change nothing
    assert approximate_unique(rows) == pytest.approx(unique(rows), rel=0.02)


def test_the_approximate_count_tells_columns_apart():
    rows = np.array([[a, b, 0, 0] for a in range(100) for b in range(100)], np.uint8)
    swapped = rows[:, [2, 1, 0, 3]]
    assert approximate_unique(np.concatenate((rows, swapped))) == pytest.approx(19_900, rel=0.02)


def test_coverage_may_be_counted_approximately():
    rng = np.random.default_rng(0)
    pairs, reference = rng.uniform(0.25, 0.75, (20_000, 3)), rng.uniform(0, 1, (20_000, 3))
    exact = state_action_coverage(pairs, reference, bins=20)
    assert state_action_coverage(pairs, reference, bins=20, approximate=True) == pytest.approx(exact, rel=0.03)
