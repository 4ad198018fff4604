"""A point around a post: what ends an episode, what demonstrations hold, and a small run."""

from dataclasses import replace

import numpy as np
import pytest

from tiltyard.benchmarks.testbeds.detour import Detour, Learner, WeakDemonstrations
from tiltyard.envs import InvalidAction

BED = WeakDemonstrations()


def test_the_goal_pays_and_the_post_and_the_limit_do_not() -> None:
    """By hand: from (0, -1) four steps straight up lead to (0, -0.2), which is in the post; three to (0, -0.4)."""
    points = Detour(3, limit=4)
    points.begin(np.arange(3), np.zeros(3, np.int64), np.arange(3))
    points.place[:] = (0.0, -1.0), (0.5, 0.7), (-1.1, 0.0)
    points.goal[:] = (0.5, 1.0)
    every = np.ones(3, np.bool_)
    moves = np.array([[0.0, 1.0], [0.0, 1.0], [-1.0, 0.0]])
    rewards, over = points.advance(moves, every)
    assert rewards.tolist() == [0.0, 1.0, 0.0]  # (0.5, 0.9) is 0.1 from the goal
    assert over.tolist() == [False, True, False]
    assert points.step_info()["success"].tolist() == [False, True, False]
    assert points.place[2].tolist() == [-1.2, 0.0]
    active = np.array([True, False, True])
    assert not points.advance(moves, active)[1][0]
    assert points.place[0].tolist() == pytest.approx([0.0, -0.6])
    points.place[0, 1] = -0.59
    rewards, over = points.advance(moves, active)
    assert (float(rewards[0]), bool(over[0]), bool(over[2])) == (0.0, True, False)
    assert bool(points.advance(moves, active)[1][2])  # the fourth step
    with pytest.raises(InvalidAction, match="two numbers from -1 to 1"):
        points.check(np.full((3, 2), 1.5))


def test_the_expert_solves_all_problems_on_both_sides() -> None:
    data = replace(BED, demonstrations=100, noise=0.0).data(0)
    assert data.episode_returns.tolist() == [1.0] * 100
    middle = data.observations[np.abs(data.observations[:, 1]) < 0.1, 0]
    assert {-1.0, 1.0} == set(np.sign(middle))


def test_demonstrations_are_whole_episodes_and_poor() -> None:
    data = replace(BED, demonstrations=100).data(0)
    assert 0.3 < data.episode_returns.mean() < 0.9
    starts = np.flatnonzero(np.append(True, data.ends[:-1]))
    assert data.observations[starts, 1].tolist() == [-1.0] * 100
    inner = ~data.ends
    np.testing.assert_array_equal(data.next_observations[:-1][inner[:-1]], data.observations[1:][inner[:-1]])
    ended = data.next_observations[data.ends]
    near = np.linalg.norm(ended[:, :2] - ended[:, 2:], axis=1) <= 0.15 + 1e-6
    assert near.tolist() == (data.episode_returns == 1).tolist()


def test_a_run_is_decided_by_its_seed() -> None:
    bed = replace(BED, updates=300, steps=1024, n_envs=32, moments=1, episodes=40)
    one, again, other = (bed.run(Learner(variant="flow-sde"), 0.001, seed) for seed in (1000, 1000, 1001))
    assert one.successes.tolist() == again.successes.tolist()
    assert one.successes.tolist() != other.successes.tolist()
    assert (one.before, one.after) == tuple(one.successes)
