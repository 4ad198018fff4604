"""Object relocation: its geometry by hand, grasps by friction, an expert for any pose, and episodes without resets."""

import sys
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from tiltyard.envs.robotics.object_relocation import ObjectRelocation, ObjectRelocationEnv, ObjectRelocationVectorEnv

sys.path.insert(0, str(Path(__file__).parent))
from arm_helpers import act, deepest_overlap  # noqa: E402

ID = "tiltyard/ObjectRelocation-v0"
STATE = mujoco.mjtState.mjSTATE_INTEGRATION


def started(n: int = 1, seed: int = 0, **kwargs: Any) -> ObjectRelocation:
    batched = ObjectRelocation(n, **kwargs)
    batched.begin(np.arange(n), np.arange(seed, seed + n), np.zeros(n, int))
    return batched


def turned(axis: Any, angle: float) -> np.ndarray:
    quaternion = np.zeros(4)
    mujoco.mju_axisAngle2Quat(quaternion, np.array(axis, float), angle)
    return quaternion


def put(batched: ObjectRelocation, place: Any, axis: Any = (0, 0, 1), angle: float = 0.0, index: int = 0) -> None:
    """The block at rest at a place (metres), turned."""
    batched.block_pose[index] = (*place, *turned(axis, angle))
    batched.block_motion[index] = 0
    batched._read_first(index)


def hold(batched: ObjectRelocation, tool: Any, opening: float, yaw: float = np.pi / 2) -> None:
    batched.place(0, np.array(tool, float), yaw, opening)
    batched._read_first(0)


@pytest.mark.parametrize(
    ("place", "axis", "angle", "forward", "backward"),
    [
        ((0.48, -0.1, 0.02), (0, 0, 1), 0.4, True, False),
        ((0.48, 0.1, 0.02), (0, 0, 1), 0.4, False, True),
        ((0.48, 0.1, 0.02), (1, 0, 0), np.pi / 2, False, True),  # on another face
        ((0.42, -0.16, 0.02), (0, 0, 1), 0.0, True, False),  # in a corner
        ((0.48, -0.1, 0.0225), (0, 0, 1), 0.0, False, False),  # 2.5 mm above the floor
        ((0.48, -0.1, 0.0283), (1, 0, 0), np.pi / 4, False, False),  # on an edge: 20 mm x sqrt 2
        ((0.48, 0.0, 0.06), (0, 0, 1), 0.0, False, False),  # on the wall
        ((0.62, -0.1, 0.02), (0, 0, 1), 0.0, False, False),  # outside
        ((0.48, -0.25, 0.02), (0, 0, 1), 0.0, False, False),
    ],
)
def test_success_is_geometry(place: Any, axis: Any, angle: float, forward: bool, backward: bool) -> None:
    batched = started(2)
    batched.backward[1] = True
    for index in range(2):
        put(batched, place, axis, angle, index)
    reward, terminated = batched.score(np.zeros((2, 5)), batched.qpos)
    info = batched.step_info()
    np.testing.assert_array_equal(info["success"], (forward, backward))
    np.testing.assert_array_equal(terminated, (forward, backward))
    np.testing.assert_array_equal(reward, info["reward_terms"]["placed"])
    assert info["task"].tolist() == ["forward", "backward"]


def test_gaps_are_measured_at_every_height_of_parallel_faces() -> None:
    batched = started()
    put(batched, (0.48, -0.1, 0.02))
    for height in np.linspace(0.02, 0.021, 60):
        hold(batched, (0.48, -0.1, height), 0.0445)
        np.testing.assert_allclose(batched.gaps()[0], 0.00225, atol=1e-6)


def test_block_must_be_at_rest_and_released() -> None:
    batched = started()
    put(batched, (0.48, -0.1, 0.02))
    assert batched.placed()[0]
    batched.block_motion[0, 0] = 0.02
    batched._read_first(0)
    assert not batched.placed()[0]
    batched.block_motion[0] = (0, 0, 0, 0, 0, 0.2)
    batched._read_first(0)
    assert not batched.placed()[0]
    for opening, success in ((0.0435, False), (0.0445, True)):  # 40 mm, and 2 mm on either side
        batched.block_motion[0] = 0
        hold(batched, (0.48, -0.1, 0.02), opening)
        np.testing.assert_allclose(batched.gaps()[0], opening / 2 - 0.02, atol=1e-5)
        assert batched.placed()[0] == success
    hold(batched, (0.4795, -0.1, 0.02), 0.0445)  # half a millimetre aside: one gap is 1.75 mm
    assert not batched.placed()[0]


@pytest.mark.parametrize("task", ["forward", "backward"])
def test_episode_ends_when_the_block_is_placed_and_is_paid_once(task: str) -> None:
    env = gymnasium.make(ID, split="test", task=task)
    _, problem = env.reset(seed=3)
    assert problem["task"] == task
    assert problem["recoverable"]
    side = 1 if task == "forward" else -1
    assert 0.06 <= side * problem["block"][1] <= 0.14
    assert problem["goal"].tolist() == [0.48, -0.1 * side, 0.02]
    rewards, terminated, truncated = [], False, False
    while not (terminated or truncated):
        _, reward, terminated, truncated, info = env.step(env.unwrapped.expert().predict(None)[0])
        rewards.append(reward)
    assert terminated
    assert info["success"]
    assert info["task"] == task
    assert rewards == [0.0] * (len(rewards) - 1) + [1.0]


def test_problems_fill_their_ranges() -> None:
    batched = started(200)
    block, tool = batched.reset_info()["block"], batched.sensed("position")
    np.testing.assert_allclose(block.min(axis=0), (0.44, 0.06, 0.02), atol=0.002)
    np.testing.assert_allclose(block.max(axis=0), (0.52, 0.14, 0.02), atol=0.002)
    np.testing.assert_allclose(tool.min(axis=0), (0.42, 0.04, 0.1), atol=0.003)
    np.testing.assert_allclose(tool.max(axis=0), (0.54, 0.16, 0.16), atol=0.003)
    assert not batched.placed().any()
    assert deepest_overlap(batched) < 1e-6


def test_observation_units_by_hand() -> None:
    batched = started()
    put(batched, (0.5, 0.08, 0.02), angle=0.3)
    hold(batched, (0.45, 0.1, 0.12), 0.06, yaw=np.pi / 2 - 0.2)
    seen = batched.observe()[0].astype(float)
    assert batched.observation_space.contains(batched.observe()[0])
    np.testing.assert_allclose(seen[:3], (0.05 / 0.05, -0.02 / 0.05, -0.1 / 0.05), atol=1e-6)
    np.testing.assert_allclose(seen[3:6], (-0.2, -1.8, 0.0), atol=1e-6)  # from there to (0.48, -0.1, 0.02), in 10 cm
    # The block is turned by 0.3, the tool by pi/2 - 0.2, and a quarter turn changes nothing: 0.5 rad between them.
    np.testing.assert_allclose(seen[6:9], (np.cos(2.0), np.sin(2.0), 0.0), atol=1e-5)
    np.testing.assert_allclose(seen[12:16], (-0.3, 1.0, 0.2, -0.4), atol=1e-5)
    np.testing.assert_allclose(seen[20:22], (1.5, 0.0), atol=1e-6)
    np.testing.assert_allclose(seen[22:24], 2.0, atol=1e-6)  # the sensor's end
    np.testing.assert_allclose(seen[24:31], 0.0, atol=1e-3)
    put(batched, (0.5, 0.08, 0.03), axis=(0, 1, 0), angle=0.25)
    assert batched.observe()[0, 8] == pytest.approx(0.5, abs=1e-5)  # 0.25 rad
    put(batched, (0.5, 0.08, 0.02), axis=(0, 1, 0), angle=np.pi)  # upside down
    assert batched.observe()[0, 8] == pytest.approx(0.0, abs=1e-3)


def lifted(batched: ObjectRelocation) -> float:
    """The block's height after a try to lift it."""
    put(batched, (0.48, 0.1, 0.02))
    hold(batched, (0.48, 0.1, 0.02), 0.06)
    act(batched, (0, 0, 0, 0, -1), 5)
    act(batched, (0, 0, 0.8, 0, -1), 8)
    return float(batched.sensed("block")[0, 2])


def test_block_is_held_by_friction() -> None:
    assert lifted(started()) > 0.08
    slippery = started()
    for name in ("block", "left_finger", "right_finger"):
        slippery.model.geom(name).friction[:] = (0.005, 0.0001, 0.0001)
    assert lifted(slippery) < 0.03  # 2 x 20 N x 0.005 = 0.2 N do not carry 1 N


def test_fingers_press_with_the_force_limit_and_do_not_sink_in() -> None:
    batched = started()
    put(batched, (0.48, 0.1, 0.02))
    hold(batched, (0.48, 0.1, 0.02), 0.06)
    overlap = []
    for _ in range(8):
        act(batched, (0, 0, 0, 0, -1))
        overlap.append(deepest_overlap(batched))
    assert max(overlap) < 2e-3
    assert overlap[-1] < 1e-3
    data = batched._data[0]
    assert abs(data.actuator("gripper").force[0]) == pytest.approx(20.0)
    speeds = np.abs(batched.qvel[0, 6:8])
    assert speeds.max() < 1e-3  # at rest


def test_rough_play_leaves_the_block_outside_walls_and_floor() -> None:
    batched, rng = started(8, seed=50), np.random.default_rng(1)
    for step in range(60):
        toward = np.clip((batched.sensed("block") - batched.sensed("position")) / 0.02, -1, 1)
        rough = np.column_stack((toward + rng.normal(0, 0.5, (8, 3)), rng.uniform(-1, 1, (8, 2)))).clip(-1, 1)
        wanted = batched.expert_actions() if step < 12 else rough.astype(np.float32)
        batched.advance(wanted, np.ones(8, bool))
        assert not batched.unstable.any()
        assert (batched.sensed("block")[:, 2] > 0.018).all()
        assert deepest_overlap(batched) < 0.004


@pytest.mark.parametrize(
    ("place", "recoverable"),
    [
        ((0.48, 0.1, 0.02), True),
        ((0.41, -0.169, 0.02), True),
        ((0.48, 0.0, 0.06), True),
        ((0.38, 0.1, 0.06), False),  # on the rim
        ((0.48, 0.26, 0.02), False),  # on the table, beyond it
        ((0.48, 0.1, -0.1), False),
    ],
)
def test_recoverable_is_where_the_hand_can_go(place: Any, recoverable: bool) -> None:
    batched = started()
    put(batched, place)
    assert batched.recoverable()[0] == recoverable
    assert batched.step_info()["recoverable"][0] == recoverable
    assert batched.reset_info()["recoverable"][0] == recoverable


def test_next_episode_begins_where_the_last_one_ended() -> None:
    env = gymnasium.make(ID, max_episode_steps=30)
    env.reset(seed=4)
    batched = env.unwrapped.batched
    for _ in range(12):
        env.step(np.array([0.2, -0.1, -1, 0.3, 0], np.float32))
    state, unwrapped = batched._state.copy(), env.unwrapped
    before = batched.observe()[0]
    after, info = env.reset(options={"keep_state": True, "task": "backward"})
    np.testing.assert_array_equal(batched._state, state)  # to the bit: velocities, contacts, readings
    assert np.abs(batched.qvel[0, :6]).max() > 0.01
    assert info["task"] == "backward"
    same = np.r_[0:3, 6:31]
    np.testing.assert_array_equal(after[same], before[same])
    np.testing.assert_allclose(after[3:6] - before[3:6], (0, 2.0, 0), atol=1e-6)  # the other bin's middle is 20 cm off
    ends = [env.step(np.zeros(5, np.float32))[3] for _ in range(30)]
    assert ends == [False] * 29 + [True]  # the limit counts anew
    assert env.reset(options={"keep_state": True})[1]["task"] == "backward"  # as it was
    fresh = env.reset()
    assert fresh[1]["task"] == "forward"
    twin = ObjectRelocationEnv()
    twin.reset(seed=4)
    for _ in range(2):
        twin.reset()
    np.testing.assert_array_equal(fresh[0], twin.reset()[0])  # the stream of problems counts every reset
    assert unwrapped.batched is batched


def test_forward_and_backward_practise_for_each_other_without_a_reset() -> None:
    env = gymnasium.make(ID)
    _, info = env.reset(seed=9)
    done = []
    for episode in range(6):
        over = False
        while not over:
            _, _, terminated, truncated, info = env.step(env.unwrapped.expert().predict(None)[0])
            over = terminated or truncated
        done.append((info["task"], info["success"], info["recoverable"]))
        following = "backward" if episode % 2 == 0 else "forward"
        env.reset(options={"keep_state": True, "task": following})
    assert done == [("forward", True, True), ("backward", True, True)] * 3


def test_task_alone_draws_a_problem_of_it() -> None:
    env = ObjectRelocationEnv()
    asked, info = env.reset(seed=6, options={"task": "backward"})
    assert info["task"] == "backward"
    assert info["block"][1] < 0
    np.testing.assert_array_equal(asked, ObjectRelocationEnv(task="backward").reset(seed=6)[0])
    assert env.reset()[1]["task"] == "forward"


def test_vector_keeps_the_environments_asked_for() -> None:
    env = ObjectRelocationVectorEnv(4, autoreset_mode="Disabled")
    env.reset(seed=0)
    env.step(np.full((4, 5), 0.5, np.float32))
    state = env.batched._state.copy()
    keep = np.array([True, False, True, False])
    tasks = ["backward", "backward", "forward", "forward"]
    _, info = env.reset(options={"keep_state": keep, "task": tasks})
    assert info["task"].tolist() == tasks
    np.testing.assert_array_equal((env.batched._state == state).all(axis=1), keep)
    state = env.batched._state.copy()
    mask = np.array([False, True, True, False])
    _, info = env.reset(options={"keep_state": True, "task": "backward", "reset_mask": mask})
    assert info["_task"].tolist() == mask.tolist()
    assert env.batched.tasks().tolist() == ["backward", "backward", "backward", "forward"]
    np.testing.assert_array_equal(env.batched._state, state)
    env.reset(options={"reset_mask": np.array([True, False, False, False])})
    assert env.batched.tasks().tolist() == ["forward", "backward", "backward", "forward"]


def test_environments_that_go_on_equal_single_environments() -> None:
    env, alone = ObjectRelocationVectorEnv(2), [ObjectRelocationEnv() for _ in range(2)]
    env.reset(seed=[3, 8])
    for one, seed in zip(alone, (3, 8), strict=True):
        one.reset(seed=seed)
    rng = np.random.default_rng(0)
    for step in range(20):
        if step == 10:
            env.reset(options={"keep_state": np.array([True, False]), "task": ["forward", "backward"]})
            alone[0].reset(options={"keep_state": True, "task": "forward"})
            alone[1].reset(options={"task": "backward"})
        actions = rng.uniform(-1, 1, (2, 5)).astype(np.float32)
        seen = env.step(actions)[0]
        for index, one in enumerate(alone):
            np.testing.assert_array_equal(one.step(actions[index])[0], seen[index])


def test_snapshot_keeps_the_task() -> None:
    batched = started(2)
    batched.backward[0] = True
    act(batched, (0.3, 0.1, -1, 0.2, 0.5), 4)
    batched.restore(1, batched.snapshot(0))
    act(batched, (-0.2, 0.3, -1, 0, -1), 6)
    seen = batched.observe()
    np.testing.assert_array_equal(seen[0], seen[1])
    assert batched.tasks().tolist() == ["backward"] * 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"keepstate": True}, "unknown option 'keepstate'; did you mean 'keep_state'"),
        ({"task": "foward"}, r"unknown options\['task'\] 'foward'; did you mean 'forward'"),
        ({"task": 3}, r"unknown options\['task'\]"),
        ({"keep_state": "yes"}, r"options\['keep_state'\] must be True or False, got 'yes'"),
        ({"keep_state": [True, False]}, r"options\['keep_state'\] must be"),
        ({"keep_state": True, "task": ["forward", "backward"]}, r"options\['task'\]"),
    ],
)
def test_wrong_options_are_refused_and_change_nothing(options: dict[str, Any], said: str) -> None:
    env = ObjectRelocationEnv()
    env.reset(seed=0)
    env.step(np.ones(5, np.float32))
    state = env.batched._state.copy()
    with pytest.raises(ValueError, match=said):
        env.reset(options=options)
    np.testing.assert_array_equal(env.batched._state, state)
    env.step(np.ones(5, np.float32))


def test_nothing_to_keep_before_the_first_reset() -> None:
    with pytest.raises(ResetNeeded, match="no state to keep yet"):
        ObjectRelocationEnv().reset(options={"keep_state": True})
    with pytest.raises(ValueError, match="unknown task 'sideways'"):
        ObjectRelocation(1, task="sideways")
