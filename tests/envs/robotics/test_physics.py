"""Scaled physics: each factor does what its name says, to the number."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest

from tiltyard.envs.robotics.ant import Ant
from tiltyard.envs.robotics.locomotion import HalfCheetah, Hopper, Walker2d
from tiltyard.envs.robotics.physics import scale_physics

BALL = "<mujoco><worldbody><body pos='0 0 10'><freejoint/><geom size='0.1' density='1000'/></body></worldbody></mujoco>"


def fallen(factors: dict[str, float], seconds: float = 1.0) -> float:
    model = mujoco.MjModel.from_xml_string(BALL)
    scale_physics(model, factors)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, nstep=round(seconds / model.opt.timestep))
    return float(10.0 - data.qpos[2])


def test_free_fall_by_hand() -> None:
    # g t^2 / 2 = 4.905 m in the first second, and Euler's steps of 0.002 s add g t 0.002 / 2 = 0.00981 m.
    assert fallen({}) == pytest.approx(4.905 + 0.00981, abs=1e-9)
    assert fallen({"gravity": 2.0}) == pytest.approx(2 * (4.905 + 0.00981), abs=1e-9)
    assert fallen({"mass": 3.0}) == pytest.approx(4.905 + 0.00981, abs=1e-9)  # as Galileo had it


def test_runner_in_the_air_falls_twice_as_fast_under_twice_the_gravity() -> None:
    drops = []
    for factor in (1.0, 2.0):
        batched = Hopper(1, physics_scale={"gravity": factor}, reset_noise_scale=0.0)
        batched.begin(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
        batched.qpos[0, 1] += 5.0
        before = batched.qpos[0, 1]
        batched.advance(np.zeros((1, 3), np.float32), np.ones(1, bool))
        drops.append(before - batched.qpos[0, 1])
    # RK4 is exact in free fall: 9.81 * (4 * 0.002 s)^2 / 2.
    np.testing.assert_allclose(drops, [9.81 * 0.008**2 / 2, 2 * 9.81 * 0.008**2 / 2], rtol=1e-6)


@pytest.mark.parametrize("batched_class", [HalfCheetah, Hopper, Walker2d, Ant])
def test_every_factor_scales_its_own_part_alone(batched_class: Any) -> None:
    parts = {
        "gravity": lambda model: model.opt.gravity,
        "friction": lambda model: model.geom_friction,
        "mass": lambda model: np.append(model.body_mass, model.body_inertia),
        "damping": lambda model: model.dof_damping,
    }
    plain = batched_class(1).model
    for name in parts:
        scaled = batched_class(1, physics_scale={name: 1.7}).model
        for other, part in parts.items():
            np.testing.assert_allclose(part(scaled), part(plain) * (1.7 if other == name else 1.0), rtol=1e-12)


def test_what_the_compiler_derived_from_mass_follows() -> None:
    plain, heavy = Hopper(1).model, Hopper(1, physics_scale={"mass": 2.0}).model
    np.testing.assert_allclose(heavy.body_subtreemass, 2 * plain.body_subtreemass)
    np.testing.assert_allclose(heavy.body_invweight0[1:, 0], plain.body_invweight0[1:, 0] / 2, rtol=0.2)


def test_factors_of_one_leave_the_trajectory_as_it_was_and_others_do_not() -> None:
    def trajectory(**kwargs: Any) -> np.ndarray:
        env = gymnasium.make("tiltyard/Walker2d-v5", **kwargs)
        env.reset(seed=0)
        return np.array([env.step(np.full(6, 0.3, np.float32))[0] for _ in range(15)])

    plain = trajectory()
    np.testing.assert_allclose(trajectory(physics_scale={"mass": 1.0, "gravity": 1}), plain, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(trajectory(physics_scale={}), plain)
    for name in ("gravity", "friction", "mass", "damping"):
        assert (trajectory(physics_scale={name: 1.5}) != plain).any(), name


@pytest.mark.parametrize("bad", [0.0, -1.0, float("nan"), float("inf"), "2", None, True])
def test_factor_that_is_not_positive_and_finite_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"physics_scale\['mass'\] must be a positive finite factor, got"):
        Hopper(1, physics_scale={"gravity": 2.0, "mass": bad})


def test_factor_of_numpy_is_taken() -> None:
    assert Hopper(1, physics_scale={"gravity": np.float32(2.0)}).model.opt.gravity[2] == 2 * -9.81


@pytest.mark.parametrize("scale", [-1.0, float("inf")])
def test_noise_of_the_first_state_is_finite_and_not_negative(scale: float) -> None:
    with pytest.raises(ValueError, match="reset_noise_scale must be finite and not negative"):
        Hopper(1, reset_noise_scale=scale)


def test_unknown_factor_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="unknown physics_scale 'gravty'; did you mean 'gravity'"):
        gymnasium.make("tiltyard/Ant-v5", physics_scale={"gravty": 2.0})
