"""Pictures: by OpenGL where it works, in software everywhere."""

import logging
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from tiltyard.envs.robotics import render
from tiltyard.envs.robotics.locomotion import HalfCheetah, Hopper

SKIN = np.array([204, 153, 102])  # rgba 0.8 0.6 0.4 of both models


@pytest.fixture
def software(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "off")


def started(batched_class: type, **kwargs: object):
    batched = batched_class(2, render_mode="rgb_array", **kwargs)
    batched.begin(np.arange(2), np.arange(2), np.zeros(2, np.int64))
    return batched


@pytest.mark.usefixtures("software")
def test_side_view_draws_the_body_where_it_is() -> None:
    batched = started(Hopper, width=240, height=240, reset_noise_scale=0.0)
    frame = batched.render(0)
    assert batched._view.backend == "software"
    # 2.4 m high, the floor 0.45 m above the lower edge: 100 pixels a metre, z = 0 in row 195, the torso's middle
    # (z = 1.25) in row 70 and the middle column, its top (1.25 + 0.2 + 0.05) in row 45.
    np.testing.assert_allclose(frame[70, 120], SKIN, atol=2)
    np.testing.assert_allclose(frame[50, 120], SKIN, atol=2)
    assert np.abs(frame[40, 120].astype(int) - SKIN).max() > 30
    assert np.abs(frame[70, 130].astype(int) - SKIN).max() > 30  # the torso is 0.05 m thick each way


@pytest.mark.usefixtures("software")
def test_side_view_follows_the_body_over_a_moving_floor() -> None:
    batched = started(HalfCheetah)
    before = batched.render(0)
    batched.qpos[0, 0] += 0.5
    after = batched.render(0)
    np.testing.assert_array_equal(before[: before.shape[0] // 2], after[: after.shape[0] // 2])
    assert (before[-60:] != after[-60:]).any()
    assert (before != batched.render(1)).any()


def test_frame_by_whatever_works_here_has_the_size_asked_for() -> None:
    env = gymnasium.make("tiltyard/HalfCheetah-v5", render_mode="rgb_array", width=200, height=120)
    env.reset(seed=0)
    frame = env.render()
    assert frame.shape == (120, 200, 3)
    assert frame.dtype == np.uint8
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 50
    backend = env.unwrapped.batched._view.backend
    assert backend == render.pick_backend()
    env.close()


def test_without_opengl_it_draws_in_software_and_names_the_packages(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(render, "works", lambda backend: False)  # a machine without the packages
    with caplog.at_level(logging.WARNING):
        assert render.pick_backend() == "software"
    assert "libegl1" in caplog.text
    assert "libosmesa6" in caplog.text
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    with pytest.raises(RuntimeError, match="MUJOCO_GL=osmesa does not work .* apt-get install .*libosmesa6"):
        render.pick_backend()


def test_a_backend_that_cannot_work_is_found_out() -> None:
    assert render.works("no_such_backend") is False


@pytest.mark.usefixtures("software")
def test_unknown_camera_is_refused_by_name_before_there_is_anything_to_draw() -> None:
    with pytest.raises(ValueError, match=r"no camera 'trak': it has \['track'\]"):
        Hopper(1, camera_name="trak")
    with pytest.raises(ValueError, match="exclude each other"):
        Hopper(1, camera_name="track", camera_id=0)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"width": 0}, "width must be at least 1 and at most 8192, got 0"),
        ({"height": 10**7}, "height must be .* at most 8192"),
        ({"max_geom": -1}, "max_geom must be at least 1, got -1"),
        ({"camera_id": -2}, "no camera -2"),
        ({"camera_id": 1}, "no camera 1"),
        ({"default_camera_config": {"distence": 3.0}}, "did you mean 'distance'"),
        ({"default_camera_config": {"lookat": (0.0, 0.0)}}, r"\['lookat'\] must be 3 finite numbers"),
        ({"default_camera_config": {"distance": float("nan")}}, r"\['distance'\] must be a finite number, got nan"),
        ({"visual_options": {99: True}}, "MuJoCo's flags by number .*got 99"),
        ({"visual_options": {"joint": True}}, "got 'joint'"),
    ],
)
def test_views_that_cannot_be_are_refused_at_once(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Hopper(1, **keywords)


def test_flags_of_mujoco_s_own_and_a_free_camera_are_taken() -> None:
    Hopper(1, camera_id=-1, visual_options={mujoco.mjtVisFlag.mjVIS_JOINT: True}, default_camera_config=None)


@pytest.mark.usefixtures("software")
def test_view_is_freed_and_made_anew() -> None:
    batched = started(Hopper)
    first = batched.render()
    batched.close()
    assert batched._view is None
    np.testing.assert_array_equal(batched.render(), first)


def test_floor_is_drawn_without_end_and_with_tiles_of_the_same_size() -> None:
    model = HalfCheetah(1).model
    endless = render._endless(model)
    floor = model.geom("floor").id
    assert model.geom_size[floor].tolist() == [40, 40, 40]
    assert endless.geom_size[floor, :2].tolist() == [0, 0]
    np.testing.assert_allclose(endless.mat_texrepeat[model.geom_matid[floor]], 60 / 40)
