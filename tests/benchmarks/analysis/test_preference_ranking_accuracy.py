"""Ranking accuracy: by hand, its idealised value, and the loss at which a pair changes sides."""

import numpy as np
import pytest

from tiltyard.benchmarks.analysis.preference_ranking_accuracy import (
    dpo_loss,
    idealised,
    idealised_accuracy,
    loss_to_rank,
    ranked,
    ranking_accuracy,
)


def test_pairs_by_hand_with_and_without_lengths() -> None:
    chosen, rejected = [-4.0, -2.0, -3.0], [-3.0, -5.0, -3.0]
    assert ranked(chosen, rejected).tolist() == [False, True, False]  # equals are not ranked
    lengths = {"chosen_tokens": [4, 1, 2], "rejected_tokens": [2, 5, 2]}
    assert ranked(chosen, rejected, **lengths).tolist() == [True, False, False]  # -1 > -1.5, -2 < -1
    assert ranking_accuracy(chosen, rejected) == pytest.approx(1 / 3)


def test_the_optimum_ranks_as_its_closed_form_does() -> None:
    """Three completions of one prompt: pi* = pi_ref exp(r / beta) / Z, and Bradley-Terry preferences of r."""
    reference, reward, beta = np.array([0.7, 0.2, 0.1]), np.array([0.0, 0.1, 0.5]), 0.5
    best = reference * np.exp(reward / beta)
    best /= best.sum()
    chosen, rejected = np.array([1, 2, 2]), np.array([0, 0, 1])
    alpha = 1 / (1 + np.exp(reward[rejected] - reward[chosen]))
    found = idealised(np.log(reference[chosen]), np.log(reference[rejected]), alpha, beta=beta)
    assert found.tolist() == (best[chosen] > best[rejected]).tolist() == [False, False, True]
    agreed = idealised_accuracy(np.log(reference[chosen]), np.log(reference[rejected]), 1.0, beta=beta)
    assert agreed == 1.0, "where all agree the optimum ranks everything"


def test_a_pair_is_ranked_correctly_exactly_where_its_loss_is_below_the_threshold() -> None:
    rng = np.random.default_rng(0)
    chosen, rejected, chosen_ref, rejected_ref = rng.normal(scale=5, size=(4, 500))
    for beta in (0.05, 1.0):
        loss = dpo_loss(chosen, rejected, chosen_ref, rejected_ref, beta=beta)
        below = loss < loss_to_rank(chosen_ref, rejected_ref, beta=beta)
        assert below.tolist() == ranked(chosen, rejected).tolist()
    assert loss_to_rank([-1.0], [-1.0], beta=0.1) == pytest.approx([np.log(2)])
    assert loss_to_rank([-31.0], [-1.0], beta=0.1) == pytest.approx([np.log1p(np.exp(-3))])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ranked([1.0], [1.0, 2.0]), "both completions"),
        (lambda: ranked([1.0], [1.0], chosen_tokens=[1]), "or of neither"),
        (lambda: ranked([1.0], [1.0], chosen_tokens=[0], rejected_tokens=[1]), "at least 1"),
        (lambda: idealised([0.0], [0.0], [1.2], beta=1.0), "between 0 and 1"),
        (lambda: loss_to_rank([0.0], [0.0], beta=0.0), "positive"),
    ],
)
def test_bad_input_is_a_sentence(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
