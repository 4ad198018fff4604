"""Bandits pay what their means say, splits differ, and rules and posteriors are those of the formulas."""

from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tiltyard.benchmarks.testbeds import arm_bandits as bed
from tiltyard.envs import InvalidAction

COUNTS, SUMS = np.array([[4, 1, 0], [4, 1, 2]]), np.array([[2.0, 0.9, 0.0], [2.0, 0.9, 1.0]])


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_it_is_a_gymnasium_environment() -> None:
    check_env(bed.ArmBanditEnv(), skip_render_check=True)


@pytest.mark.parametrize("kind", bed.KINDS)
def test_arms_pay_their_means_and_a_seed_its_noise(kind: str) -> None:
    env = bed.ArmBanditVectorEnv(50, kind=kind, pulls=400)
    _, info = env.reset(seed=3)
    arms = env.expert().predict(None)[0]
    assert arms.tolist() == info["means"].argmax(axis=1).tolist()
    paid = []
    for t in range(400):
        _, rewards, terminated, _, _ = env.step(arms)
        paid.append(rewards)
        assert terminated.all() == (t == 399)
    assert np.mean(paid) == pytest.approx(info["means"].max(axis=1).mean(), abs=0.01)
    if kind == "gaussian":
        assert np.std(np.array(paid) - info["means"].max(axis=1)) == pytest.approx(bed.NOISE, abs=0.005)
    else:
        assert set(np.unique(paid)) == {0.0, 1.0}
    env.reset(seed=3)
    np.testing.assert_array_equal(env.step(arms)[1], paid[0])


def test_splits_and_seeds_are_other_bandits() -> None:
    found = [
        bed.ArmBanditVectorEnv(2, split=split).reset(seed=seed)[1]["means"].ravel()
        for split in ("train", "test")
        for seed in (0, 2)
    ]
    assert len(np.unique(np.concatenate(found))) == 40


@pytest.mark.parametrize(
    ("how", "says"), [({"kind": "normal"}, "unknown kind"), ({"arms": 1}, "at least 2 arms"), ({"pulls": 0}, "1 pull")]
)
def test_strange_bandits_are_refused(how: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        bed.ArmBandits(1, **how)
    env = bed.ArmBanditVectorEnv(2)
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match=r"an arm from 0 to 4, got \[5, 0\]"):
        env.step(np.array([5, 0]))


def test_rules_by_hand() -> None:
    # means: 0.5, 0.9, none; and 0.5, 0.9, 0.5
    assert bed.empirical_mean(COUNTS, SUMS, rng()).argmax(axis=1).tolist() == [2, 1]
    assert bed.greedy(COUNTS, SUMS, rng()).argmax(axis=1).tolist() == [1, 1]
    assert bed.ucb(0.1)(COUNTS, SUMS, rng()).argmax(axis=1).tolist() == [2, 1]
    # 0.5 - 1/2, 0.9 - 1, 0.5 - 1/sqrt(2)
    assert bed.lcb(1.0)(COUNTS, SUMS, rng()).argmax(axis=1).tolist() == [0, 0]
    assert bed.lcb(0.1)(COUNTS, SUMS, rng()).argmax(axis=1).tolist() == [1, 1]
    # 0.5 + 2/2, 0.9 + 2, against 0.5 + 2/sqrt(2)
    assert bed.ucb(2.0)(COUNTS, SUMS, rng())[1].tolist() == [0, 1, 0]


def test_the_best_arm_of_two_by_hand() -> None:
    # one success against none seen: P(Beta(2, 1) > U) = 2/3; against a failure P(Beta(2, 1) > Beta(1, 2)) = 5/6
    found = bed.optimal_arm_probabilities(np.array([[1, 0], [1, 1], [0, 0]]), np.array([[1.0, 0], [1, 0], [0, 0]]))
    assert found[:, 0] == pytest.approx([2 / 3, 5 / 6, 1 / 2], abs=1e-4)


@pytest.mark.parametrize("kind", bed.KINDS)
def test_thompson_sampling_draws_from_the_posterior(kind: str) -> None:
    counts, sums = np.tile([[3, 1, 0]], (20_000, 1)), np.tile([[2.0, 1.0, 0.0]], (20_000, 1))
    shares = bed.thompson(kind)(counts, sums, rng()).mean(axis=0)
    if kind == "bernoulli":
        exact = bed.optimal_arm_probabilities(counts[:1], sums[:1])[0]
    else:  # on a grid: a uniform prior times the likelihood of the mean of n rewards
        x = (np.arange(2000) + 0.5) / 2000
        density = np.stack([np.exp(-3 * (x - 2 / 3) ** 2 / 0.18), np.exp(-((x - 1) ** 2) / 0.18), np.ones(2000)])
        density /= density.sum(axis=1, keepdims=True)
        below = density.cumsum(axis=1) - density / 2
        exact = np.array([(density[a] * np.delete(below, a, axis=0).prod(axis=0)).sum() for a in range(3)])
    assert shares == pytest.approx(exact, abs=0.015)
