"""Running moments of observations and the scale of returns, by hand."""

import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box

from tiltyard.agents.control.parallel.normalisation import NormalizedObservations, ReturnScale


def test_observations_lose_their_mean_and_are_divided_by_their_deviation() -> None:
    extractor = NormalizedObservations(Box(-np.inf, np.inf, (2,)), clip_obs=1.5)
    seen = th.tensor([[1.0, 10.0], [3.0, 30.0], [5.0, 20.0]])
    assert th.equal(extractor(seen), seen.clamp(max=1.5))
    extractor.update(seen)
    deviations = np.array([np.sqrt(8 / 3), np.sqrt(200 / 3)])
    expected = (np.array([[2.0, 20.0], [9.0, 0.0]]) - [3.0, 20.0]) / deviations
    found = extractor(th.tensor([[2.0, 20.0], [9.0, 0.0]])).numpy()
    np.testing.assert_allclose(found, expected.clip(-1.5, 1.5), atol=1e-3)
    assert abs(expected).max() > 1.5


def test_returns_begin_anew_with_each_episode_and_skip_resets() -> None:
    scale = ReturnScale(0.5, limit=2.0)
    scale.reset(2)
    both, no = np.ones(2, np.bool_), np.zeros(2, np.bool_)
    assert scale.factor == pytest.approx(1.0)
    scale.step(np.array([4.0, 8.0]), no, both)  # returns 4 and 8
    scale.step(np.array([2.0, 0.0]), np.array([True, False]), both)  # 4, which ends, and 4
    scale.step(np.array([9.0, 2.0]), no, np.array([False, True]))  # a reset, and 4
    scale.step(np.array([1.0, 2.0]), no, both)  # 1, anew, and 4
    returns = [4.0, 8.0, 4.0, 4.0, 4.0, 1.0, 4.0]
    assert float(scale.var) == pytest.approx(np.var(returns), rel=1e-3)
    assert float(scale.peak) == 8.0
    assert scale.factor == pytest.approx(1 / 4.0)  # 8 / 2, which is more than the deviation
    scale.limit = 1e9
    assert scale.factor == pytest.approx(1 / np.std(returns), rel=1e-3)
