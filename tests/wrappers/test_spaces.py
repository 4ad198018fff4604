import copy
import copyreg
import pickle
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Dict, Discrete, Text
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

from tiltyard.agents import make
from tiltyard.envs.catalogue import ROWS, Row
from tiltyard.envs.core import BatchedEnv, BatchedVectorEnv, SingleEnv, select_env
from tiltyard.wrappers.spaces import (
    AdaptedVectorEnv,
    Characters,
    adapter_for,
    sb3_env,
    sb3_spaces,
    to_sb3,
)

MODES = list(AutoresetMode)


class BatchedCount(BatchedEnv):
    """Counts up by 1; the episode started with seed s, number e, is over at 3 + s % 2 (success if action 1 ends it)."""

    def __init__(self, num_envs: int, render_mode: str | None = None) -> None:
        super().__init__(num_envs, render_mode)
        self.observation_space = gymnasium.spaces.Box(-1e6, 1e6, (2,), np.float32)
        self.action_space = Discrete(2)
        self.state = np.zeros((num_envs, 2), np.float32)
        self.action = np.zeros(num_envs, np.int64)
        self.end = np.zeros(num_envs, np.int64)

    def begin(self, indices: Any, seeds: Any, episodes: Any) -> None:
        self.state[indices] = np.stack([np.zeros(len(indices)), seeds * 100 + episodes], axis=1)
        self.end[indices] = 3 + seeds % 2

    def check(self, actions: Any) -> Any:
        return np.asarray(actions)

    def advance(self, actions: Any, active: Any) -> Any:
        self.action = actions
        self.state[active, 0] += 1
        return self.state[:, 0].astype(np.float64), self.state[:, 0] >= self.end

    def observe(self) -> Any:
        return self.state.copy()

    def reset_info(self) -> Any:
        return {"problem": self.state[:, 1].copy()}

    def step_info(self) -> Any:
        return {
            "success": (self.state[:, 0] >= self.end) & (self.action == 1),
            "reward_terms": {"count": self.state[:, 0].copy()},
        }

    def expert_actions(self) -> Any:
        return np.ones(self.num_envs, np.int64)

    def render(self, index: int = 0) -> Any:
        return np.full((4, 4, 3), index, np.uint8)


class CountEnv(SingleEnv):
    batched_class = BatchedCount


class CountVectorEnv(BatchedVectorEnv):
    batched_class = BatchedCount


class BatchedEcho(BatchedEnv):
    """Observes the last thing said."""

    def __init__(self, num_envs: int, render_mode: str | None = None) -> None:
        super().__init__(num_envs, render_mode)
        self.observation_space = Text(6, min_length=0, charset="abc")
        self.action_space = Text(4, min_length=1, charset="abc")
        self.said = [""] * num_envs

    def begin(self, indices: Any, seeds: Any, episodes: Any) -> None:
        for index in indices:
            self.said[index] = "cab"

    def check(self, actions: Any) -> Any:
        assert all(action in self.action_space for action in actions), actions
        return list(actions)

    def advance(self, actions: Any, active: Any) -> Any:
        self.said = list(actions)
        return np.ones(self.num_envs), np.array([one == "a" for one in actions])

    def observe(self) -> Any:
        return tuple(self.said)

    def step_info(self) -> Any:
        success = np.array([one == "a" for one in self.said])
        return {"success": success, "reward_terms": {"said": np.ones(self.num_envs)}}

    def expert_actions(self) -> Any:
        return ["a"] * self.num_envs


class EchoEnv(SingleEnv):
    batched_class = BatchedEcho


class EchoVectorEnv(BatchedVectorEnv):
    batched_class = BatchedEcho


def sync(count: int, mode: AutoresetMode) -> SyncVectorEnv:
    return SyncVectorEnv([CountEnv] * count, autoreset_mode=mode)


def rollout(venv: Any, steps: int = 9) -> list[Any]:
    venv.seed(0)
    record = [venv.reset()]
    for step in range(steps):
        record.append(venv.step(np.arange(step, step + venv.num_envs) % 2))
    return record


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", [sync, lambda n, mode: CountVectorEnv(n, autoreset_mode=mode)], ids=["sync", "native"])
def test_every_autoreset_mode_arrives_as_sb3s_own_vector_would(make: Any, mode: AutoresetMode) -> None:
    ours, theirs = rollout(to_sb3(make(3, mode))), rollout(DummyVecEnv([CountEnv] * 3))
    np.testing.assert_array_equal(ours[0], theirs[0])
    for (obs, reward, done, infos), (obs_, reward_, done_, infos_) in zip(ours[1:], theirs[1:], strict=True):
        np.testing.assert_array_equal(obs, obs_)
        np.testing.assert_array_equal(reward, reward_)
        np.testing.assert_array_equal(done, done_)
        for index, (info, info_) in enumerate(zip(infos, infos_, strict=True)):
            assert info["success"] == info_["success"]
            assert info["reward_terms"] == info_["reward_terms"]
            if done[index]:
                np.testing.assert_array_equal(info["terminal_observation"], info_["terminal_observation"])
                assert info["TimeLimit.truncated"] is info_["TimeLimit.truncated"]


def test_episode_end_by_hand() -> None:
    venv = to_sb3(CountVectorEnv(2))  # environment 0 has seed 4 and ends at 3, environment 1 has seed 5 and ends at 4
    venv.seed(4)
    venv.reset()
    venv.step(np.array([0, 0]))
    venv.step(np.array([0, 0]))
    obs, reward, done, infos = venv.step(np.array([1, 0]))
    assert obs.tolist() == [[0, 401], [3, 500]]
    assert reward.tolist() == [3, 3]
    assert reward.dtype == np.float32
    assert done.tolist() == [True, False]
    terminal = infos[0].pop("terminal_observation")
    assert terminal.tolist() == [3, 400]
    assert infos == [
        {"success": True, "is_success": True, "reward_terms": {"count": 3.0}, "TimeLimit.truncated": False},
        {"success": False, "reward_terms": {"count": 3.0}},
    ]
    assert venv.reset_infos[0] == {"problem": 401.0}


@pytest.mark.parametrize("mode", MODES)
def test_time_limit_is_told_apart_from_the_end(mode: AutoresetMode) -> None:
    venv = to_sb3(CountVectorEnv(2, max_episode_steps=3, autoreset_mode=mode))
    venv.seed(0)
    venv.reset()
    for _ in range(3):
        _, _, done, infos = venv.step(np.zeros(2, np.int64))
    assert done.tolist() == [True, True]
    assert [info["TimeLimit.truncated"] for info in infos] == [False, True]


def test_next_step_vectors_never_put_a_reset_into_the_replay_buffer() -> None:
    """The gap between a stored transition's two observations is always one count of the same episode."""
    model = DQN("MlpPolicy", to_sb3(sync(2, AutoresetMode.NEXT_STEP)), learning_starts=1000, buffer_size=200)
    model.learn(100)
    buffer = model.replay_buffer
    before, after = buffer.observations[: buffer.pos], buffer.next_observations[: buffer.pos]
    assert buffer.pos >= 50
    np.testing.assert_array_equal(after[..., 0] - before[..., 0], 1)
    np.testing.assert_array_equal(after[..., 1], before[..., 1])


def test_a_vector_that_cannot_reset_single_environments_is_refused() -> None:
    venv = to_sb3(gymnasium.make_vec("CartPole-v1", 3, "vector_entry_point"))
    with pytest.raises(ValueError, match="SAME_STEP"):
        rollout(venv, 100)


def test_what_is_no_vector_and_no_number_of_environments_is_said() -> None:
    with pytest.raises(TypeError, match="to_sb3 takes a gymnasium.vector.VectorEnv, got .*CartPole"):
        to_sb3(gymnasium.make("CartPole-v1"))  # type: ignore[arg-type]
    for wrong in (0, -1, 1.5, True, "2"):
        with pytest.raises(ValueError, match=f"n_envs must be a whole number of at least 1, got {wrong!r}"):
            sb3_env("CartPole-v1", wrong)  # type: ignore[arg-type]
    assert sb3_env("CartPole-v1", np.int64(2)).num_envs == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda venv: pickle.loads(pickle.dumps(venv))])
def test_a_copy_of_a_vec_env_goes_on_as_it_would(again: Any) -> None:
    venv = sb3_env("tiltyard/Hopper-v5", 2, seed=0)
    venv.reset()
    venv.step(np.zeros((2, 3), np.float32))
    copied = again(again(venv))
    assert type(copied) is VecMonitor  # whose vector fast-ppo steps itself
    for _ in range(30):
        venv_step, copied_step = (one.step(np.full((2, 3), 0.3, np.float32)) for one in (venv, copied))
        np.testing.assert_array_equal(copied_step[0], venv_step[0])
        episodes = [
            [info["episode"]["l"] for info in step[3] if "episode" in info] for step in (venv_step, copied_step)
        ]
        assert episodes[0] == episodes[1]
    assert copied.get_attr("action_space") == venv.get_attr("action_space")
    assert not copied.has_attr("nothing")


def test_an_unpickled_vec_env_can_be_copied_where_none_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = pickle.dumps(sb3_env("tiltyard/Hopper-v5", 2))
    monkeypatch.delitem(copyreg.dispatch_table, VecMonitor)  # as in a fresh process
    assert copy.deepcopy(pickle.loads(stored)).reset().shape == (2, 11)  # type: ignore[union-attr]


def test_a_copy_of_an_agent_made_from_an_id_predicts_the_same_and_learns_on_its_own() -> None:
    agent = make("sac", "tiltyard/Hopper-v5", seed=0, learning_starts=10, buffer_size=100, batch_size=8, device="cpu")
    agent.learn(20)
    copied = copy.deepcopy(agent)
    seen = np.random.default_rng(0).normal(size=(5, 11))
    before = agent.predict(seen, deterministic=True)[0]
    np.testing.assert_array_equal(copied.predict(seen, deterministic=True)[0], before)
    copied.learn(40)
    assert (copied.predict(seen, deterministic=True)[0] != before).any()
    np.testing.assert_array_equal(agent.predict(seen, deterministic=True)[0], before)


def test_seed_envs_gives_every_environment_the_same_problem() -> None:
    venv = VecMonitor(to_sb3(CountVectorEnv(4)))
    venv.seed_envs([7, 7, 9, 9])
    assert venv.reset()[:, 1].tolist() == [700, 700, 900, 900]
    assert venv.reset()[:, 1].tolist() == [701, 701, 901, 901]  # seeds are used once
    with pytest.raises(ValueError, match="expected 4, got 1"):
        venv.seed_envs([7])


@pytest.mark.parametrize("vector", [CountVectorEnv(3), sync(3, AutoresetMode.SAME_STEP)], ids=["native", "sync"])
def test_attributes_and_methods_reach_the_environments(vector: Any) -> None:
    venv = to_sb3(vector)
    venv.reset()
    assert venv.get_attr("action_space", [0, 2]) == [Discrete(2)] * 2
    assert len(venv.env_method("expert", indices=[1])) == 1
    assert venv.env_is_wrapped(gymnasium.Wrapper) == [False] * 3
    venv.set_attr("nickname", "x")
    assert venv.get_attr("nickname") == ["x"] * 3


def test_one_environment_of_a_native_vector_cannot_be_changed_alone() -> None:
    with pytest.raises(ValueError, match="leave out the indices"):
        to_sb3(CountVectorEnv(3)).set_attr("nickname", "x", [1])


def test_frames_come_one_per_environment() -> None:
    frames = to_sb3(CountVectorEnv(3, render_mode="rgb_array")).get_images()
    assert [int(frame.max()) for frame in frames] == [0, 1, 2]


def test_text_arrives_as_object_arrays_and_leaves_as_strings() -> None:
    venv = to_sb3(EchoVectorEnv(3))
    first = venv.reset()
    assert first.dtype == object
    assert first.tolist() == ["cab"] * 3
    obs, _, done, infos = venv.step(np.array(["ab", "a", "cc"], dtype=object))
    assert obs.tolist() == ["ab", "cab", "cc"]
    assert done.tolist() == [False, True, False]
    assert infos[1]["terminal_observation"] == "a"


def test_characters_by_hand() -> None:
    adapter = Characters(Text(6, charset="abc"), Text(4, charset="abc"), observation_length=3)
    assert adapter.encode("bcab").tolist() == [3, 1, 2]  # the last three characters; a, b, c are tokens 1, 2, 3
    assert adapter.encode("b").tolist() == [2, 0, 0]
    assert adapter.decode(np.array([1, 3, 0, 2]), "") == "ac"
    assert adapter.decode(np.array([0, 3, 0, 2]), "") == "a"  # the task allows no empty answer
    assert list(adapter.action_space.nvec) == [4] * 4


@pytest.mark.parametrize("mode", MODES)
def test_text_behind_characters_equals_the_strings(mode: AutoresetMode) -> None:
    env = EchoVectorEnv(2, autoreset_mode=mode)
    adapter = adapter_for(env.single_observation_space, env.single_action_space)
    assert adapter is not None
    venv = to_sb3(AdaptedVectorEnv(env, adapter))
    venv.reset()
    obs, _, done, infos = venv.step(np.array([[1, 0, 0, 0], [2, 2, 0, 0]]))
    assert obs.tolist() == [[3, 1, 2, 0, 0, 0], [2, 2, 0, 0, 0, 0]]
    assert done.tolist() == [True, False]
    assert infos[0]["terminal_observation"].tolist() == [1, 0, 0, 0, 0, 0]


def test_stock_ppo_trains_on_text() -> None:
    check_env(sb3_spaces(EchoEnv()))
    env = EchoVectorEnv(2)
    adapter = adapter_for(env.single_observation_space, env.single_action_space)
    assert adapter is not None
    PPO("MlpPolicy", to_sb3(AdaptedVectorEnv(env, adapter)), n_steps=8, batch_size=8, n_epochs=1).learn(16)


def test_spaces_without_text_are_left_alone() -> None:
    env = CountEnv()
    assert sb3_spaces(env) is env


def test_text_nobody_can_adapt_says_so() -> None:
    with pytest.raises(TypeError, match="no adapter to SB3"):
        adapter_for(Dict(note=Text(3)), Discrete(2))


def test_a_phone_in_words_alone_is_for_policies_that_read_and_the_message_says_so_in_one_line() -> None:
    with pytest.raises(TypeError, match=r'Dict\(goal: Text\(400\), tree: .*strings=True .*"elements"') as caught:
        sb3_env("tiltyard/Phone-v1", 2, observation="tree")
    assert "\n" not in str(caught.value)
    assert sb3_env("tiltyard/Phone-v1", 2, observation="tree", strings=True).reset()["tree"].dtype == object


def test_sb3_env_takes_any_gymnasium_id() -> None:
    venv = sb3_env("CartPole-v1", 2, seed=3)
    expected, _ = gymnasium.make("CartPole-v1").reset(seed=4)
    np.testing.assert_array_equal(venv.reset()[1], expected)
    for _ in range(60):
        _, _, done, infos = venv.step(np.array([0, 0]))
        if done[0]:
            assert infos[0]["episode"]["r"] == infos[0]["episode"]["l"]
            break
    else:
        pytest.fail("pushing left never ended an episode")


def test_only_our_environments_have_a_test_split() -> None:
    with pytest.raises(ValueError, match="no test split"):
        sb3_env("CartPole-v1", split="test")
    with pytest.raises(ValueError, match="did you mean 'test'"):
        sb3_env("CartPole-v1", split="tset")  # type: ignore[arg-type]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_sb3s_own_check_passes_on_every_environment(row: Row) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what SB3 warns of here would hurt its agents
        warnings.filterwarnings("ignore", ".*out of date")  # of versions that are kept
        if row.id.endswith("-v5"):  # Gymnasium's torques are kept as they are, whatever their bounds
            warnings.filterwarnings("ignore", "We recommend you to use a symmetric and normalized Box action space")
        check_env(sb3_spaces(gymnasium.make(row.id)))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_environments_behind_every_layer_equal_the_environment_alone(row: Row) -> None:
    venv, alone = sb3_env(row.id, 3, seed=5), sb3_spaces(gymnasium.make(row.id))
    observation, other = venv.reset(), alone.reset(seed=6)[0]
    venv.action_space.seed(0)
    for _ in range(20):
        assert data_equivalence(select_env(observation, 1), other)
        action = venv.action_space.sample()
        observation, reward, done, infos = venv.step(np.stack([action] * 3))
        other, reward_, terminated, truncated, info = alone.step(action)
        assert reward[1] == pytest.approx(reward_)
        assert done[1] == (terminated or truncated)
        assert infos[1]["success"] == info["success"]
        if done[1]:
            assert data_equivalence(infos[1]["terminal_observation"], other)
            assert infos[1]["TimeLimit.truncated"] == (truncated and not terminated)
            break
