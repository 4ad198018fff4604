"""The arm: its controller against the formula, its numbers by hand, its gripper on a block."""

from typing import Any

import mujoco
import numpy as np
import pytest

from tiltyard.envs.robotics.arm import DOWN, BatchedArm, arm_spec, attitude, solve_joints, turned

BLOCK = """<mujoco><worldbody><body name="block" pos="0.5 0 0.02">
<freejoint/><geom type="box" size="0.02 0.02 0.02" mass="0.1" friction="1 0.005 0.0001"/></body></worldbody></mujoco>"""
BLOCK_QPOS = slice(8, 11)


class Lift(BatchedArm):
    """Lift a block by friction: a task of the kind that the arm is meant for."""

    def build_model(self, xml_file: str) -> mujoco.MjModel:
        return arm_spec(mujoco.MjSpec.from_string(BLOCK), in_world=["block"]).compile()

    def start(self, index: int, rng: np.random.Generator) -> None:
        self.place(index, np.array([0.5, 0.0, 0.1]), rng.uniform(-0.1, 0.1), opening=0.06)

    def score(self, actions: Any, qpos_before: Any) -> Any:
        high = self.qpos[:, 10] > 0.08
        return high.astype(float), np.zeros(self.num_envs, bool)

    def observe(self) -> np.ndarray:
        return self.qpos.copy()

    def expert_actions(self) -> np.ndarray:
        return np.zeros((self.num_envs, 5), np.float32)


def started(n: int) -> Lift:
    batched = Lift(n, gripper=True)
    batched.begin(np.arange(n), np.arange(n), np.zeros(n, int))
    return batched


def posed(position: Any = (0.5, 0.1, 0.3), yaw: float = 0.3) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The bare arm at rest, its target where the tool is."""
    model = arm_spec(mujoco.MjSpec()).compile()
    data = mujoco.MjData(model)
    data.qpos[:6] = solve_joints(model, data, np.array(position), yaw)
    data.mocap_pos[0], data.mocap_quat[0] = position, turned(yaw)
    mujoco.mj_forward(model, data)
    return model, data


def push(model: mujoco.MjModel, data: mujoco.MjData, force: Any, torque: Any = (0, 0, 0)) -> None:
    """A steady force at the tool's point, for two seconds."""
    tool = model.site("tcp")
    for _ in range(500):
        data.qfrc_applied[:] = 0
        mujoco.mj_applyFT(
            model,
            data,
            np.array(force, float),
            np.array(torque, float),
            data.site_xpos[tool.id],
            tool.bodyid[0],
            data.qfrc_applied,
        )
        mujoco.mj_step(model, data)


def test_static_deflection_is_force_over_stiffness() -> None:
    model, data = posed()
    push(model, data, (4.0, 0.0, -3.0))
    # 4 N / 2000 N/m = 2 mm, 3 N / 2000 N/m = 1.5 mm
    moved = data.site("tcp").xpos - (0.5, 0.1, 0.3)
    np.testing.assert_allclose(moved, (0.002, 0.0, -0.0015), atol=2e-5)
    model, data = posed()
    push(model, data, (0, 0, 0), (0, 0, 1.5))
    quaternion = np.empty(4)
    mujoco.mju_mat2Quat(quaternion, data.site("tcp").xmat)
    assert attitude(quaternion[None])[0, 2] - 0.3 == pytest.approx(0.02, abs=2e-4)  # 1.5 N m / 75 N m/rad


def test_joint_torques_are_the_impedance_law_and_gravity_compensation() -> None:
    """SERL's law written out: J^T (K clip(e) - B v), axes of the target, and what holds the weight."""
    model, data = posed()
    rng = np.random.default_rng(0)
    for _ in range(20):
        data.qvel[:6] = rng.normal(0, 0.1, 6)
        data.qpos[:6] += rng.normal(0, 0.02, 6)
        mujoco.mj_forward(model, data)
        jacobian = np.zeros((6, model.nv))
        mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], model.site("tcp").id)
        axes = data.site("target").xmat.reshape(3, 3)
        tool = data.site("tcp").xmat.reshape(3, 3)
        error, turn = axes.T @ (data.mocap_pos[0] - data.site("tcp").xpos), np.empty(3)
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, (axes.T @ tool).ravel())
        mujoco.mju_quat2Vel(turn, quaternion, 1.0)
        force = 2000 * np.clip(error, -0.01, 0.01)
        torque = np.clip(-75 * turn, -3, 3)
        wrench = np.concatenate((axes @ force, axes @ torque)) - np.repeat([89, 7], 3) * (jacobian @ data.qvel)
        expected = jacobian.T @ wrench + data.qfrc_gravcomp
        np.testing.assert_allclose(data.qfrc_actuator[:6], expected[:6], atol=1e-8)


def test_far_target_pulls_with_no_more_than_the_clipped_force() -> None:
    model, data = posed()
    data.mocap_pos[0, 2] -= 0.15  # along one axis of the target: 2000 N/m x 0.01 m = 20 N
    mujoco.mj_step(model, data, nstep=125)
    assert np.abs(data.actuator_force[:3]).max() == pytest.approx(20.0)
    # 20 N / 89 N s/m = 0.225 m/s, less what friction in the joints takes
    assert -0.225 < data.qvel[:6] @ _jacobian(model, data)[2, :6] < -0.19
    model, data = posed()
    data.mocap_pos[0, 2] -= 0.15
    push(model, data, (0, 0, 20.5))  # half a newton more than the springs have: it gives way
    assert data.site("tcp").xpos[2] > 0.3


def _jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    jacobian = np.zeros((3, model.nv))
    mujoco.mj_jacSite(model, data, jacobian, None, model.site("tcp").id)
    return jacobian


def test_step_in_free_space_arrives_with_little_overshoot() -> None:
    model, data = posed(yaw=0.0)
    data.mocap_pos[0, 2] += 0.009
    path = []
    for _ in range(250):
        mujoco.mj_step(model, data)
        path.append((data.site("tcp").xpos[2] - 0.3) / 0.009)
    assert path[12] < 0.6  # 52 ms: nothing jumps
    assert path[74] > 0.9
    assert max(path) < 1.2
    assert path[-1] == pytest.approx(1.0, abs=0.01)


def test_arm_floats_and_the_wrist_weighs_the_hand() -> None:
    model, data = posed()
    before = data.qpos.copy()
    mujoco.mj_step(model, data, nstep=400)
    np.testing.assert_allclose(data.qpos[:6], before[:6], atol=1e-9)
    # Flange 0.15 kg, palm 0.30 kg, two fingers of 0.05 kg: 0.55 kg x 9.81 m/s^2 = 5.3955 N, up along the tool's -z.
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.sensor("force").data, (0, 0, -5.3955), atol=1e-3)


def test_joint_torques_stay_within_their_limits() -> None:
    model, data = posed()
    model.actuator_forcerange[:3] = (-3000, 3000)
    data.mocap_pos[0] += (0.3, -0.3, 0.3)
    limit = model.jnt_actfrcrange[:6, 1]
    np.testing.assert_array_equal(limit, (60, 60, 40, 15, 15, 15))
    reached = np.zeros(6)
    for _ in range(50):
        mujoco.mj_step(model, data)
        reached = np.maximum(reached, np.abs(data.qfrc_actuator[:6]) / limit)
    assert reached.max() == 1.0


def test_quaternions_by_hand_and_back() -> None:
    np.testing.assert_allclose(turned(0.0), DOWN)
    np.testing.assert_allclose(turned(np.pi / 2), (0, 0, 1, 0), atol=1e-15)
    yaws = np.linspace(-2, 2, 9)
    for sign in (1, -1):
        np.testing.assert_allclose(attitude(sign * turned(yaws)), np.outer(yaws, (0, 0, 1)), atol=1e-12)
    tilted, tilt = np.empty(4), np.array([np.cos(0.01), np.sin(0.01), 0, 0])  # 0.02 rad about the base's x
    mujoco.mju_mulQuat(tilted, tilt, DOWN)
    np.testing.assert_allclose(attitude(tilted[None])[0], (0.02, 0, 0), atol=1e-5)


def test_joints_are_found_within_reach_and_refused_beyond() -> None:
    model, data = posed((0.35, -0.25, 0.05), -1.0)
    np.testing.assert_allclose(data.site("tcp").xpos, (0.35, -0.25, 0.05), atol=1e-8)
    with pytest.raises(ValueError, match=r"cannot reach \[1.5, 0.0, 0.3\] m"):
        solve_joints(model, data, np.array([1.5, 0.0, 0.3]), 0.0)


def test_target_is_the_measured_pose_plus_the_increment_and_kept_in_the_workspace() -> None:
    batched = started(2)
    here = batched.sensed("position").copy()
    batched.advance(np.array([[1, -0.5, 0, 0, 1], [0, 0, 0, 0, 1]], np.float32), np.ones(2, bool))
    np.testing.assert_allclose(batched._target - here, [(0.01, -0.005, 0), (0, 0, 0)], atol=1e-9)
    np.testing.assert_array_equal(batched.step_info()["clamped"], (False, False))
    for _ in range(12):
        batched.advance(np.array([[1, 0, 0, 0, 1], [0, 0, 0, 0, 1]], np.float32), np.ones(2, bool))
    np.testing.assert_array_equal(batched.step_info()["clamped"], (True, False))
    assert batched._target[0, 0] == batched.workspace[1][0]
    batched.begin(np.array([0]), np.array([0]), np.array([1]))
    assert not batched.step_info()["clamped"].any()


def test_yaw_is_kept_within_its_limit_either_way() -> None:
    batched = started(2)
    for _ in range(60):
        batched.advance(np.array([[0, 0, 0, 1, 1], [0, 0, 0, -1, 1]], np.float32), np.ones(2, bool))
    assert batched.step_info()["clamped"].all()
    np.testing.assert_allclose(batched._target_turn, [turned(1.2), turned(-1.2)], atol=1e-12)
    np.testing.assert_allclose(attitude(batched.sensed("orientation"))[:, 2], (1.2, -1.2), atol=1e-3)


def test_gripper_lifts_a_block_by_friction_and_lets_it_go() -> None:
    batched = started(1)
    assert batched.action_space.shape == (5,)

    def act(n: int, dz: float, grip: float) -> np.ndarray:
        for _ in range(n):
            batched.advance(np.array([[0, 0, dz, 0, grip]], np.float32), np.ones(1, bool))
        return batched.qpos[0, BLOCK_QPOS]

    assert act(10, -0.8, 0.5)[2] == pytest.approx(0.02, abs=1e-3)
    act(5, 0, -1)
    assert act(12, 0.8, -1)[2] > 0.08
    assert act(10, 0, 1)[2] == pytest.approx(0.02, abs=2e-3)


def test_wrong_keywords_and_body_names_are_refused() -> None:
    with pytest.raises(ValueError, match="must be positive, the last two finite, got"):
        Lift(1, error_clip=(0.01, 0.01, 0.0))
    with pytest.raises(ValueError, match="must be positive, the last two finite, got"):
        Lift(1, step_length=-1.0)
    with pytest.raises(ValueError, match="finite"):
        Lift(1, step_angle=np.inf)
    with pytest.raises(ValueError, match=r"no body 'blok': it has .*'block'"):
        arm_spec(mujoco.MjSpec.from_string(BLOCK), in_hand=["blok"])
