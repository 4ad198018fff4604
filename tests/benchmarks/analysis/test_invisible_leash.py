"""Empirical support: its four categories and their rates by hand, from distributions and from samples."""

import math

import numpy as np
import pytest

from tiltyard.benchmarks.analysis.invisible_leash import Support, answer_entropy, sampled_support, support


def test_categories_and_rates_by_hand() -> None:
    base, trained = [0.4, 0.3, 0.05, 0.05, 0.2], [0.6, 0.05, 0.25, 0.0, 0.1]
    found = support(base, trained, [True, True, True, True, False], threshold=0.1)
    assert found == Support(preserved=1, lost=1, new=1, outside=1)
    assert (found.retention, found.discovery, found.dynamic, found.change) == (0.5, 0.5, 0.5, 0.0)
    more = Support(6, 2, 1, 0)
    assert (more.retention, more.discovery) == (0.75, pytest.approx(1 / 7))
    assert more.dynamic == pytest.approx(2 * 0.75 / 7 / (0.75 + 1 / 7))
    assert more.change == pytest.approx(-1 / 9)
    assert Support(1, 0, 0, 0).dynamic == 0
    assert math.isnan(Support(0, 0, 0, 3).retention)


def test_an_unchanged_policy_keeps_its_support_and_planted_completions_are_found() -> None:
    rng = np.random.default_rng(0)
    base = rng.dirichlet(np.full(64, 0.2), 20)
    correct = rng.random(base.shape) < 0.3
    same = support(base, base, correct, threshold=0.01)
    assert (same.lost, same.new, same.change) == (0, 0, 0)
    taught = 0.5 * base + 0.5 * correct / correct.sum(1, keepdims=True)
    assert support(base, taught, correct, threshold=0.01).new > 20


def test_samples_are_counted_once() -> None:
    found = sampled_support(["3+4", "4+3", "3+4"], ["4+3", "2+5"], ["3+4", "4+3", "2+5", "1+6"])
    assert found == Support(preserved=1, lost=1, new=1, outside=1)


def test_the_entropy_of_answers_by_hand() -> None:
    assert answer_entropy([5, 5, 0]) == pytest.approx(math.log(2))
    assert answer_entropy([7]) == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: support([0.1], [0.1, 0.2], [True], threshold=0.1), "same completions"),
        (lambda: support([0.1], [0.1], [True], threshold=0.0), "above 0"),
        (lambda: answer_entropy([]), "at least one"),
    ],
)
def test_bad_input_is_a_sentence(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
