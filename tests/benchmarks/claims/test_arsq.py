import numpy as np
import pytest

from tiltyard.benchmarks.claims.arsq import CLAIM
from tiltyard.benchmarks.testbeds.bandit import demonstrations, reward
from tiltyard.benchmarks.testbeds.mixed_experts import TASK, noisy_expert


def test_rewards_by_hand() -> None:
    # exp(-1.2^2 / 0.08) = 1.5e-8, so a mode hardly sees the others.
    found = reward([[0.6, 0.6], [-0.6, -0.6], [0.6, -0.6], [-0.6, 0.6], [0.6, 0.8]])
    assert found == pytest.approx([1, 0.36, -0.6, -0.6, np.exp(-0.5)], abs=1e-6)


def test_demonstrations_deceive_who_sees_one_dimension_at_a_time() -> None:
    data = demonstrations(3)
    assert data.rewards == pytest.approx(reward(data.actions))
    assert np.mean((data.actions > 0).all(axis=1)) == pytest.approx(0.1, abs=0.03)
    for dimension in data.actions.T:
        assert data.rewards[dimension > 0].mean() < data.rewards[dimension < 0].mean() - 0.03
    assert not np.array_equal(data.actions, demonstrations(4).actions)


def test_noisy_experts_do_worse_the_noisier_they_are() -> None:
    data = noisy_expert(TASK, 0, episodes=4)
    assert data.ends.sum() == len(data.episode_returns) == 4
    assert data.episode_returns[0] > 3 * data.episode_returns[-1]
    assert data.terminations[data.ends].all()  # fallen
    assert data.episode_returns.sum() == pytest.approx(data.rewards.sum(), rel=1e-4)
    np.testing.assert_array_equal(data.observations[1], data.next_observations[0])


@pytest.mark.slow
def test_the_effect_is_what_conditioning_earns_more() -> None:
    found = CLAIM.smallest().measure()
    bandit, hopper = found.details["bandit, reward"], found.details[f"{TASK}, normalised return"]
    ends = {name: one["estimate"] for name, one in bandit["in the end"].items()}
    assert found.means["bandit"] == pytest.approx(ends["auto-regressive"] - ends["independent"])
    assert [part.decides for part in found.parts.values()] == [True, False]
    assert bandit["auto-regressive minus"].keys() == {"additive", "independent"}
    assert hopper["auto-regressive minus"].keys() == {"independent"}
    assert hopper["seeds"] == 3
