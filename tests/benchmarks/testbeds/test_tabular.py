import numpy as np
import pytest

from tiltyard.benchmarks.claims.sqirl import CLAIM, SOLVED, correlation
from tiltyard.benchmarks.testbeds.tabular import PROCESSES, Needs, Processes, TabularTasks, lock, walk


def test_a_walk_alternates_and_a_trap_tempts() -> None:
    mdp = walk(2)
    policy = np.zeros((5, 5), np.int64)
    policy[:, 1] = 0  # right at place 1 is action 1 - 1 % 2 = 0, at place 2 it is action 1
    policy[:, 2] = 1
    assert mdp.returns(policy) == pytest.approx(mdp.optimum())
    assert mdp.returns(np.zeros((5, 5), np.int64)) < 0.5
    assert walk(3, 0.2).rewards[0].tolist() == [0.2, 0.2]


def test_a_lock_opens_by_one_sequence() -> None:
    mdp = lock(3)
    right = np.tile(np.arange(5) % 3, (4, 1))
    kept = 0.9 + 0.1 / 3  # the chosen action, or the same by a slip
    assert mdp.returns(right) == pytest.approx(mdp.optimum()) == pytest.approx(kept**3)


@pytest.mark.parametrize("name", PROCESSES)
def test_returns_lie_between_0_and_1(name: str) -> None:
    assert 0 < PROCESSES[name]().optimum() <= 1


def test_episodes_are_of_the_process() -> None:
    env = Processes(500, lock(2))
    env.reset(seed=0)
    for step in range(3):
        assert env.observed(env.state, step).sum() == 1000
        _, rewards, done, _, _ = env.step(np.full(500, step % 3))
    assert done.all()
    assert rewards.mean() == pytest.approx(lock(2).optimum(), abs=0.05)


def test_ppo_needs_less_for_what_is_easy() -> None:
    bed = TabularTasks(most=320)
    assert bed.ppo(walk(2), 0) < bed.ppo(lock(6), 0) == 320


def test_correlation_by_hand_and_the_premise() -> None:
    assert correlation(Needs(np.array([1.0, 2.0, 3.0]), np.array([5.0, 9.0, 7.0]))) == pytest.approx(0.5)
    assert not CLAIM.premise.missing({SOLVED: 0.9})
    assert "its premise does not hold here" in CLAIM.premise.missing({SOLVED: 0.4})
