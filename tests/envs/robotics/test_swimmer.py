"""Swimmer's reward, place and success, by hand."""

import gymnasium
import numpy as np
import pytest

from tiltyard.envs.robotics.swimmer import Swimmer


def test_reward_by_hand() -> None:
    env = gymnasium.make("tiltyard/Swimmer-v5")
    _, first = env.reset(seed=3)
    _, reward, _, _, info = env.step(np.array([0.5, -1.0], np.float32))
    assert info["reward_terms"]["reward_ctrl"] == pytest.approx(-1e-4 * 1.25)
    forward = (info["x_position"] - first["x_position"]) / 0.04  # four steps of 0.01 s
    assert info["reward_terms"]["reward_forward"] == pytest.approx(forward)
    assert info["y_velocity"] == pytest.approx((info["y_position"] - first["y_position"]) / 0.04)
    assert info["distance_from_origin"] == pytest.approx(np.hypot(info["x_position"], info["y_position"]))
    assert reward == pytest.approx(forward - 1.25e-4)


def test_success_is_five_metres_ahead() -> None:
    lanes = Swimmer(2)
    lanes.begin(np.arange(2), np.arange(2), np.zeros(2, np.int64))
    goal = lanes.reset_info()["goal_x"]
    np.testing.assert_array_equal(goal, lanes.qpos[:, 0] + 5.0)
    lanes.qpos[:, 0], lanes.qvel[:] = goal + [-0.01, 0.01], 0.0
    lanes.advance(np.zeros((2, 2), np.float32), np.ones(2, bool))
    assert lanes.step_info()["success"].tolist() == [False, True]


def test_view_from_above_follows_the_body(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "off")
    lanes = Swimmer(1, reset_noise_scale=0.0)
    lanes.begin(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
    near = lanes.render()
    lanes.qpos[0, 0] = 20.0
    np.testing.assert_array_equal(lanes.render(), near)  # over another stretch of the same grid
    lanes.qpos[0, 0] = 20.5
    assert (lanes.render() != near).any()
    lanes.close()
