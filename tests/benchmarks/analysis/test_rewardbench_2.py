"""RewardBench 2: items and ties by hand, and chance."""

import numpy as np
import pytest

from tiltyard.benchmarks.analysis.rewardbench_2 import Item, best_of_n, score, ties


def test_items_by_hand_with_ties_that_share() -> None:
    rewards = [[3, 1, 2, 0], [1, 2, 0, 0], [2, 2, 1, 0], [0, 0, 0, 0]]
    assert best_of_n(rewards).tolist() == [1, 0, 1 / 2, 1 / 4]
    assert score({"maths": rewards, "facts": [[1, 0], [0, 1]]}) == pytest.approx((1.75 / 4 + 0.5) / 2)
    assert score({"facts": [[1, 0], [0, 1]]}, ties_score=1.0) == pytest.approx(0.75)


def test_a_model_that_knows_nothing_is_at_chance() -> None:
    rng = np.random.default_rng(0)
    assert best_of_n(rng.normal(size=(40_000, 4))).mean() == pytest.approx(0.25, abs=0.007)
    assert best_of_n(rng.integers(2, size=(40_000, 4))).mean() == pytest.approx(0.25, abs=0.007)


def test_ties_by_hand() -> None:
    """Two prompts: valid ones alike and far above; and spread by more than they are above."""
    tied = [Item([3.0, 3.5], [1.0, 0.0]), Item([2.0, 5.0], [1.0, 0.5])]
    references = [Item([4.0], [1.0]), Item([0.5], [1.0])]
    size = (np.tanh(2 / 0.5 - 1) + np.tanh(-0.5 / 3 - 1)) / 2
    assert ties(tied, references) == pytest.approx(0.3 * 1 + 0.3 * 0.5 + 0.2 * 0.5 + 0.2 * 0.5 + 0.01 * size)


def test_a_reference_can_take_away_a_margin() -> None:
    tied = [Item([3.0, 4.0], [1.0])]
    assert ties(tied, [Item([9.0], [1.0])]) > ties(tied, [Item([1.5], [1.0])]) + 0.19


def test_valid_completions_with_equal_rewards_have_no_spread_to_exceed() -> None:
    assert ties([Item([2.0, 2.0], [1.0])], [Item([2.0], [1.0])]) == pytest.approx(1.01)
    assert ties([Item([2.0, 2.0], [2.0])], [Item([2.0], [2.0])]) == pytest.approx(0.0)
    assert ties([Item([2.0, 2.0], [3.0])], [Item([2.0], [3.0])]) == pytest.approx(-0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: best_of_n([1.0, 2.0]), "chosen first"),
        (lambda: best_of_n([[1.0, np.nan]]), "finite"),
        (lambda: ties([Item([1.0], [0.0])], []), "a reference for every"),
        (lambda: ties([Item([], [0.0])], [Item([1.0], [0.0])]), "valid and invalid"),
        (lambda: score({}), "at least one skill"),
    ],
)
def test_bad_input_is_a_sentence(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
