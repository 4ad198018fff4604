import numpy as np
import pytest

from tiltyard.benchmarks.action_grouping import Discounted, chosen, grouped, intervals, learn, loss_bound, spread


def fork() -> Discounted:
    """Two states; actions 0 and 1 stay, 2 and 3 go over; the second state pays 1 in 0.8 of steps, the first nothing."""
    transitions = np.zeros((2, 4, 2))
    transitions[:, :2] = np.eye(2)[:, None]
    transitions[:, 2:] = 1 - np.eye(2)[:, None]
    transitions[0, 1] = [0.5, 0.5]
    return Discounted(transitions, np.array([[0.0] * 4, [0.8, 0.6, 0.8, 0.8]]), gamma=0.5)


def test_values_and_the_best_actions_by_hand() -> None:
    mdp = fork()
    assert mdp.optimal().tolist() == [2, 0]  # over, and there: 0.8 / (1 - 0.5) = 1.6
    np.testing.assert_allclose(mdp.values(np.eye(4)[[2, 0]]), [0.5 * 1.6, 1.6])


def test_intervals_are_even_and_keep_neighbours() -> None:
    assert intervals(6, 3).tolist() == [0, 0, 1, 1, 2, 2]
    assert intervals(5, 2).tolist() == [0, 0, 0, 1, 1]
    assert intervals(4, 4).tolist() == [0, 1, 2, 3]


def test_groups_are_means_and_their_spread_by_hand() -> None:
    # The first group stays with 1 and 1/2 in state 0: 3/4, from which both are 1/4 away; it pays 0.7 in state 1.
    mdp, groups = fork(), intervals(4, 2)
    of_group = grouped(mdp, groups)
    np.testing.assert_allclose(of_group.transitions[0], [[0.75, 0.25], [0, 1]])
    np.testing.assert_allclose(of_group.rewards[1], [0.7, 0.8])
    assert spread(mdp, groups) == pytest.approx((0.25, 0.1))
    assert spread(mdp, intervals(4, 4)) == (0, 0)


def test_the_bound_by_hand() -> None:
    # gamma 1/2: (0.1 + 0.5 * 0.25 / 0.5) / 0.5 = 0.7; 2 * 4 * sqrt(4 / (2 * 100) * ln(8 / 0.1)).
    found = loss_bound(0.25, 0.1, states=2, groups=2, samples=100, gamma=0.5)
    assert found == pytest.approx(0.7 + 8 * np.sqrt(4 / 200 * np.log(80)))


def test_the_bound_holds_on_the_fork() -> None:
    mdp, rng = fork(), np.random.default_rng(0)
    best = mdp.values(np.eye(4)[mdp.optimal()])
    for count in (1, 2, 4):
        groups = intervals(4, count)
        bound = loss_bound(*spread(mdp, groups), states=2, groups=count, samples=400, gamma=0.5)
        losses = [(best - mdp.values(learn(mdp, groups, samples=400, rng=rng))).max() for _ in range(50)]
        assert np.quantile(losses, 0.9) <= bound


def test_more_samples_choose_finer_groups() -> None:
    candidates = [intervals(4, count) for count in (1, 2, 4)]
    picked = [chosen(candidates, fork(), samples=samples) for samples in (1, 400, 10**7)]
    assert picked == sorted(picked)
    assert (picked[0], picked[-1]) == (0, 2)
    assert chosen(candidates, fork(), samples=1, scale=1e-4) == 2


def test_a_policy_is_even_within_the_groups_it_chose() -> None:
    found = learn(fork(), intervals(4, 2), samples=10_000, rng=np.random.default_rng(0))
    np.testing.assert_allclose(found, [[0, 0, 0.5, 0.5], [0.5, 0.5, 0, 0]])
    alone = learn(fork(), intervals(4, 4), samples=100_000, rng=np.random.default_rng(0))
    np.testing.assert_allclose(alone[1, 0] + alone[1, 1], 1)
    assert fork().values(alone)[0] == pytest.approx(0.8, abs=1e-6)


def test_what_was_never_sampled_is_taken_to_earn_nothing() -> None:
    found = learn(fork(), intervals(4, 4), samples=1, rng=np.random.default_rng(0))
    assert found.sum() == 2
    with pytest.raises(ValueError, match="at least one sample, got 0"):
        learn(fork(), intervals(4, 4), samples=0, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"gamma": 1.0}, r"gamma in \[0, 1\)"),
        ({"transitions": np.full((2, 4, 2), 0.4)}, "sum to 1 over the next state"),
        ({"rewards": np.full((2, 4), 1.5)}, "rewards are probabilities of a reward of 1"),
        ({"rewards": np.zeros((2, 3))}, "transitions are"),
    ],
)
def test_what_is_no_process_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Discounted(**{**vars(fork()), **change})  # type: ignore[arg-type]


def test_impossible_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="there are 1 to 4 groups of 4 actions, got 5"):
        intervals(4, 5)
