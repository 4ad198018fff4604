import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import NormalizeObservation, RecordEpisodeStatistics, TimeLimit
from stable_baselines3 import SAC
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from tiltyard.wrappers import (
    S3RL,
    ActionDelay,
    AutonomousPractice,
    ObservationNoise,
    PotentialShaping,
    RandomPhysics,
    RandomTeacher,
    TaughtEnv,
    teacher_snapshots,
)
from tiltyard.wrappers.curricula.snapshots import Snapshots, restore_snapshot, take_snapshot

OURS = ["tiltyard/Hopper-v5", "tiltyard/HalfCheetah-v5", "tiltyard/Ant-v5"]
GYMNASIUMS = ["Hopper-v5", "HalfCheetah-v5", "Reacher-v5"]


def played(env: gymnasium.Env[Any, Any], actions: list[Any]) -> list[Any]:
    """All that an episode shows, to compare."""
    shown = []
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        shown += [observation.tolist(), reward, terminated, truncated]
        if terminated:
            break
    return shown


@pytest.mark.parametrize("env_id", OURS + GYMNASIUMS)
def test_a_restored_state_goes_on_bit_for_bit(env_id: str) -> None:
    env, other = gymnasium.make(env_id), gymnasium.make(env_id)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(40)]
    env.reset(seed=1)
    played(env, actions[:10])
    state = take_snapshot(env)
    expected = played(env, actions[10:])
    assert len(expected) >= 4 * 3
    other.reset(seed=2)
    played(other, actions[30:37])
    for there in (env, other):
        there.reset()
        restore_snapshot(there, pickle.loads(pickle.dumps(state)))
        assert played(there, actions[10:]) == expected


def test_gymnasiums_ant_differs_in_its_first_reward_alone() -> None:
    env = gymnasium.make("Ant-v5")
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(20)]
    played(env, actions[:5])
    state = take_snapshot(env)
    expected = played(env, actions[5:])
    env.reset()
    restore_snapshot(env, state)
    got = played(env, actions[5:])
    assert got[1] == pytest.approx(expected[1], abs=1e-3)
    assert got[:1] + got[2:] == expected[:1] + expected[2:]


@pytest.mark.parametrize("env_id", OURS)
def test_the_first_observation_and_info_of_a_restored_state_are_its_own(env_id: str) -> None:
    env = gymnasium.make(env_id)
    _, named = env.reset(seed=1)
    observation, *_ = env.step(env.action_space.sample())
    state = take_snapshot(env)
    env.reset()
    restored, info = restore_snapshot(env, state)
    assert np.array_equal(restored, observation)
    assert info["goal_x"] == named["goal_x"]  # the problem is the snapshot's too


def test_restoring_leaves_the_stream_of_problems_alone() -> None:
    for env_id in ("tiltyard/Hopper-v5", "Hopper-v5"):
        env, other = gymnasium.make(env_id), gymnasium.make(env_id)
        env.reset(seed=1)
        other.reset(seed=1)
        state = take_snapshot(env)
        env.step(env.action_space.sample())
        restore_snapshot(env, state)
        assert np.array_equal(env.reset()[0], other.reset()[0])


def test_states_of_others_and_environments_without_are_refused() -> None:
    hopper, cheetah = gymnasium.make("Hopper-v5"), gymnasium.make("HalfCheetah-v5")
    hopper.reset()
    cheetah.reset()
    with pytest.raises(ValueError, match="no state of"):
        restore_snapshot(cheetah, take_snapshot(hopper))
    pendulum = gymnasium.make("Pendulum-v1")
    pendulum.reset()
    with pytest.raises(TypeError, match="cannot take snapshots"):
        take_snapshot(pendulum)


class Line(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Hopper that pays 1, 2, 4, ... a step, so that returns can be worked out by hand."""

    def reset(self, **kwargs: Any) -> Any:
        self.pay = 1.0
        return self.env.reset(**kwargs)

    def step(self, action: Any) -> Any:
        observation, _, _, truncated, info = self.env.step(action)
        self.pay *= 2
        return observation, self.pay / 2, False, truncated, info


def test_values_are_returns_to_go_by_hand() -> None:
    env = TimeLimit(Line(gymnasium.make("Hopper-v5", terminate_when_unhealthy=False).unwrapped), 3)
    found = teacher_snapshots(env, lambda seen: np.zeros(3, np.float32), episodes=2, save_every=2, gamma=0.5)
    # Rewards 1, 2, 4, then the mean 7/3 for ever, worth 14/3: 4 + 7/3 = 19/3; 2 + 19/6 = 31/6; 1 + 31/12 = 43/12.
    assert found.values == pytest.approx([43 / 12, 19 / 3] * 2)
    assert found.returns == (7.0, 7.0)
    assert len(found.states) == 4


def test_an_episode_that_ends_by_itself_is_worth_nothing_after() -> None:
    env = gymnasium.make("Hopper-v5", healthy_z_range=(5.0, 6.0))  # falls at its first step
    found = teacher_snapshots(env, lambda seen: np.zeros(3, np.float32), episodes=1)
    assert found.values.tolist() == [found.returns[0]]


def test_a_critic_may_say_what_states_are_worth() -> None:
    env = gymnasium.make("tiltyard/Hopper-v5", max_episode_steps=20)
    found = teacher_snapshots(env, episodes=1, save_every=5, value=lambda seen: float(seen[0]), seed=3)
    heights = [restore_snapshot(env, state)[0][0] for state in found.states]
    assert found.values.tolist() == heights
    assert len(heights) == 4


def test_the_expert_is_the_teacher_unless_another_is_given() -> None:
    env = gymnasium.make("tiltyard/Hopper-v5", max_episode_steps=100)
    assert min(teacher_snapshots(env, episodes=2).returns) > 150  # a random hopper falls long before
    with pytest.raises(TypeError, match="no expert: give the teacher's policy"):
        teacher_snapshots(gymnasium.make("Hopper-v5"))
    with pytest.raises(TypeError, match="policy is a function"):
        teacher_snapshots(env, 3)
    with pytest.raises(TypeError, match="snapshots are what teacher_snapshots makes, got \\[\\]"):
        S3RL(env, [])  # type: ignore[arg-type]
    for bad in ({"episodes": 0}, {"save_every": 0}, {"gamma": 1.0}):
        with pytest.raises(ValueError, match="need episodes"):
            teacher_snapshots(env, **bad)


@pytest.fixture(scope="module")
def snapshots() -> Snapshots:
    return teacher_snapshots(gymnasium.make("tiltyard/Hopper-v5", max_episode_steps=200), episodes=2)


def hopper() -> gymnasium.Env[Any, Any]:
    return gymnasium.make("tiltyard/Hopper-v5")


def test_early_episodes_begin_at_the_teachers_and_are_cut_later_ones_are_native(snapshots: Snapshots) -> None:
    env, native = S3RL(hopper(), snapshots, snapshot_steps=25, truncate_steps=10, seed=0), hopper()
    known = {tuple(restore_snapshot(native, state)[0]) for state in snapshots.states}
    starts = []
    for episode in range(6):
        observation, info = env.reset(seed=7 if episode == 0 else None)
        expected = native.reset(seed=7 if episode == 0 else None)[0]
        starts.append(info["from_snapshot"])
        if info["from_snapshot"]:
            assert tuple(observation) in known
        else:
            assert np.array_equal(observation, expected)  # as if there had never been snapshots
        for step in range(1, 11):
            *_, terminated, truncated, _ = env.step(np.zeros(3, np.float32))
            assert truncated == (step == 10 and info["from_snapshot"])
            assert not terminated
    assert starts == [True, True, True, False, False, False]  # after 0, 10 and 20 of 25 steps


def test_the_episode_after_the_last_snapshot_step_is_native(snapshots: Snapshots) -> None:
    env = S3RL(hopper(), snapshots, snapshot_steps=20, truncate_steps=10, seed=0)
    starts = []
    for _ in range(3):
        starts.append(env.reset()[1]["from_snapshot"])
        for _ in range(10):
            env.step(np.zeros(3, np.float32))
    assert starts == [True, True, False]  # after 0, 10 and 20 of 20 steps


def test_without_truncation_the_environments_own_limit_counts_from_the_snapshot(snapshots: Snapshots) -> None:
    env = S3RL(
        gymnasium.make("tiltyard/Hopper-v5", max_episode_steps=15, terminate_when_unhealthy=False),
        snapshots,
        truncate_steps=None,
    )
    env.reset(seed=0)
    cuts = [env.step(np.zeros(3, np.float32))[3] for _ in range(15)]
    assert cuts == [False] * 14 + [True]


def test_starts_come_from_clusters_alike_however_large() -> None:
    env = hopper()
    env.reset(seed=0)
    states = []
    for _ in range(10):
        states.append(take_snapshot(env))
        env.step(np.zeros(3, np.float32))
    # One snapshot of value 0 among nine of value 100: half of all starts with two clusters, a tenth with one.
    rare = Snapshots(tuple(states), np.array([0.0] + [100.0] * 9), ())
    first = restore_snapshot(env, states[0])[0]
    for clusters, expected in ((2, 0.5), (1, 0.1), (6, 0.5)):  # of six, four stay empty
        wrapped = S3RL(hopper(), rare, clusters=clusters, seed=1)
        share = np.mean([np.array_equal(wrapped.reset()[0], first) for _ in range(400)])
        assert share == pytest.approx(expected, abs=0.08)


def test_a_reset_with_options_is_the_callers_own() -> None:
    maze = gymnasium.make("tiltyard/PointMaze-v0")
    env = S3RL(maze, teacher_snapshots(maze, episodes=1), truncate_steps=10)
    _, info = env.reset(options={"goal": (-1.0, 1.0)})
    assert not info["from_snapshot"]
    assert info["goal"].tolist() == [-1.0, 1.0]
    assert not any(env.step(np.zeros(2, np.float32))[3] for _ in range(20))


def test_a_cut_bootstraps_where_a_fall_does_not(snapshots: Snapshots) -> None:
    venv = DummyVecEnv([lambda: S3RL(hopper(), snapshots, truncate_steps=1, seed=0)])
    venv.reset()
    _, _, done, infos = venv.step(np.zeros((1, 3), np.float32))
    assert done[0]
    assert infos[0]["TimeLimit.truncated"]  # what SB3's replay buffers bootstrap by
    agent = SAC("MlpPolicy", venv, learning_starts=4, buffer_size=50, batch_size=4, device="cpu")
    agent.learn(8)
    assert agent.replay_buffer is not None
    assert agent.replay_buffer.timeouts[:8].all()
    assert agent.replay_buffer.dones[:8].all()


def test_wrappers_above_see_ordinary_episodes(snapshots: Snapshots) -> None:
    env = RecordEpisodeStatistics(S3RL(hopper(), snapshots, truncate_steps=5, seed=0))
    for _ in range(3):
        env.reset()
        *_, info = [env.step(np.zeros(3, np.float32)) for _ in range(5)][-1]
        assert info["episode"]["l"] == 5


def test_the_wrapper_keeps_gymnasiums_contract_and_repeats_with_its_seed(snapshots: Snapshots) -> None:
    env = S3RL(hopper(), snapshots)
    check_env(env, skip_render_check=True)
    first, second = ([env.reset(seed=5)[0], *(env.reset()[0] for _ in range(5))] for _ in range(2))
    assert np.array_equal(first, second)
    assert len({tuple(start) for start in first}) > 2
    kept = pickle.loads(pickle.dumps(snapshots))
    assert np.array_equal(S3RL(hopper(), kept).reset(seed=5)[0], first[0])


def test_bad_settings_are_refused(snapshots: Snapshots) -> None:
    with pytest.raises(ValueError, match="no snapshots"):
        S3RL(hopper(), Snapshots((), np.zeros(0), ()))
    for bad in ({"clusters": 0}, {"truncate_steps": 0}, {"snapshot_steps": -1}):
        with pytest.raises(ValueError, match="need clusters"):
            S3RL(hopper(), snapshots, **bad)
    with pytest.raises(ValueError, match="NormalizeObservation changes observations: put it around S3RL"):
        S3RL(NormalizeObservation(hopper()), snapshots)


class Drifting(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A user's own wrapper, which keeps the first observation."""

    def reset(self, **kwargs: Any) -> Any:
        self.first, info = self.env.reset(**kwargs)
        return self.first, info


@pytest.mark.parametrize("wrap", [lambda env: ObservationNoise(env, 0.5), Drifting, AutonomousPractice])
def test_wrappers_that_go_by_how_an_episode_begins_are_refused_below(snapshots: Snapshots, wrap: Any) -> None:
    with pytest.raises(ValueError, match="has a reset of its own, .*: put it around S3RL"):
        S3RL(TimeLimit(wrap(hopper()), 50), snapshots)
    if wrap is not AutonomousPractice:
        assert wrap(S3RL(hopper(), snapshots)).reset(seed=0)[1]["from_snapshot"]


def test_potential_shaping_belongs_around() -> None:
    maze = gymnasium.make("tiltyard/PointMaze-v0")
    found = teacher_snapshots(maze, episodes=1)
    with pytest.raises(ValueError, match="PotentialShaping has a reset of its own"):
        S3RL(PotentialShaping(maze), found)
    env = PotentialShaping(S3RL(maze, found), gamma=1.0)
    for seed in range(3):
        first = env.potential(env.reset(seed=seed)[0])
        seen, reward, *_, info = env.step(np.zeros(2, np.float32))
        assert reward - info["true_reward"] == pytest.approx(env.potential(seen) - first)


def test_of_those_that_say_how_episodes_begin_there_is_one(snapshots: Snapshots) -> None:
    with pytest.raises(ValueError, match="TaughtEnv says how episodes begin, .* use one of the two"):
        S3RL(TaughtEnv(hopper(), RandomTeacher([0], [1]), {"goal": 0}), snapshots)
    with pytest.raises(ValueError, match="S3RL says how episodes begin"):
        S3RL(S3RL(hopper(), snapshots), snapshots)


def test_wrappers_that_only_count_record_or_draw_stay_below_and_are_heard(snapshots: Snapshots) -> None:
    below = ActionDelay(RandomPhysics(Monitor(RecordEpisodeStatistics(hopper())), mass=(0.8, 1.2)), 2)
    _, info = S3RL(below, snapshots).reset(seed=0)
    assert info["from_snapshot"]
    assert info["action_delay"] == 2
    assert 0.8 < info["physics_scale"]["mass"] < 1.2
