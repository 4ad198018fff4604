"""CoT-pass@k: by hand, never above pass@k, and blind to guesses."""

import math

import numpy as np
import pytest

from tiltyard.benchmarks.analysis.cot_pass_k import cot_pass_at_k, guessed
from tiltyard.benchmarks.statistics import pass_at_k


def test_a_guess_counts_in_pass_at_k_alone() -> None:
    answers, chains = [[True, True, False, False]], [[True, False, True, False]]
    assert cot_pass_at_k(answers, chains, 1) == pytest.approx([1 / 4])
    assert cot_pass_at_k(answers, chains, 2) == pytest.approx([1 - (3 * 2) / (4 * 3)])  # C(3,2)/C(4,2) = 1/2
    assert pass_at_k(4, 2, 2) == pytest.approx(1 - 1 / 6)
    assert guessed(answers, chains) == 0.5
    assert math.isnan(guessed([[False]], [[True]]))


@pytest.mark.parametrize("seed", range(5))
def test_it_is_never_above_pass_at_k(seed: int) -> None:
    rng = np.random.default_rng(seed)
    answers, chains = rng.random((2, 20, 12)) < rng.random(2)[:, None, None]
    for k in range(1, 13):
        plain = pass_at_k(12, answers.sum(1), k)
        assert (cot_pass_at_k(answers, chains, k) <= plain + 1e-12).all()
        assert cot_pass_at_k(answers, np.ones_like(chains), k) == pytest.approx(plain)


def test_bad_input_is_a_sentence() -> None:
    with pytest.raises(ValueError, match=r"both \[problems, n\]"):
        cot_pass_at_k([[True]], [[True, False]], 1)
    with pytest.raises(ValueError, match="k must lie"):
        cot_pass_at_k([[True]], [[True]], 2)
