"""Factorial studies: effects and interactions by hand, shares that sum to 1, and noise that is found to be none."""

import numpy as np
import pytest

from tiltyard.benchmarks.analysis.dpo_vs_ppo_study import contrast, effects, table

HAND = np.array([[[1.0, 2.0], [3.0, 4.0]], [[2.0, 3.0], [8.0, 9.0]]])  # [data, algorithm, runs]


def test_effects_by_hand() -> None:
    assert contrast(HAND, [0]).tolist() == [(2 + 8 - 1 - 3) / 2] * 2
    assert contrast(HAND, [1]).tolist() == [(3 + 8 - 1 - 2) / 2] * 2
    assert contrast(HAND, [0, 1]).tolist() == [((8 - 2) - (3 - 1)) / 2] * 2


def test_shares_of_the_variance_sum_to_1_with_two_factors() -> None:
    rng = np.random.default_rng(0)
    found = effects(HAND[..., :1] + 0.1 * rng.normal(size=(2, 2, 8)), ["data", "algorithm"])
    assert sum(one.share for one in found) == pytest.approx(1)
    assert [one.factors for one in found] == [("algorithm",), ("data",), ("data", "algorithm")]
    assert found[0].interval.estimate == pytest.approx(4, abs=0.15)
    assert found[0].interval.high - found[0].interval.low < 0.3
    assert all(one.p < 0.001 for one in found)


def test_factors_that_do_nothing_are_found_as_often_as_stated() -> None:
    rng = np.random.default_rng(1)
    seeds = [rng.normal(size=6) for _ in range(300)]  # what runs of a seed have in common is no effect
    found = [
        min(one.p for one in effects(rng.normal(size=(2, 2, 2, 6)) + 5 * seed, ["a", "b", "c"])) < 0.05
        for seed in seeds
    ]
    assert 0.01 < np.mean(found) < 0.09


def test_cells_make_the_array() -> None:
    cells = {(False, False): [1, 2], (False, True): [3, 4], (True, False): [2, 3], (True, True): [8, 9]}
    assert table(cells).tolist() == HAND.tolist()
    with pytest.raises(ValueError, match="every combination"):
        table({(False,): [1]})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: effects(np.zeros((3, 2, 4)), ["a", "b"]), "a two for each factor"),
        (lambda: effects(HAND, ["a"]), "a name of its own"),
        (lambda: contrast(HAND, [2]), "axes from 0 to 1"),
    ],
)
def test_bad_input_is_a_sentence(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
