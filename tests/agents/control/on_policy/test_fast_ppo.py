from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

import tiltyard.agents
from tiltyard.agents import FastPPO
from tiltyard.agents.control.on_policy.sources import VecEnvSource, VectorSource, source_of
from tiltyard.wrappers.spaces import to_sb3

SMALL: dict[str, Any] = {"n_steps": 8, "batch_size": 16, "n_epochs": 2, "seed": 0, "device": "cpu"}
TINY: dict[str, Any] = {**SMALL, "policy_kwargs": {"net_arch": [8]}}


class Counting(gymnasium.Env[Any, Any]):
    """Observes how many steps it has done, is paid that, and ends after ``length`` of them: by ``how``."""

    observation_space = Box(-np.inf, np.inf, (1,), np.float32)
    action_space = Discrete(2)

    def __init__(self, length: int = 3, how: str = "truncated") -> None:
        self.length, self.how, self.count = length, how, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        ended = self.count == self.length
        observation = np.full(1, self.count, np.float32)
        return observation, float(self.count), ended and self.how == "terminated", ended and self.how == "truncated", {}


def counting(mode: AutoresetMode, *lengths: int, how: str = "truncated") -> Any:
    return SyncVectorEnv([lambda n=n: Counting(n, how) for n in lengths], autoreset_mode=mode)


def collected(env: Any, **settings: Any) -> FastPPO:
    """The agent after one rollout of 8 steps and its update."""
    kwargs: dict[str, Any] = {**TINY, "norm_reward": False, **settings}
    return FastPPO("MlpPolicy", env, **kwargs).learn(1)


@pytest.mark.parametrize("how", ["truncated", "terminated"])
def test_every_autoreset_mode_gives_the_same_experience(how: str) -> None:
    """But for the step that NEXT_STEP spends on a reset; what follows a truncation is worth its last observation."""
    agents = {mode: collected(counting(mode, 3, 100, how=how)) for mode in AutoresetMode}
    agents |= {"sb3": collected(DummyVecEnv([lambda: Counting(3, how), lambda: Counting(100, how)]))}
    for name, agent in agents.items():
        rollout = agent._spare
        ends = rollout.truncated if how == "truncated" else rollout.terminated
        period = 4 if name == AutoresetMode.NEXT_STEP else 3
        assert ends[:, 0].nonzero().squeeze(1).tolist() == list(range(2, 8, period))
        assert rollout.valid[:, 0].tolist() == [period == 3 or step % 4 != 3 for step in range(8)]
        assert rollout.rewards[:6, 0].tolist() == ([1, 2, 3, 0, 1, 2] if period == 4 else [1, 2, 3, 1, 2, 3])
        fresh = FastPPO("MlpPolicy", counting(AutoresetMode.SAME_STEP, 3, 100), **TINY)
        with th.no_grad():
            worth = float(fresh.policy.predict_values(th.tensor([[3.0]])))
        assert float(rollout.next_values[2, 0]) == pytest.approx(worth if how == "truncated" else 0.0, abs=1e-6)
        assert agent.num_timesteps == int(rollout.valid.sum())
        returns = {info["r"] for info in agent.ep_info_buffer or ()}
        assert returns == ({6.0} if name != "sb3" else set())
    assert float(rollout.next_values[2, 1]) != 0.0


def test_a_native_vector_is_stepped_without_adapters_between() -> None:
    env = counting(AutoresetMode.SAME_STEP, 3, 3)
    assert isinstance(source_of(to_sb3(env)), VectorSource)
    assert isinstance(source_of(VecMonitor(to_sb3(env))), VectorSource)
    assert isinstance(source_of(DummyVecEnv([Counting])), VecEnvSource)
    assert isinstance(source_of(VecMonitor(DummyVecEnv([Counting]))), VecEnvSource)


def test_observations_and_rewards_are_normalised_by_what_was_seen_and_saved(tmp_path: Path) -> None:
    agent = FastPPO("MlpPolicy", counting(AutoresetMode.SAME_STEP, 4, 4), **TINY).learn(16)
    moments = agent.policy.moments["of_"]
    assert float(moments.mean) == pytest.approx(1.5, abs=1e-4)  # 0, 1, 2, 3, again and again
    assert float(moments.var) == pytest.approx(1.25, abs=1e-3)
    returns = np.zeros(4)
    for step, reward in enumerate((1.0, 2.0, 3.0, 4.0)):
        returns[step] = reward + 0.99 * (returns[step - 1] if step else 0.0)
    assert float(agent.reward_scale.var) == pytest.approx(returns.var(), rel=1e-3)
    agent.save(tmp_path / "agent")
    loaded = FastPPO.load(tmp_path / "agent")
    for name, one in (("policy", loaded.policy), ("reward_scale", loaded.reward_scale)):
        for mine, other in zip(getattr(agent, name).state_dict().values(), one.state_dict().values(), strict=True):
            assert mine.equal(other)
    for mine, other in zip(
        agent.policy.optimizer.state_dict()["state"].values(),
        loaded.policy.optimizer.state_dict()["state"].values(),
        strict=True,
    ):
        assert all(th.equal(mine[key], other[key]) for key in mine)


@pytest.mark.parametrize("overlap", [False, True])
def test_it_goes_on_as_if_never_saved(tmp_path: Path, overlap: bool) -> None:
    def on(agent: Any) -> Any:
        agent.set_random_seed(7)
        th.manual_seed(3)
        agent._last_obs = None
        return agent.learn(48, reset_num_timesteps=False)

    agent = tiltyard.agents.make("fast-ppo", "tiltyard/Hopper-v5", n_envs=2, overlap=overlap, **TINY).learn(48)
    agent.save(tmp_path / "agent")
    loaded = FastPPO.load(tmp_path / "agent", env=agent.env)
    for one in (agent, loaded):
        on(one)
        assert one.num_timesteps == 96
    for mine, other in zip(agent.policy.state_dict().values(), loaded.policy.state_dict().values(), strict=True):
        assert mine.equal(other)


def test_a_seed_decides_the_run_also_when_collection_overlaps() -> None:
    make = tiltyard.agents.make
    for overlap in (False, True):
        first, second = (
            make("fast-ppo", "tiltyard/Hopper-v5", n_envs=2, overlap=overlap, **TINY).learn(64).policy.state_dict()
            for _ in range(2)
        )
        assert any(float(moments.abs().max()) > 0.1 for name, moments in first.items() if "mean" in name)
        assert all(a.equal(b) for a, b in zip(first.values(), second.values(), strict=True))


def test_it_learns_to_balance_a_pole() -> None:
    env = gymnasium.make_vec("CartPole-v1", 16, "vector_entry_point")
    agent = FastPPO("MlpPolicy", env, n_steps=64, batch_size=256, n_epochs=8, learning_rate=2e-3, seed=0).learn(25_000)
    assert np.mean([info["r"] for info in agent.ep_info_buffer or ()]) > 100


class Bits(gymnasium.Env[Any, Any]):
    """Wants the bits that it shows."""

    observation_space, action_space = MultiBinary(4), MultiBinary(4)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.wanted = self.np_random.integers(0, 2, 4).astype(np.int8)
        return self.wanted, {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(np.asarray(action, np.int8))
        reward = float(np.mean(self.wanted == action))
        return self.reset()[0], reward, False, False, {}


def test_it_learns_to_answer_with_bits(tmp_path: Path) -> None:
    env = SyncVectorEnv([Bits] * 16, autoreset_mode=AutoresetMode.SAME_STEP)
    agent = FastPPO("MlpPolicy", env, n_steps=16, batch_size=64, n_epochs=8, learning_rate=3e-3, gamma=0.0, seed=0)
    shown = np.array([[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)], np.int8)
    assert (agent.predict(shown, deterministic=True)[0] == shown).mean() < 0.8
    agent.learn(15_000)
    learnt = agent.predict(shown, deterministic=True)[0]
    assert (learnt == shown).mean() > 0.95
    agent.save(tmp_path / "bits")
    again = FastPPO.load(tmp_path / "bits")
    np.testing.assert_array_equal(again.predict(shown, deterministic=True)[0], learnt)


class Forbidding(gymnasium.Env[Any, Any]):
    """Allows one option of each choice, which its mask names."""

    def __init__(self, nvec: list[int]) -> None:
        size = sum(nvec)
        self.nvec = nvec
        self.observation_space = Dict(x=Box(-1, 1, (2,), np.float32), action_mask=Box(0, 1, (size,), np.int8))
        self.action_space = MultiDiscrete(nvec) if len(nvec) > 1 else Discrete(nvec[0])

    def _observation(self) -> Any:
        self.allowed = [int(self.np_random.integers(n)) for n in self.nvec]
        mask = np.concatenate([np.eye(n, dtype=np.int8)[one] for n, one in zip(self.nvec, self.allowed, strict=True)])
        return {"x": np.zeros(2, np.float32), "action_mask": mask}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._observation(), {}

    def step(self, action: Any) -> Any:
        assert np.ravel(action).tolist() == self.allowed
        return self._observation(), 1.0, False, False, {}


@pytest.mark.parametrize("nvec", [[5], [3, 4]])
def test_forbidden_actions_are_never_taken(nvec: list[int]) -> None:
    env = SyncVectorEnv([lambda: Forbidding(nvec)] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    agent = FastPPO("MultiInputPolicy", env, **SMALL).learn(32)
    assert agent.num_timesteps == 32
    observation = agent.env.reset()
    assert agent.policy.moments.keys() == {"of_x"}
    actions, _ = agent.predict(observation, deterministic=False)
    allowed = [one.allowed for one in env.envs]
    assert actions.reshape(2, -1).tolist() == allowed


def test_a_mask_of_a_wrong_size_is_refused() -> None:
    env = Forbidding([5])
    env.action_space = Discrete(4)
    with pytest.raises(TypeError, match="a mask has one entry for each option"):
        FastPPO("MultiInputPolicy", DummyVecEnv([lambda: env]), **SMALL)


class Picture(gymnasium.Env[Any, Any]):
    observation_space = Box(0, 255, (3, 36, 36), np.uint8)
    action_space = Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        assert (np.abs(action) <= 1.0).all()
        return self.observation_space.sample(), 0.0, False, False, {}


def test_images_are_read_by_a_small_convolutional_network() -> None:
    env = SyncVectorEnv([Picture] * 2, autoreset_mode=AutoresetMode.SAME_STEP)
    agent = FastPPO("CnnPolicy", env, **SMALL, policy_kwargs={"features_extractor_kwargs": {"features_dim": 8}})
    agent.learn(32)
    assert agent._spare.observations.dtype == th.uint8
    assert not agent.policy.moments


class Broken(Counting):
    def step(self, action: Any) -> Any:
        observation, _, *rest = super().step(action)
        return (observation, np.nan, *rest)


def test_a_reward_that_is_no_number_stops_the_training() -> None:
    with pytest.raises(ValueError, match="reward of nan: rewards are finite"):
        FastPPO("MlpPolicy", SyncVectorEnv([Broken], autoreset_mode=AutoresetMode.SAME_STEP), **SMALL).learn(8)


class Stop(BaseCallback):
    """Saves and predicts in every step, and ends the training in the 20th."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def _on_step(self) -> bool:
        assert len(self.locals["infos"]) == len(self.locals["rewards"]) == 2
        self.model.save(self.path)
        self.model.predict(self.locals["new_obs"])
        return self.n_calls < 20


@pytest.mark.parametrize("overlap", [False, True])
def test_callbacks_save_predict_and_end_the_training(tmp_path: Path, overlap: bool) -> None:
    agent = FastPPO("MlpPolicy", counting(AutoresetMode.SAME_STEP, 3, 4), overlap=overlap, **TINY)
    agent.learn(1000, callback=Stop(tmp_path / "agent"))
    assert agent.num_timesteps == 40
    assert FastPPO.load(tmp_path / "agent").num_timesteps == 40


def test_it_goes_on_in_another_vector_which_is_reset_first() -> None:
    agent = FastPPO("MlpPolicy", counting(AutoresetMode.SAME_STEP, 3, 4), **TINY).learn(16)
    agent.set_env(counting(AutoresetMode.NEXT_STEP, 3, 100))
    assert agent.learn(14, reset_num_timesteps=False).num_timesteps == 16 + 14
    assert agent.rollout_buffer.observations[0].tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("kind", [np.uint8, np.int64])
def test_whole_numbers_are_read_as_the_floats_that_they_are(kind: Any) -> None:
    class Whole(Counting):
        observation_space = Box(0, 255, (6,), kind)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return np.arange(6).astype(kind), super().reset(seed=seed)[1]

        def step(self, action: Any) -> Any:
            return np.arange(6).astype(kind) + kind(self.count), *super().step(action)[1:]

    class Floats(Whole):
        observation_space = Box(0, 255, (6,), np.float32)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return super().reset(seed=seed)[0].astype(np.float32), {}

        def step(self, action: Any) -> Any:
            seen, *rest = super().step(action)
            return seen.astype(np.float32), *rest

    whole, floats = (FastPPO("MlpPolicy", env(), **TINY, norm_obs=False).learn(16) for env in (Whole, Floats))
    for one, other in zip(whole.policy.parameters(), floats.policy.parameters(), strict=True):
        th.testing.assert_close(one, other)


def test_a_discount_that_is_changed_later_counts_as_one_that_was_given() -> None:
    def learnt(gamma: float, later: float) -> th.Tensor:
        agent = FastPPO("MlpPolicy", VecMonitor(DummyVecEnv([Counting] * 2)), **TINY, gamma=gamma)
        agent.gamma = later
        return th.nn.utils.parameters_to_vector(agent.learn(64).policy.parameters())

    assert th.equal(learnt(0.5, 0.5), learnt(0.9, 0.5))
    assert not th.equal(learnt(0.5, 0.5), learnt(0.9, 0.9))
