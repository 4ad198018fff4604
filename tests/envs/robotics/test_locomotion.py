"""The batched runners are Gymnasium's own, bit for bit, alone and in any company."""

import inspect
import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tiltyard.envs import InvalidAction
from tiltyard.envs.robotics.ant import Ant, AntVectorEnv
from tiltyard.envs.robotics.batched import model_path
from tiltyard.envs.robotics.locomotion import (
    HalfCheetah,
    HalfCheetahVectorEnv,
    Hopper,
    HopperVectorEnv,
    Walker2d,
    Walker2dVectorEnv,
)

NAMES = ["HalfCheetah-v5", "Hopper-v5", "Walker2d-v5", "Ant-v5"]
TASKS: dict[str, Any] = dict(zip(NAMES, (HalfCheetah, Hopper, Walker2d, Ant), strict=True))
VECTORS: dict[str, Any] = dict(
    zip(NAMES, (HalfCheetahVectorEnv, HopperVectorEnv, Walker2dVectorEnv, AntVectorEnv), strict=True)
)
each_task = pytest.mark.parametrize("name", NAMES)


def assert_same_trajectory(name: str, seed: int, steps: int, *, dtype: type = np.float32, **kwargs: Any) -> int:
    """Plays both with the same random actions, through ends and resets; returns the number of episodes that ended."""
    theirs, ours = gymnasium.make(name, **kwargs), gymnasium.make(f"tiltyard/{name}", **kwargs)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    rng, ends = np.random.default_rng(seed), 0
    (expected, named), (got, info) = theirs.reset(seed=seed), ours.reset(seed=seed)
    for _ in range(steps):
        np.testing.assert_array_equal(got, expected)
        assert named.items() <= info.items()
        action = rng.uniform(-1, 1, theirs.action_space.shape).astype(dtype)
        expected, *outcome, named = theirs.step(action)
        got, *own_outcome, info = ours.step(action)
        assert own_outcome == outcome  # reward, terminated, truncated: bit for bit
        if outcome[1] or outcome[2]:
            ends += 1
            (expected, named), (got, info) = theirs.reset(), ours.reset()
    theirs.close()
    ours.close()
    return ends


@each_task
@pytest.mark.parametrize("seed", [0, 12345])
def test_thousand_steps_equal_gymnasiums_bit_for_bit(name: str, seed: int) -> None:
    ends = assert_same_trajectory(name, seed, 1010)
    assert ends >= 20 if name in ("Hopper-v5", "Walker2d-v5") else ends >= 1


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("HalfCheetah-v5", {"frame_skip": 2, "forward_reward_weight": 2.5, "ctrl_cost_weight": 0.7}),
        ("HalfCheetah-v5", {"reset_noise_scale": 0.3, "exclude_current_positions_from_observation": False}),
        ("HalfCheetah-v5", {"xml_file": "walker2d_v5.xml", "frame_skip": 4}),
        ("Hopper-v5", {"terminate_when_unhealthy": False, "healthy_reward": 0.25, "forward_reward_weight": 3.0}),
        ("Hopper-v5", {"healthy_z_range": (1.1, 1.4), "healthy_angle_range": (-0.1, 0.3), "ctrl_cost_weight": 0.5}),
        ("Hopper-v5", {"healthy_state_range": (-3.0, 3.0), "reset_noise_scale": 0.01, "frame_skip": 8}),
        ("Walker2d-v5", {"terminate_when_unhealthy": False, "healthy_reward": 0.25, "forward_reward_weight": 3.0}),
        ("Walker2d-v5", {"healthy_z_range": (1.1, 1.3), "healthy_angle_range": (-0.1, 0.3), "ctrl_cost_weight": 0.5}),
        ("Walker2d-v5", {"xml_file": "walker2d.xml", "reset_noise_scale": 0.01, "frame_skip": 8}),
        ("Walker2d-v5", {"exclude_current_positions_from_observation": False}),
        ("Ant-v5", {"forward_reward_weight": 2.5, "ctrl_cost_weight": 0.1, "healthy_reward": 0.3, "frame_skip": 2}),
        ("Ant-v5", {"contact_cost_weight": 0.7, "contact_force_range": (-3.0, 20.0), "healthy_z_range": (0.4, 0.9)}),
        ("Ant-v5", {"terminate_when_unhealthy": False, "healthy_z_range": (0.6, 0.8), "reset_noise_scale": 0.4}),
        ("Ant-v5", {"main_body": "aux_2", "exclude_current_positions_from_observation": False}),
        ("Ant-v5", {"main_body": 5, "include_cfrc_ext_in_observation": False}),
    ],
    ids=str,
)
def test_every_keyword_means_what_it_means_in_gymnasium(name: str, kwargs: dict[str, Any]) -> None:
    assert_same_trajectory(name, 4, 300, **kwargs)


@each_task
def test_float64_actions_equal_gymnasiums_too(name: str) -> None:
    assert_same_trajectory(name, 2, 100, dtype=np.float64)


@each_task
def test_keywords_and_defaults_are_gymnasiums(name: str) -> None:
    original = gymnasium.spec(name)
    theirs = inspect.signature(gymnasium.make(original).unwrapped.__class__.__init__).parameters
    ours = inspect.signature(TASKS[name]).parameters
    for key, parameter in theirs.items():
        if key not in ("self", "kwargs", "default_camera_config"):
            assert ours[key].default == parameter.default, key
    camera, expected = ours["default_camera_config"].default, theirs["default_camera_config"].default
    assert camera.keys() == expected.keys()
    assert all(np.array_equal(camera[key], expected[key]) for key in expected)


@each_task
def test_native_vector_equals_sync_vector_of_gymnasiums_own(name: str) -> None:
    native = gymnasium.make_vec(f"tiltyard/{name}", num_envs=5, vectorization_mode="vector_entry_point")
    sync = SyncVectorEnv([lambda: gymnasium.make(name)] * 5, autoreset_mode=AutoresetMode.SAME_STEP)
    np.testing.assert_array_equal(native.reset(seed=9)[0], sync.reset(seed=9)[0])
    sync.action_space.seed(0)
    for _ in range(150):
        actions = sync.action_space.sample()
        got, expected = native.step(actions), sync.step(actions)
        for ours, theirs in zip(got[:4], expected[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs)
    native.close()
    sync.close()


@each_task
def test_trajectory_does_not_hang_on_company_or_threads(name: str) -> None:
    seeds, steps = list(range(40, 59)), 60
    actions = np.random.default_rng(0).uniform(-1, 1, (steps, 19, TASKS[name](1).model.nu)).astype(np.float32)

    def play(indices: slice, nthread: int) -> list[np.ndarray]:
        env = VECTORS[name](len(seeds[indices]), nthread=nthread)
        seen = [env.reset(seed=seeds[indices])[0]]
        for step in range(steps):
            observation, reward, *_ = env.step(actions[step, indices])
            seen += [observation, reward[:, None]]
        experts = env.expert().predict(None)[0]
        env.close()
        return [*seen, experts]

    whole = play(slice(0, 19), 1)
    for threads in (2, 4):
        for a, b in zip(whole, play(slice(0, 19), threads), strict=True):
            np.testing.assert_array_equal(a, b)
    for index in (0, 7, 18):
        for a, b in zip(whole, play(slice(index, index + 1), 1), strict=True):
            np.testing.assert_array_equal(a[index : index + 1], b)


@pytest.mark.parametrize(
    ("name", "cost"),
    [("HalfCheetah-v5", 0.1 * 6 * 0.25), ("Hopper-v5", 0.001 * 3 * 0.25), ("Walker2d-v5", 0.001 * 6 * 0.25)],
)
def test_reward_by_hand(name: str, cost: float) -> None:
    env = gymnasium.make(f"tiltyard/{name}")
    _, first = env.reset(seed=3)
    action = np.full(env.action_space.shape, 0.5, np.float32)
    _, reward, _, _, info = env.step(action)
    seconds = 5 * 0.01 if name == "HalfCheetah-v5" else 4 * 0.002
    terms = info["reward_terms"]
    assert terms["reward_ctrl"] == pytest.approx(-cost)
    assert terms["reward_forward"] == pytest.approx((info["x_position"] - first["x_position"]) / seconds)
    assert terms.get("reward_survive", 0.0) == (0.0 if name == "HalfCheetah-v5" else 1.0)
    assert reward == pytest.approx(sum(terms.values()))
    assert env.unwrapped.metadata["render_fps"] == round(1 / seconds)


def test_success_is_distance_covered_and_still_upright() -> None:
    batched = Hopper(4)
    batched.begin(np.arange(4), np.full(4, 5), np.zeros(4, np.int64))
    goal = batched.reset_info()["goal_x"]
    np.testing.assert_array_equal(goal, batched.qpos[:, 0] + 5.0)
    batched.qpos[1:, 0] = goal[1:] + [-0.01, 0.01, 0.01]
    batched.qpos[3, 2] = 0.3  # leans further than 0.2 rad
    _, terminated = batched.advance(np.zeros((4, 3), np.float32), np.ones(4, bool))
    assert batched.step_info()["success"].tolist() == [False, False, True, False]
    assert terminated.tolist() == [False, False, False, True]


@each_task
def test_blown_up_physics_end_the_episode_in_its_last_sound_state(name: str) -> None:
    env = VECTORS[name](3, autoreset_mode=AutoresetMode.DISABLED)
    calm = VECTORS[name](3, autoreset_mode=AutoresetMode.DISABLED)
    env.reset(seed=0), calm.reset(seed=0)
    env.batched.qvel[1] = 9e9
    still = env.batched.qpos[1].copy()
    actions = np.zeros(env.action_space.shape, np.float32)
    observation, reward, terminated, truncated, info = env.step(actions)
    expected = calm.step(actions)
    assert np.isfinite(observation).all()
    assert np.isfinite(reward).all()
    assert terminated.tolist() == info["unstable"].tolist() == [False, True, False]
    assert not truncated.any()
    assert not info["success"].any()
    assert info["x_velocity"][1] == 0.0
    assert info["reward_terms"].get("reward_survive", np.zeros(3))[1] == 0.0
    np.testing.assert_array_equal(env.batched.qpos[1], still)
    np.testing.assert_array_equal(observation[[0, 2]], expected[0][[0, 2]])
    _, after = env.reset(options={"reset_mask": np.array([False, True, False])})
    assert not env.batched.unstable.any()
    assert "goal_x" in after


def test_blown_up_physics_are_not_paid_for_being_alive() -> None:
    batched = Hopper(1, healthy_state_range=(-np.inf, np.inf))
    batched.begin(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
    batched.qvel[0] = 9e9
    assert batched.healthy()[0]
    reward, _ = batched.advance(np.zeros((1, 3), np.float32), np.ones(1, bool))
    assert reward[0] == 0.0


@each_task
def test_only_active_environments_step_and_only_named_environments_reset(name: str) -> None:
    batched = TASKS[name](6)
    batched.begin(np.arange(6), np.arange(6), np.zeros(6, np.int64))
    start = batched._state.copy()
    active = np.array([True, False, True, False, False, True])
    batched.advance(np.full(batched._ctrl.shape, 0.3, np.float32), active)
    np.testing.assert_array_equal((batched._state != start).any(axis=1), active)
    stepped = batched._state.copy()
    batched.begin(np.array([2]), np.array([77]), np.array([0]))
    np.testing.assert_array_equal((batched._state != stepped).any(axis=1), np.arange(6) == 2)


@each_task
def test_problem_is_named_by_seed_and_episode_alone(name: str) -> None:
    a, b = TASKS[name](1), TASKS[name](2)
    for episode in range(4):
        a.begin(np.array([0]), np.array([21]), np.array([episode]))
    b.begin(np.array([1]), np.array([21]), np.array([3]))
    np.testing.assert_array_equal(a.observe()[0], b.observe()[1])
    test = TASKS[name](1, split="test")
    seen = [a.observe()[0].tobytes()]
    for episode in range(4):
        test.begin(np.array([0]), np.array([21]), np.array([episode]))
        seen.append(test.observe()[0].tobytes())
    assert len(set(seen)) == 5


BAD = [
    ("shape", np.zeros((2, 7))),
    ("3 for 2 environments", np.zeros(3)),
    ("no array", [[0.0, 0.0, 0.0], [0.0]]),
    ("type", [["a", "b", "c"]] * 2),
    ("type", [None, None]),
    ("type", np.zeros((2, 3), bool)),
    ("nan", [[0.0, np.nan, 0.0], [0.0, 0.0, 0.0]]),
    ("inf", [[0.0, 0.0, np.inf], [0.0, 0.0, 0.0]]),
    ("environment 1", [[0.0, 0.0, 0.0], [0.0, 0.0, -1.001e10]]),
]


@pytest.mark.parametrize(("said", "bad"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_actions_are_refused_with_what_was_got(said: str, bad: Any) -> None:
    env = HopperVectorEnv(2)
    env.reset(seed=0)
    before = env.batched._state.copy()
    with pytest.raises(InvalidAction, match=rf"finite numbers of shape \(3,\) below 1e\+10 in size, got .*{said}"):
        env.step(bad)
    np.testing.assert_array_equal(env.batched._state, before)


def test_rounding_at_the_bounds_and_whole_numbers_are_allowed() -> None:
    env = HopperVectorEnv(1)
    env.reset(seed=0)
    env.step(np.full((1, 3), np.nextafter(np.float32(1), np.float32(2))))
    env.step([[1, 0, -1]])


def test_close_frees_threads_and_may_be_called_twice() -> None:
    others = set(threading.enumerate())  # other tests' environments have threads of these names too
    env = HopperVectorEnv(16, nthread=3)
    env.reset(seed=0)
    env.step(np.zeros((16, 3), np.float32))
    own = {thread for thread in threading.enumerate() if thread.name.startswith("mujoco")} - others
    assert 1 <= len(own) <= 2  # the third is the caller's
    env.close(), env.close()
    assert not own & set(threading.enumerate())


def test_wrong_model_or_counts_are_refused_by_name() -> None:
    with pytest.raises(FileNotFoundError, match=r"unknown xml_file 'hoper.xml'; did you mean 'hopper.xml'"):
        Hopper(1, xml_file="hoper.xml")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        Hopper(1, xml_file="./nowhere.xml")
    with pytest.raises(ValueError, match="frame_skip must be at least 1, got 0"):
        Hopper(1, frame_skip=0)
    with pytest.raises(ValueError, match="nthread must be at least 1, got 0"):
        Hopper(1, nthread=0)


def test_a_model_of_ones_own_is_taken_by_path(tmp_path: Any) -> None:
    own = tmp_path / "own.xml"
    own.write_text(model_path("hopper.xml").read_text().replace('gear="200.0"', 'gear="100.0"'))
    weak, strong = Hopper(1, xml_file=str(own)), Hopper(1)
    assert weak.model.actuator_gear[0, 0] == 100.0
    for batched in (weak, strong):
        batched.begin(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
        batched.advance(np.ones((1, 3), np.float32), np.ones(1, bool))
    assert np.abs(weak.qvel).sum() < np.abs(strong.qvel).sum()
