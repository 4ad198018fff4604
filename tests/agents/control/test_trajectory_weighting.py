import math
from typing import Any

import numpy as np
import pytest

from tiltyard.agents import BC
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.trajectory_weighting import expected_returns, positive_sided_variance, sampling_weights


def trajectories(returns: list[float], lengths: list[int], starts: list[float] | None = None) -> Transitions:
    """Episodes that pay in their last step; observations of the Pendulum's shape; actions tell the episode."""
    n, ends = sum(lengths), np.cumsum(lengths) - 1
    rewards, observations = np.zeros(n, np.float32), np.zeros((n, 3), np.float32)
    rewards[ends] = returns
    observations[ends - np.array(lengths) + 1, 0] = starts or 0.0
    episodes = np.repeat(np.arange(len(lengths)), lengths)
    return Transitions(
        observations=observations,
        actions=episodes.astype(np.float32)[:, None] / 10,
        rewards=rewards,
        next_observations=observations,
        terminations=np.zeros(n, np.float32),
        ends=np.isin(np.arange(n), ends),
        episodes=episodes,
        episode_returns=np.array(returns, float),
    )


def test_return_weights_by_hand() -> None:
    # Returns -5, 0 and 5 scale to 0, 1/2 and 1; divided by a temperature of 1/2: 0, 1 and 2. The middle has two steps.
    found = sampling_weights(trajectories([-5, 0, 5], [1, 2, 1]), "return-weighting", 0.5)
    total = 1 + 2 * math.e + math.e**2
    assert found == pytest.approx(np.array([1, math.e, math.e, math.e**2]) / total)


def test_uniform_has_no_weights() -> None:
    assert sampling_weights(trajectories([0, 1], [1, 1]), "uniform", 0.1) is None


def test_advantage_weights_do_not_take_a_lucky_start_for_skill() -> None:
    # What is usual is 10 from a start at 0 and 30 from a start at 1; the second and the last did better than that.
    data = trajectories([9, 11, 29, 31], [1, 3, 1, 1], starts=[0, 0, 1, 1])
    assert expected_returns(data) == pytest.approx([10, 10, 30, 30])
    better, worse = math.e**2, 1.0  # advantages 1 and -1 scale to 1 and 0
    expected = np.array([worse, better, better, better, worse, better])
    found = sampling_weights(data, "advantage-weighting", 0.5)
    assert found == pytest.approx(expected / expected.sum())
    by_return = sampling_weights(data, "return-weighting", 0.5)
    assert by_return is not None
    assert by_return[4] > by_return[1]


@pytest.mark.parametrize("sampler", ["return-weighting", "advantage-weighting"])
def test_equally_good_trajectories_are_drawn_equally(sampler: str) -> None:
    found = sampling_weights(trajectories([7.1] * 5, [2] * 5), sampler, 0.1)
    assert found == pytest.approx(np.full(10, 0.1))


def test_what_a_regression_explains_but_for_rounding_is_no_merit() -> None:
    starts = np.linspace(0.1, 0.9, 7).tolist()
    data = trajectories([300 * start + 1000 for start in starts], [1] * 7, starts)
    assert sampling_weights(data, "advantage-weighting", 0.1) == pytest.approx(np.full(7, 1 / 7))


def test_a_tiny_temperature_overflows_nothing() -> None:
    found = sampling_weights(trajectories([0, 1e6], [1, 1]), "return-weighting", 1e-4)
    assert found == pytest.approx([0, 1])


def test_positive_sided_variance_by_hand() -> None:
    assert positive_sided_variance([0, 0, 0, 8]) == pytest.approx((8 - 2) ** 2 / 4)
    assert positive_sided_variance([8, 8, 8, 0]) == pytest.approx(3 * (8 - 6) ** 2 / 4)  # the same variance otherwise
    assert positive_sided_variance([5, 5]) == 0
    with pytest.raises(ValueError, match="at least one return"):
        positive_sided_variance([])


def agent(**settings: Any) -> BC:
    return BC("MlpPolicy", "Pendulum-v1", seed=0, buffer_size=10, policy_kwargs={"net_arch": [4]}, **settings)


def test_an_agent_draws_what_its_sampler_says() -> None:
    data = trajectories([0] * 9 + [1], [1] * 10)
    shares = {}
    for sampler in ("uniform", "return-weighting"):
        learner = agent(sampler=sampler, sampler_temperature=0.5).learn_offline(data, 0)
        shares[sampler] = float(
            (learner.sample(4000).actions * 2 > 0.85).float().mean()
        )  # the Pendulum's actions reach 2
    assert shares["uniform"] == pytest.approx(0.1, abs=0.02)
    assert shares["return-weighting"] == pytest.approx(math.e**2 / (9 + math.e**2), abs=0.03)


def test_a_bad_sampler_is_refused_at_construction() -> None:
    with pytest.raises(ValueError, match="unknown sampler 'advantage-weigthing'; did you mean 'advantage-weighting'"):
        agent(sampler="advantage-weigthing")
    with pytest.raises(ValueError, match="sampler_temperature must be a number above 0"):
        agent(sampler_temperature=0.0)
