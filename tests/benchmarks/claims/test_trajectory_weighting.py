import numpy as np
import pytest

from tiltyard.agents.control.trajectory_weighting import positive_sided_variance
from tiltyard.benchmarks.claims.trajectory_weighting import CLAIM
from tiltyard.benchmarks.testbeds.pendulum import SwingUps, play, swing_up


def test_swing_up_by_hand() -> None:
    # Hanging at rest (energy -5) it begins to pump: 2 * 0.1 * 10 = 2. Hanging at speed 3 it lacks 5 - (1.5 - 5) = 8.5
    # and pumps all it can. At -0.1 rad and speed 0.2 it stands: 10 * 0.1 - 2 * 0.2 = 0.6.
    angles, speeds = np.array([np.pi, np.pi, -0.1]), np.array([0.0, 3.0, 0.2])
    observations = np.column_stack([np.cos(angles), np.sin(angles), speeds]).astype(np.float32)
    assert swing_up(observations)[:, 0] == pytest.approx([2, 2, 0.6], abs=1e-5)


def test_swing_up_swings_up() -> None:
    _, actions, rewards = play(swing_up, 8, 0)
    assert rewards[:, -20:].min() > -0.01  # all stand still upright
    assert np.abs(actions).max() == 2


def test_datasets_hold_the_trajectories_they_say() -> None:
    task = SwingUps(good=5, trajectories=15)
    data = task.dataset(0)
    assert (len(data), len(data.episode_returns)) == (3000, 15)
    assert (data.lengths == 200).all()
    assert data.episode_returns[:5].min() > data.episode_returns[5:].max() - 200
    assert data.episode_returns[:5].mean() > data.episode_returns[5:].mean() + 500
    np.testing.assert_array_equal(data.observations[1:200], data.next_observations[:199])
    spreads = [positive_sided_variance(data.episode_returns[part]) for part in (slice(None), slice(5))]
    assert spreads[0] > 2 * spreads[1]
    assert data.rewards[:200].sum() == pytest.approx(data.episode_returns[0], abs=1e-2)
    assert not np.array_equal(data.observations[0], task.dataset(1).observations[0])


def test_the_effect_is_of_mixed_trajectories() -> None:
    found = CLAIM.smallest().measure()
    returns = found.details["normalised return"]
    assert len(returns) == 5
    gap = returns["mixed, advantage-weighting"]["estimate"] - returns["mixed, uniform"]["estimate"]
    assert found.means["over uniform"] == pytest.approx(gap)
    assert found.details["positive-sided variance of returns"].keys() == {"mixed", "swing-up alone"}
