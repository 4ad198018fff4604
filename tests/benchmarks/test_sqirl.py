import numpy as np
import pytest

from tiltyard.benchmarks.sqirl import (
    Tabular,
    _values_of,
    backed_up,
    episodes_needed,
    is_solvable,
    sqirl,
    stochastic_effective_horizon,
)


def fork() -> Tabular:
    """Action 0 leads to a choice that pays 1 or nothing, action 1 to 0.6 for sure."""
    transitions, rewards = np.zeros((3, 2, 3)), np.array([[0, 0], [1, 0], [0.6, 0.6]])
    transitions[0, 0, 1] = transitions[0, 1, 2] = 1
    transitions[1:, :, 2] = 1
    return Tabular(transitions, rewards, horizon=2)


def test_values_after_backups_by_hand() -> None:
    np.testing.assert_allclose(backed_up(fork(), 1)[0, 0], [0.5, 0.6])
    np.testing.assert_allclose(backed_up(fork(), 2)[0, 0], [1.0, 0.6])
    np.testing.assert_allclose(backed_up(fork(), 2)[1, 1], [1.0, 0.0])


def test_one_backup_makes_the_fork_solvable_by_hand() -> None:
    assert not is_solvable(fork(), 1)
    assert is_solvable(fork(), 2)
    # k = 2; the smallest gap is 0.4, at the start: 2 + log_2(1 / 0.16).
    assert stochastic_effective_horizon(fork()) == pytest.approx(2 + np.log2(1 / 0.16))


def test_gaps_count_only_where_greedy_policies_come() -> None:
    mdp = fork()
    mdp.rewards[2] = [0.6, 0.59]  # off the greedy path of k = 2
    assert stochastic_effective_horizon(mdp) == pytest.approx(2 + np.log2(1 / 0.16))


def test_the_algorithm_agrees_with_the_theory() -> None:
    rng = np.random.default_rng(0)
    assert sqirl(fork(), 1, 400, rng)[0, 0] == 1
    assert sqirl(fork(), 2, 400, rng)[[0, 1], [0, 1]].tolist() == [0, 0]
    assert fork().returns(sqirl(fork(), 2, 400, rng)) == fork().optimum() == 1
    assert 2 <= episodes_needed(fork(), rng, ks=(2,)) < 64
    assert episodes_needed(fork(), rng, share=1.01, most=64) == 64


def test_fitted_values_by_hand() -> None:
    # Three episodes, whose first step pays 0.5: 0 -> 1 -> pays 1; 0 -> 1 -> pays 0; 0 -> 2 -> pays 0.6.
    first = (np.zeros(3, np.int64), np.array([0, 0, 1]), np.full(3, 0.5), np.array([1, 1, 2]))
    second = (np.array([1, 1, 2]), np.array([0, 1, 0]), np.array([1.0, 0.0, 0.6]), np.array([2, 2, 2]))
    np.testing.assert_allclose(_values_of(fork(), [first, second], 1)[0], [1.0, 1.1])
    np.testing.assert_allclose(_values_of(fork(), [first, second], 2)[0], [1.5, 1.1])
    assert np.isneginf(_values_of(fork(), [first, second], 2)[1:]).all()


def test_next_states_come_as_often_as_they_are_likely() -> None:
    transitions = np.zeros((2, 1, 2))
    transitions[0, 0], transitions[1, 0] = [0.25, 0.75], [1.0, 0.0]
    mdp = Tabular(transitions, np.zeros((2, 1)), horizon=1)
    found = mdp.moved(np.zeros(4000, np.int64), np.zeros(4000, np.int64), np.random.default_rng(0))
    assert found.mean() == pytest.approx(0.75, abs=0.03)
    assert (mdp.moved(np.ones(9, np.int64), np.zeros(9, np.int64), np.random.default_rng(0)) == 0).all()


def test_what_is_no_process_is_refused() -> None:
    with pytest.raises(ValueError, match="transitions must be probabilities"):
        Tabular(np.full((2, 1, 2), 0.6), np.zeros((2, 1)), horizon=1)
    with pytest.raises(ValueError, match="horizon at least 1"):
        Tabular(np.full((2, 1, 2), 0.5), np.zeros((2, 1)), horizon=0)
