import numpy as np
import pytest

from tiltyard.benchmarks.claims import hl_gauss


def test_values_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hl_gauss, "GAMMA", 0.5)
    monkeypatch.setattr(hl_gauss, "JUDGED", 2)
    walk = hl_gauss.Walk(np.zeros((4, 1, 3)), np.array([[1.0], [2.0], [4.0]]))
    states, values = walk.values()
    assert values.tolist() == [1 + 0.5 * (2 + 0.5 * 4), 2 + 0.5 * 4]
    assert states.shape == (2, 3)


def test_the_policy_swings_up() -> None:
    walk = hl_gauss.walk(3)
    assert walk.observations.shape == (201, 40, 3)
    assert walk.rewards[-20:].mean() > -0.1
    assert walk.rewards[:20].mean() < -2


def test_the_lead_is_over_the_better_squared_error() -> None:
    # Arms: plain, scaled, two-hot, HL-Gauss; two seeds, two levels. Plain is better at the first level, scaled at the
    # second: 5 - 4 and 7 - 6; 3 - 2 and 1 - 2.
    found = np.array([[[5, 9], [9, 3], [0, 0], [4, 2]], [[7, 9], [9, 1], [0, 0], [6, 2]]], float)
    assert hl_gauss.lead(found).tolist() == [[1, 1], [1, -1]]


def test_every_head_learns_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hl_gauss, "UPDATES", 300)
    data, fresh = hl_gauss.walk(0), hl_gauss.walk(1)
    states, truth = fresh.values()
    for head, settings, scale in hl_gauss.ARMS.values():
        values = hl_gauss.learn(data, head, settings, scale, 0)(states)
        assert np.corrcoef(values, truth)[0, 1] > 0.5


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"UPDATES": 5, "EPISODES": 3, "STEPS": 20, "JUDGED": 10}.items():
        monkeypatch.setattr(hl_gauss, name, value)
    found = hl_gauss.measure(seeds=3)
    by_level = found.details["lead of HL-Gauss by noise"]
    assert found.effect.estimate == pytest.approx((by_level["2"]["estimate"] + by_level["8"]["estimate"]) / 2)
    assert found.details["error in percent by noise"].keys() == hl_gauss.ARMS.keys()
