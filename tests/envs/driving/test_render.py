import numpy as np
import pytest

from tiltyard.envs.driving.render import EGO, EGO_X, SIZE
from tiltyard.envs.driving.scenarios.highway import HighwayEnv


def test_a_frame_shows_the_ego_where_the_camera_expects_it():
    env = HighwayEnv(render_mode="rgb_array", lanes=1, density=0.0, split="test")
    env.reset(seed=0)
    frame = env.render()
    assert frame.shape == (SIZE[1], SIZE[0], 3)
    assert frame.dtype == np.uint8
    near = np.abs(frame[:, EGO_X - 14 : EGO_X + 14].astype(int) - EGO).sum(axis=2)
    rows = np.flatnonzero((near < 30).any(axis=1) & (np.arange(SIZE[1]) > 44))
    assert rows.mean() == pytest.approx(SIZE[1] / 2 + 14, abs=2.0)
    assert np.array_equal(frame, env.render())


def test_every_moment_of_an_episode_can_be_drawn():
    env = HighwayEnv(render_mode="rgb_array", route_length=300.0, density=20.0, split="test")
    env.reset(seed=1)
    frames, over = [], False
    while not over:
        _, _, over, _, info = env.step(env.expert().predict(None)[0])
        frames.append(env.render())
    assert info["success"]
    assert all((a != b).any() for a, b in zip(frames[:-1], frames[1:], strict=True))


def test_without_a_render_mode_there_is_no_frame():
    env = HighwayEnv()
    env.reset(seed=0)
    assert env.render() is None
