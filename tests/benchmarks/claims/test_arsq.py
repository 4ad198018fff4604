import numpy as np
import pytest

from tiltyard.benchmarks.claims import arsq


def test_rewards_by_hand() -> None:
    # exp(-1.2^2 / 0.08) = 1.5e-8, so a mode hardly sees the others.
    found = arsq.reward([[0.6, 0.6], [-0.6, -0.6], [0.6, -0.6], [-0.6, 0.6], [0.6, 0.8]])
    assert found == pytest.approx([1, 0.36, -0.6, -0.6, np.exp(-0.5)], abs=1e-6)


def test_demonstrations_mislead_who_sees_one_dimension_at_a_time() -> None:
    data = arsq.demonstrations(3)
    assert data.rewards == pytest.approx(arsq.reward(data.actions))
    assert np.mean((data.actions > 0).all(axis=1)) == pytest.approx(0.1, abs=0.03)
    for dimension in data.actions.T:
        assert data.rewards[dimension > 0].mean() < data.rewards[dimension < 0].mean() - 0.03
    assert not np.array_equal(data.actions, arsq.demonstrations(4).actions)


def test_the_effect_is_what_conditioning_earns_more_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    earned = {"auto-regressive": 0.9, "additive": 0.7, "independent": 0.3}
    monkeypatch.setattr(arsq, "rewards_of", lambda name, seed: (0.0, earned[name] + 0.1 * seed))
    monkeypatch.setattr(arsq, "hopper_scores", lambda name, seed: (0.5, 2 * earned[name]))
    found = arsq.measure(seeds=5)
    assert found.effect.estimate == pytest.approx(0.6)  # the same in every seed: no width
    assert found.effect.low == pytest.approx(found.effect.high)
    bandit = found.details["bandit, reward"]
    assert bandit["auto-regressive minus"]["additive"]["estimate"] == pytest.approx(0.2)
    assert bandit["in the end"]["independent"]["estimate"] == pytest.approx(0.3 + 0.2)
    assert bandit["from the data alone"]["additive"]["estimate"] == 0
    hopper = found.details[f"{arsq.TASK}, normalised return"]
    assert hopper["seeds"] == 4
    assert hopper["auto-regressive minus"]["independent"]["estimate"] == pytest.approx(1.2)


def test_noisy_experts_do_worse_the_noisier_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arsq, "EPISODES", 4)
    data = arsq.noisy_expert(0)
    assert data.ends.sum() == len(data.episode_returns) == 4
    assert data.episode_returns[0] > 3 * data.episode_returns[-1]
    assert data.terminations[data.ends].all()  # fallen
    assert data.episode_returns.sum() == pytest.approx(data.rewards.sum(), rel=1e-4)
    np.testing.assert_array_equal(data.observations[1], data.next_observations[0])


def test_the_experiment_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"STEPS": 6, "TASK_STEPS": 6, "EPISODES": 2}.items():
        monkeypatch.setattr(arsq, name, value)
    found = arsq.measure(seeds=3)
    assert np.isfinite([found.effect.low, found.effect.estimate, found.effect.high]).all()
    assert found.details["settings of all"]["net_arch"] == [64, 64]
