import numpy as np
import pytest

from tiltyard.benchmarks.rewarddesign_thesis import Designer, Process, ahead, designed, differences, potential_based


def line(length: int = 5, gamma: float = 0.5) -> Process:
    """Left or right without chance; going right at the last place pays 1, and nothing comes after it."""
    transitions, rewards = np.zeros((length + 1, 2, length + 1)), np.zeros((length + 1, 2))
    for place in range(length):
        transitions[place, 0, max(place - 1, 0)] = transitions[place, 1, place + 1] = 1
    transitions[length, :, length] = 1
    rewards[length - 1, 1] = 1
    return Process(transitions, rewards, gamma)


def test_best_values_and_gaps_by_hand() -> None:
    process = line(3)  # values 1/4, 1/2, 1 of going right; going left costs a step there and one back
    np.testing.assert_allclose(process.optimum()[:3], [[0.125, 0.25], [0.125, 0.5], [0.25, 1.0]])
    np.testing.assert_allclose(process.gaps(), [[0.125, 0], [0.375, 0], [0.75, 0], [0, 0]])


def test_potential_based_rewards_are_minus_the_gaps() -> None:
    process = line(3)
    np.testing.assert_allclose(potential_based(process), -process.gaps(), atol=1e-12)


def test_values_over_some_steps_are_linear_in_rewards_by_hand() -> None:
    process, right = line(3), np.ones(4, np.int64)
    rewards = np.zeros((4, 2))
    rewards[1], rewards[2] = [3.0, 2.0], [5.0, 4.0]  # left and right
    over_one = (ahead(process, right, 1) @ rewards.ravel()).reshape(4, 2)
    assert over_one[0].tolist() == [0, 0.5 * 2]  # going left stays, and then right pays nothing at place 0
    assert over_one[1].tolist() == [3, 2 + 0.5 * 4]
    whole = (ahead(process, right, None) @ rewards.ravel()).reshape(4, 2)
    assert whole[0, 1] == pytest.approx(0.5 * 2 + 0.25 * 4)
    many = (ahead(process, right, 60) @ rewards.ravel()).reshape(4, 2)
    np.testing.assert_allclose(many, whole)
    gap = (differences(ahead(process, right, 1), process, right) @ rewards.ravel())[1]
    assert gap.tolist() == [4 - 3, 0]


def test_informativeness_by_hand() -> None:
    # Two places, gamma 1/2, one step ahead. Gaps of the original reward: at place 0, right is worth 1/2, left 1/4; at
    # place 1, 1 and 1/4. Over one more step the original reward has differences 1/2 - 0 and 1 - 0: the last is enough,
    # the first too: nothing is lost.
    process = line(2)
    assert process.gaps()[:2, 0].tolist() == [0.25, 0.75]
    assert Designer(process, horizons=(1,)).on(()).informativeness == pytest.approx(0, abs=1e-7)
    # With no step ahead place 0 has no difference: its gap of 1/4 is lost, unless it has a reward of its own.
    blind = Designer(process, horizons=(0,))
    assert blind.on(()).informativeness == pytest.approx(-0.25, abs=1e-6)
    assert blind.on((0,)).informativeness == pytest.approx(0, abs=1e-6)


def test_a_reward_on_all_states_is_as_informative_as_shaping() -> None:
    assert Designer(line()).on(range(6)).informativeness == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("budget", [0, 1, 2])
def test_designed_rewards_are_sparse_and_keep_the_best_behaviour(budget: int) -> None:
    process = line(6, gamma=0.9)
    found = designed(process, budget)
    assert len(found.states) == budget + 1
    assert set(np.flatnonzero(np.abs(found.rewards).max(axis=1) > 1e-7)) <= set(found.states)
    assert np.abs(found.rewards).max() <= 1 + 1e-9
    best = Process(process.transitions, found.rewards, process.gamma).gaps() == 0
    assert (process.gaps()[best] == 0).all()


def test_more_states_are_more_informative_and_the_greedy_choice_is_the_best_one() -> None:
    process = line(5, gamma=0.9)
    designer = Designer(process)
    every = [designer.on((state,)).informativeness for state in range(6)]
    assert designed(process, 1).informativeness == pytest.approx(max(every))
    worth = [designed(process, budget).informativeness for budget in (0, 1, 2)]
    assert worth == sorted(worth)
    assert worth[0] < -0.01


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="the budget is 0 to 5 states, got 6"):
        designed(line(), 6)
    with pytest.raises(ValueError, match="no reward on these states keeps the best behaviour within the limit"):
        Designer(line(), limit=1e-3).on(())
    with pytest.raises(ValueError, match=r"gamma in \[0, 1\)"):
        line(gamma=1.0)
