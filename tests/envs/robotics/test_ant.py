"""What Ant adds to the runners: contact forces, the main body's speed, two places that are hidden."""

import gymnasium
import mujoco
import numpy as np
import pytest

from tiltyard.envs.robotics.ant import Ant, AntVectorEnv

NOUGHT = np.zeros(1, np.int64)
ALL = np.ones(1, bool)


def started(n: int = 1, **kwargs: object) -> Ant:
    batched = Ant(n, **kwargs)
    batched.begin(np.arange(n), np.arange(n), np.zeros(n, np.int64))
    return batched


def at_rest(batched: Ant) -> float:
    """Lets the legs down and the body come to rest; returns its weight in newtons."""
    still, knees = np.ones(batched.num_envs, bool), np.tile(np.float32([0, 0.3, 0, 0.3, 0, -0.3, 0, -0.3]), (1, 1))
    for _ in range(300):
        batched.advance(np.repeat(knees, batched.num_envs, axis=0), still)
    return float(batched.model.body_mass.sum() * 9.81)


def test_floor_carries_the_standing_body_s_weight() -> None:
    batched = started(contact_force_range=(-1e9, 1e9), contact_cost_weight=0.01)
    weight = at_rest(batched)
    assert np.abs(batched.qvel).max() < 0.01
    forces = batched.contact_forces.reshape(batched.model.nbody, 6)[:, 3:]  # torque first, then force
    assert forces[1:, 2].sum() == pytest.approx(weight, rel=0.01)
    assert (forces[[4, 7, 10, 13], 2] > 0).sum() >= 3  # the four feet
    assert forces[1, 2] == 0.0  # the torso hangs free
    np.testing.assert_allclose(batched.terms["reward_contact"], -0.01 * (batched.contact_forces**2).sum(), rtol=1e-12)


def test_reward_by_hand() -> None:
    env = gymnasium.make("tiltyard/Ant-v5")
    _, first = env.reset(seed=3)
    _, reward, _, _, info = env.step(np.full(8, 0.5, np.float32))
    terms = info["reward_terms"]
    assert terms["reward_ctrl"] == -0.5 * 8 * 0.25
    assert terms["reward_contact"] == 0.0  # 0.75 m up, it has not landed after 0.05 s
    assert terms["reward_survive"] == 1.0
    # xpos is the place of the last of the integrator's looks, not quite that of qpos.
    assert terms["reward_forward"] == pytest.approx((info["x_position"] - first["x_position"]) / 0.05, abs=0.05)
    assert info["x_velocity"] == terms["reward_forward"]
    assert reward == pytest.approx(sum(terms.values()))
    assert info["distance_from_origin"] == pytest.approx(np.hypot(info["x_position"], info["y_position"]))


def test_standing_still_is_paid_but_is_no_success() -> None:
    batched = started()
    goal = batched.reset_info()["goal_x"]
    np.testing.assert_array_equal(goal, batched.qpos[:, 0] + 25.0)
    at_rest(batched)
    assert batched.terms["reward_survive"] == 1.0
    assert not batched.step_info()["success"]
    batched.qpos[:, 0] = goal + 1.0
    batched.advance(np.zeros((1, 8), np.float32), ALL)
    assert batched.step_info()["success"]
    batched.qpos[:, 2] = 1.5  # thrown into the air: no longer healthy
    _, terminated = batched.advance(np.zeros((1, 8), np.float32), ALL)
    assert terminated
    assert not batched.step_info()["success"]


def test_sideways_is_measured_but_not_paid() -> None:
    batched = started(reset_noise_scale=0.0)
    batched.qvel[:, :2] = [0.0, 3.0]
    reward, _ = batched.advance(np.zeros((1, 8), np.float32), ALL)
    info = batched.step_info()
    assert info["y_velocity"][0] == pytest.approx(3.0, abs=0.2)
    assert info["x_velocity"][0] == pytest.approx(0.0, abs=0.2)
    assert reward[0] == pytest.approx(1.0, abs=0.2)


def test_contact_forces_do_not_outlive_their_episode_or_reach_another_environment() -> None:
    env = AntVectorEnv(3, nthread=1)
    env.reset(seed=0)
    for _ in range(60):
        env.step(np.zeros((3, 8), np.float32))
    assert env.batched.contact_forces.any(axis=1).all()
    kept = env.batched.readings[[0, 2]].copy()
    observation, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
    assert not env.batched.contact_forces[1].any()
    assert not observation[1, 27:].any()
    np.testing.assert_array_equal(env.batched.readings[[0, 2]], kept)


def test_blown_up_physics_leave_the_forces_of_the_last_sound_state() -> None:
    batched = started(2)
    at_rest(batched)
    kept = batched.readings[1].copy()
    batched.qvel[1] = 9e9
    batched.advance(np.zeros((2, 8), np.float32), np.ones(2, bool))
    assert batched.unstable.tolist() == [False, True]
    np.testing.assert_array_equal(batched.readings[1], kept)
    assert np.isfinite(batched.observe()).all()
    assert batched.x_velocity[1] == 0.0


def test_initial_contact_is_not_yet_felt_as_in_gymnasium() -> None:
    """Gymnasium computes contact forces after steps alone, so a body that starts on the floor feels none at first."""
    ours, theirs = (
        gymnasium.make("tiltyard/Ant-v5", reset_noise_scale=0.5),
        gymnasium.make("Ant-v5", reset_noise_scale=0.5),
    )
    touching = 0
    for seed in range(20):
        expected, got = theirs.reset(seed=seed)[0], ours.reset(seed=seed)[0]
        np.testing.assert_array_equal(got, expected)
        touching += theirs.unwrapped.data.ncon > 0  # type: ignore[attr-defined]
    assert touching > 0


def test_order_of_the_actions_in_memory_changes_nothing() -> None:
    actions = np.random.default_rng(0).uniform(-1, 1, (16, 8)).astype(np.float32)
    rewards = []
    for batch in (actions, np.asfortranarray(actions)):
        env = AntVectorEnv(16)
        env.reset(seed=0)
        rewards.append(env.step(batch)[1])
    np.testing.assert_array_equal(*rewards)


def test_snapshot_holds_the_contact_forces_too() -> None:
    env = gymnasium.make("tiltyard/Ant-v5").unwrapped
    env.reset(seed=0)
    actions = np.random.default_rng(0).uniform(-0.05, 0.05, (60, 8)).astype(np.float32)
    for action in actions[:40]:
        kept = env.step(action)[0]
    state = env.snapshot()
    first = [env.step(action)[:2] for action in actions[40:]]
    env.reset(seed=1)
    np.testing.assert_array_equal(env.restore(state)[0], kept)
    assert kept[27:].any()
    for action, (observation, reward) in zip(actions[40:], first, strict=True):
        again = env.step(action)
        np.testing.assert_array_equal(again[0], observation)
        assert again[1] == reward


def test_unknown_main_body_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown main_body 'aux_9'; did you mean"):
        Ant(1, main_body="aux_9")
    with pytest.raises(ValueError, match="a number from 0 to 13, got 14"):
        Ant(1, main_body=14)


def test_readings_agree_with_mujoco_s_own_data() -> None:
    batched = started(1, contact_force_range=(-1e9, 1e9))
    data = mujoco.MjData(batched.model)
    data.qpos[:], data.qvel[:] = batched.qpos[0], batched.qvel[0]
    mujoco.mj_forward(batched.model, data)
    for _ in range(40):
        action = np.float32([0.2, -0.4, 0.1, 0.9, -0.3, 0.5, 0.7, -0.8])
        batched.advance(action[None], ALL)
        data.ctrl[:] = action
        mujoco.mj_step(batched.model, data, nstep=5)
    mujoco.mj_rnePostConstraint(batched.model, data)
    assert data.cfrc_ext.any()
    np.testing.assert_array_equal(batched.contact_forces[0], data.cfrc_ext.ravel())
    np.testing.assert_array_equal(batched.readings[0, :2], data.xpos[1, :2])
