"""Bandits pay the inner product of their weights and an arm's features, splits differ, and strange ones are refused."""

from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tiltyard.benchmarks.testbeds import linear_bandits as bed
from tiltyard.envs import InvalidAction


def test_it_is_a_gymnasium_environment() -> None:
    check_env(bed.LinearBanditEnv(), skip_render_check=True)


def test_arms_pay_their_means_and_a_seed_its_noise() -> None:
    env = bed.LinearBanditVectorEnv(50, arms=4, features=3, pulls=400, noise=0.5)
    seen, info = env.reset(seed=3)
    assert seen.shape == (50, 4, 3)
    means = np.einsum("nai,ni->na", seen.astype(float), env.batched.weights)
    np.testing.assert_allclose(info["means"], means, atol=1e-6)
    best = env.expert().predict(None)[0]
    assert best.tolist() == means.argmax(axis=1).tolist()
    paid = []
    for t in range(400):
        again, rewards, terminated, _, step = env.step(best)
        paid.append(rewards)
        assert terminated.all() == (t == 399)
        assert step["success"].all()
        if t < 399:
            np.testing.assert_array_equal(again, seen)
    noise = np.array(paid) - means.max(axis=1)
    assert (noise.mean(), noise.std()) == (pytest.approx(0, abs=0.02), pytest.approx(0.5, abs=0.01))
    env.reset(seed=3)
    np.testing.assert_array_equal(env.step(best)[1], paid[0])
    worst = means.argmin(axis=1)
    env.reset(seed=3)
    np.testing.assert_allclose(env.step(worst)[1] - means.min(axis=1), noise[0], atol=1e-6)


def test_weights_are_standard_normal_and_features_uniform() -> None:
    env = bed.LinearBanditVectorEnv(2000)
    seen, _ = env.reset(seed=0)
    assert np.std(env.batched.weights) == pytest.approx(1, abs=0.02)
    assert np.mean(env.batched.weights) == pytest.approx(0, abs=0.03)
    assert (np.std(seen), np.abs(seen).max()) == (pytest.approx(3**-0.5, abs=0.01), pytest.approx(1, abs=0.01))


def test_splits_and_seeds_are_other_bandits() -> None:
    found = [
        bed.LinearBanditVectorEnv(2, split=split).reset(seed=seed)[0].ravel()
        for split in ("train", "test")
        for seed in (0, 2)
    ]
    assert len(np.unique(np.concatenate(found))) == 4 * 2 * 50


@pytest.mark.parametrize("how", [{"arms": 1}, {"features": 0}, {"pulls": 0}, {"noise": -1.0}, {"noise": float("nan")}])
def test_strange_bandits_are_refused(how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="at least 2 arms, 1 feature, 1 pull and no negative noise"):
        bed.LinearBandits(1, **how)


def test_strange_actions_are_refused() -> None:
    env = bed.LinearBanditVectorEnv(2)
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match=r"an arm from 0 to 9, got \[10, 0\]"):
        env.step(np.array([10, 0]))
