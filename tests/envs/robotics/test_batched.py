"""What all MuJoCo tasks have from their base: unstable physics end the episode, and no NaN reaches an agent."""

import copy
import pickle
from collections.abc import Mapping
from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tiltyard.envs.catalogue import ROWS, Row
from tiltyard.envs.robotics.batched import BatchedMujoco, model_path
from tiltyard.envs.robotics.locomotion import HalfCheetah, HalfCheetahVectorEnv, Hopper
from tiltyard.envs.robotics.native import AMPLE, Carrier, safe

WITHOUT_PHYSICS = ("tiltyard/AskToAct-v0",)
MUJOCO_ROWS = [row for row in ROWS if row.domain == "robotics" and row.id not in WITHOUT_PHYSICS]
each_row = pytest.mark.parametrize("row", MUJOCO_ROWS, ids=lambda row: row.id)


def vector(row: Row, n: int, **kwargs: Any) -> gymnasium.vector.VectorEnv:
    env = gymnasium.make_vec(row.id, num_envs=n, vectorization_mode="vector_entry_point", **kwargs)
    assert isinstance(env.unwrapped.batched, BatchedMujoco)
    return env


def numbers(tree: Any) -> np.ndarray:
    """All numbers of an observation or info, in one row."""
    if isinstance(tree, Mapping):
        parts = list(tree.values())
    elif isinstance(tree, np.ndarray) and tree.dtype == object:
        parts = list(tree)
    else:
        array = np.asarray(tree)
        return array.astype(np.float64).ravel() if array.dtype.kind in "fiub" else np.zeros(0)
    return np.concatenate([np.zeros(0), *(numbers(part) for part in parts)])


def blow_up(batched: BatchedMujoco, index: int, force: float) -> None:
    """A force on every joint that no state survives."""
    batched.part(mujoco.mjtState.mjSTATE_QFRC_APPLIED)[index] = force


@each_row
@pytest.mark.parametrize("force", [1e30, np.nan], ids=["huge", "nan"])
def test_unstable_physics_end_the_episode_and_no_nan_reaches_an_agent(row: Row, force: float) -> None:
    env, calm = (vector(row, 3, autoreset_mode=AutoresetMode.DISABLED) for _ in range(2))
    before = env.reset(seed=0)[0]
    calm.reset(seed=0)
    actions = np.zeros(env.action_space.shape, np.float32)
    blow_up(env.unwrapped.batched, 1, force)
    observation, reward, terminated, truncated, info = env.step(actions)
    expected = calm.step(actions)
    assert info["unstable"].tolist() == terminated.tolist() == [False, True, False]
    assert info["unstable_episodes"].tolist() == [0, 1, 0]
    assert not truncated.any()
    assert not info["success"][1]
    for tree in (observation, reward, info):
        assert np.isfinite(numbers(tree)).all()
    names = list(observation) if isinstance(observation, dict) else [...]
    for name in names:  # the last sound state, and neighbours that did not notice
        np.testing.assert_array_equal(observation[name][[0, 2]], expected[0][name][[0, 2]])
        assert observation[name][1].shape == before[name][1].shape
    env.reset(options={"reset_mask": np.array([False, True, False])})
    info = env.step(actions)[4]
    assert not info["unstable"].any()
    assert info["unstable_episodes"].tolist() == [0, 1, 0]  # the counter goes on
    env.close()
    calm.close()


@each_row
def test_unstable_environment_starts_anew_in_the_same_step_and_single_environments_stop(row: Row) -> None:
    env = vector(row, 2)
    env.reset(seed=0)
    for count in (1, 2):
        blow_up(env.unwrapped.batched, 0, 1e30)
        observation, reward, terminated, _, info = env.step(np.zeros(env.action_space.shape, np.float32))
        assert terminated.tolist() == [True, False]
        assert info["final_info"]["unstable"][0]
        assert info["final_info"]["unstable_episodes"][0] == count
        for tree in (observation, reward, info["final_obs"], info["final_info"]):
            assert np.isfinite(numbers(tree)).all()
    env.close()
    single = gymnasium.make(row.id)
    single.reset(seed=0)
    blow_up(single.unwrapped.batched, 0, 1e30)
    observation, reward, terminated, _, info = single.step(np.zeros(single.action_space.shape, np.float32))
    assert terminated
    assert info["unstable"] is True
    assert info["unstable_episodes"] == 1
    assert np.isfinite(numbers(observation)).all()
    assert np.isfinite(reward)
    single.close()


@each_row
def test_autoreset_mode_is_declared(row: Row) -> None:
    assert vector(row, 1).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    chosen = vector(row, 1, autoreset_mode="NextStep")
    assert chosen.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


def test_acceleration_that_mujoco_warns_of_counts_though_the_state_stays_small() -> None:
    batched = HalfCheetah(2, frame_skip=1)
    batched.begin(np.arange(2), np.arange(2), np.zeros(2, np.int64))
    kept = batched.qpos[1].copy()
    # 2e11 N on 14 kg for one Euler step of 0.01 s: beyond 1e10 m/s^2, but not 1e10 m/s.
    batched.part(mujoco.mjtState.mjSTATE_QFRC_APPLIED)[1, 0] = 2e11
    batched.advance(np.zeros((2, 6), np.float32), np.ones(2, bool))
    assert batched.unstable.tolist() == [False, True]
    np.testing.assert_array_equal(batched.qpos[1], kept)


def test_reading_that_is_no_number_counts_though_the_state_is_sound() -> None:
    class Reader(Hopper):
        def count_readings(self) -> int:
            return 1

        def read(self, data: mujoco.MjData, readings: np.ndarray) -> None:
            readings[0] = np.nan if data.time > 0.01 else 1.0

    batched = Reader(1)
    batched.begin(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
    outcomes = [batched.advance(np.zeros((1, 3), np.float32), np.ones(1, bool))[1][0] for _ in range(2)]
    assert outcomes == [False, True]
    assert batched.readings[0, 0] == 1.0


def test_interpreted_and_compiled_steps_are_the_same_bit_for_bit() -> None:
    compiled, interpreted = (HalfCheetahVectorEnv(6, nthread=1) for _ in range(2))
    interpreted.batched._carriers = [None]  # as for models short of memory, and tasks that compute their readings
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(compiled.reset(seed=0)[0], interpreted.reset(seed=0)[0])
    for _ in range(50):
        actions = rng.uniform(-1, 1, (6, 6)).astype(np.float32)
        compiled.step(actions), interpreted.step(actions)
        np.testing.assert_array_equal(compiled.batched._state, interpreted.batched._state)
    assert isinstance(compiled.batched._carriers[0], Carrier)


def test_model_short_of_memory_raises_instead_of_ending_the_process(tmp_path: Any) -> None:
    box = "<body pos='0 0 {}'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    boxes = "".join(box.format(0.05 + 0.01 * i) for i in range(9))
    driven = "<body pos='9 0 1'><joint name='j'/><geom size='.1'/></body>"
    world = f"<worldbody><geom type='plane' size='5 5 1'/>{boxes}{driven}</worldbody>"
    motor = "<actuator><motor joint='j' ctrllimited='true' ctrlrange='-1 1'/></actuator>"
    path = tmp_path / "short.xml"
    path.write_text(f"<mujoco><size memory='20K'/>{world}{motor}</mujoco>")
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.narena < AMPLE
    assert not safe(model)
    assert safe(Hopper(1).model)
    batched = Hopper(1, xml_file=str(path), healthy_z_range=(-9.0, 9.0))
    batched.begin(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))
    with pytest.raises(mujoco.FatalError, match="out of memory"):
        batched.advance(np.zeros((1, 1), np.float32), np.ones(1, bool))


def test_source_that_is_no_array_in_one_piece_is_refused() -> None:
    model = Hopper(1).model
    data = mujoco.MjData(model)
    with pytest.raises(ValueError, match="float64 in one piece"):
        Carrier(model, data, (data.xpos[:, 0],))


def test_a_copy_with_threads_has_its_own_memory_and_threads() -> None:
    batched = HalfCheetahVectorEnv(16, nthread=3)
    batched.reset(seed=0)
    actions = np.zeros((16, 6), np.float32)
    batched.step(actions)
    copied = copy.deepcopy(batched)
    batched.close()
    for name in ("qpos", "qvel", "time", "_motion", "_ctrl"):
        view = getattr(copied.batched, name)
        assert view.base is copied.batched._state
        assert not np.shares_memory(view, batched.batched._state)
    assert len({id(data) for data in (*batched.batched._data, *copied.batched._data)}) == 6
    np.testing.assert_array_equal(copied.step(actions)[0], batched.step(actions)[0])


def test_a_copy_needs_no_file_of_the_model(tmp_path: Any) -> None:
    own = tmp_path / "own.xml"
    own.write_text(model_path("hopper.xml").read_text())
    env = gymnasium.make("tiltyard/Hopper-v5", xml_file=str(own))
    env.reset(seed=0)
    packed = pickle.dumps(env)
    own.unlink()
    action = np.ones(3, np.float32)
    np.testing.assert_array_equal(pickle.loads(packed).step(action)[0], env.step(action)[0])


def test_what_carries_environments_is_not_copied_as_it_would_share_memory() -> None:
    model = Hopper(1).model
    with pytest.raises(TypeError, match="copy the environments"):
        copy.deepcopy(Carrier(model, mujoco.MjData(model), ()))
