"""Online against offline: KL, frontiers and classification by hand."""

import numpy as np
import pytest

from tiltyard.benchmarks.analysis.online_vs_offline_gap import classification_accuracy, frontier, kl


def test_divergence_by_hand() -> None:
    found = kl([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]])
    assert found[:2] == pytest.approx([0.0, np.log(4)])
    assert found[2] == np.inf


def test_a_frontier_keeps_the_best_within_a_budget() -> None:
    moments, scores = [0.0, 0.4, 1.1, 3.0], [0.5, 0.6, 0.8, 0.55]  # it over-optimises at last
    assert frontier(moments, scores, [0.1, 0.5, 2.0, 5.0]).tolist() == [0.5, 0.6, 0.8, 0.8]


def test_classification_by_hand() -> None:
    assert classification_accuracy([1.0, -2.0, 0.0, 3.0], [True, True, False, True]) == pytest.approx(2.5 / 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kl([0.5, 0.4], [0.5, 0.5]), "sum to 1"),
        (lambda: frontier([1.0], [0.5], [0.5]), "the reference itself"),
        (lambda: frontier([1.0], [0.5, 0.6], [2.0]), "every moment"),
        (lambda: classification_accuracy([1.0], [True, False]), "every pair"),
    ],
)
def test_bad_input_is_a_sentence(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
