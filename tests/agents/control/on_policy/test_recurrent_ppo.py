"""PPO with memory: what it remembers, forgets and learns."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import DummyVecEnv

from tiltyard.agents import FastPPO, RecurrentPPO
from tiltyard.agents.control.on_policy.recurrent import RecurrentPolicy
from tiltyard.agents.control.on_policy.recurrent_ppo import sequences, step_after_step
from tiltyard.wrappers.spaces import to_sb3

SMALL: dict[str, Any] = {"n_steps": 8, "bptt_steps": 4, "batch_size": 16, "n_epochs": 2, "seed": 0, "device": "cpu"}
TINY: dict[str, Any] = {**SMALL, "policy_kwargs": {"net_arch": [8], "lstm_hidden_size": 8}}


class Recall(gymnasium.Env[Any, Any]):
    """Shows a sign at the first step alone; the last action of an episode is paid if it names it.

    Observations are the sign (1, -1, or 0 later) and the share of the episode that is over.
    """

    observation_space = Box(-1.0, 1.0, (2,), np.float32)
    action_space = Discrete(2)

    def __init__(self, length: int = 5, how: str = "terminated") -> None:
        self.length, self.how, self.count, self.sign = length, how, 0, 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count, self.sign = 0, int(self.np_random.integers(2))
        return np.array([2 * self.sign - 1, 0.0], np.float32), {}

    def step(self, action: Any) -> Any:
        self.count += 1
        over = self.count == self.length
        reward = float(over and int(action) == self.sign)
        observation = np.array([0.0, self.count / self.length], np.float32)
        return observation, reward, over and self.how == "terminated", over and self.how == "truncated", {}


def recalls(mode: AutoresetMode, *lengths: int, how: str = "terminated") -> Any:
    return SyncVectorEnv([lambda n=n: Recall(n, how) for n in lengths], autoreset_mode=mode)


def acted(env: Any, **settings: Any) -> RecurrentPPO:
    """An agent that has collected one rollout and not learnt from it."""
    agent = RecurrentPPO("MlpPolicy", env, **{**TINY, "norm_reward": False, **settings})
    _, callback = agent._setup_learn(1, None)
    agent.collect_rollouts(agent.env, callback, agent.rollout_buffer, agent.n_steps)
    return agent


def replayed(agent: RecurrentPPO, env: int, first: int, observations: Any) -> th.Tensor:
    """The values of an episode's observations ``[L, S]``, by the policy from an empty memory."""
    policy, memory, values = agent.policy, agent.policy.empty(1), []
    with th.no_grad():
        for one in observations:
            _, value, _, memory = policy(th.as_tensor(one).view(1, -1), memory, th.zeros(1, dtype=th.bool))
            values.append(value.view(()))
    return th.stack(values)


@pytest.mark.parametrize("mode", [*AutoresetMode, "sb3"])
def test_an_episode_is_remembered_from_its_first_step_and_not_beyond(mode: Any) -> None:
    if mode == "sb3":
        env: Any = DummyVecEnv([lambda: Recall(3, "truncated"), lambda: Recall(100)])
    else:
        env = recalls(mode, 3, 100, how="truncated")
    agent = acted(env)
    rollout = agent.rollout_buffer
    seen, values = rollout.observations[:, 0], rollout.values[:, 0]
    period = 4 if mode == AutoresetMode.NEXT_STEP else 3
    for first in range(0, 8 - period, period):
        last = Recall(3)
        ended = th.tensor([0.0, last.length / 3])  # the observation that the episode ended with
        found = replayed(agent, 0, first, [*seen[first : first + 3], ended])
        assert values[first : first + 3].tolist() == pytest.approx(found[:3].tolist(), abs=1e-6)
        assert float(rollout.next_values[first + 2, 0]) == pytest.approx(float(found[3]), abs=1e-6)
    whole = replayed(agent, 1, 0, rollout.observations[:, 1])
    assert rollout.values[:, 1].tolist() == pytest.approx(whole.tolist(), abs=1e-6)
    again = agent.collect_rollouts(agent.env, agent._init_callback(None), rollout, 8)  # the memory goes on
    assert again
    assert float(rollout.values[0, 1]) == pytest.approx(float(whole[-1]), abs=1e-6)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_the_update_reads_what_the_rollout_did(mode: AutoresetMode) -> None:
    """Sequences begin with the memory that was kept: ratios are 1 and values as they were, in every sequence."""
    agent = acted(recalls(mode, 3, 100, 5))
    samples = agent._samples()
    assert samples.logp_old.shape == (6, 4)
    assert samples.valid.all() == (mode != AutoresetMode.NEXT_STEP)
    with th.no_grad():
        values, logp, _ = agent.policy.evaluate_sequences(
            step_after_step(samples.observations),
            step_after_step(samples.actions),
            samples.memory.permute(1, 2, 0, 3),
            samples.starts.t(),
        )
    assert logp.tolist() == pytest.approx(samples.logp_old.t().flatten().tolist(), abs=1e-5)
    assert values.tolist() == pytest.approx(samples.values_old.t().flatten().tolist(), abs=1e-5)
    losses = agent._gradients()(samples, agent._update_settings())
    assert float(losses.approx_kl) == pytest.approx(0.0, abs=1e-6)
    assert float(losses.clip_fraction) == 0.0
    flat = samples.flat()
    assert len(flat) == int(samples.valid.sum()) == len(flat.actions) == len(flat.observations)


def test_sequences_are_cut_from_each_environment_in_order() -> None:
    grid = th.arange(12).view(6, 2)  # six steps of two environments
    assert sequences(grid, 3).tolist() == [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]]
    assert step_after_step(sequences(grid, 3)).tolist() == [0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11]


def test_gradients_flow_back_over_a_sequence_and_no_further() -> None:
    """The gradient of the last step's value by an observation is zero before its sequence, and before its episode."""
    agent = acted(recalls(AutoresetMode.SAME_STEP, 100))
    policy: RecurrentPolicy = agent.policy
    samples = agent._samples()
    seen = samples.observations.clone().requires_grad_()  # type: ignore[union-attr]
    starts = th.zeros(4, 2, dtype=th.bool)
    memory = samples.memory.permute(1, 2, 0, 3)
    actions = step_after_step(samples.actions)
    values, _, _ = policy.evaluate_sequences(step_after_step(seen), actions, memory, starts)
    (by,) = th.autograd.grad(values.view(4, 2)[-1, 1], seen)
    assert (by[1].abs().sum(dim=1) > 0).all()
    assert by[0].abs().sum() == 0
    starts[2, 1] = True
    values, _, _ = policy.evaluate_sequences(step_after_step(seen), actions, memory, starts)
    (by,) = th.autograd.grad(values.view(4, 2)[-1, 1], seen)
    assert (by[1].abs().sum(dim=1) > 0).tolist() == [False, False, True, True]


def test_predict_remembers_by_the_state_that_it_is_given() -> None:
    agent = RecurrentPPO("MlpPolicy", recalls(AutoresetMode.SAME_STEP, 9, 9), **TINY)
    policy, seen = agent.policy, np.array([[1.0, 0.0], [-1.0, 0.0]], np.float32)
    _, state = agent.predict(seen, deterministic=True)
    assert [part.shape for part in state] == [(1, 2, 8)] * 2
    _, further = agent.predict(seen, state=state, deterministic=True)
    assert not np.allclose(further[0], state[0])
    _, anew = agent.predict(seen, state=further, episode_start=np.array([True, False]), deterministic=True)
    assert np.allclose(anew[0][:, 0], state[0][:, 0])
    assert not np.allclose(anew[0][:, 1], state[0][:, 1])
    with pytest.raises(ValueError, match="a state for 2 observations is two arrays"):
        agent.predict(seen, state=(state[0][:, :1], state[1][:, :1]))
    one, _ = policy.predict(seen[0], deterministic=True)
    assert one.shape == ()


def test_it_is_saved_and_copied_with_what_it_learnt_and_remembers(tmp_path: Path) -> None:
    agent = RecurrentPPO("MlpPolicy", recalls(AutoresetMode.SAME_STEP, 5, 7), **TINY).learn(64)
    agent.save(tmp_path / "agent")
    loaded = RecurrentPPO.load(tmp_path / "agent")
    assert loaded.bptt_steps == 4
    seen = np.array([[1.0, 0.0]], np.float32)
    for mine, other in zip(agent.predict(seen)[1], loaded.predict(seen)[1], strict=True):
        assert np.array_equal(mine, other)
    other = deepcopy(agent)
    for one in (agent, other):
        th.manual_seed(3)
        one.learn(64, reset_num_timesteps=False)
    for mine, theirs in zip(agent.policy.state_dict().values(), other.policy.state_dict().values(), strict=True):
        assert mine.equal(theirs)


@pytest.mark.parametrize("overlap", [False, True])
def test_it_learns_from_dictionaries_images_and_numbers(overlap: bool) -> None:
    class Seen(Recall):
        observation_space = Dict(  # type: ignore[assignment]
            picture=Box(0, 255, (1, 36, 36), np.uint8), numbers=Box(-1.0, 1.0, (2,), np.float32)
        )

        def reset(self, **kwargs: Any) -> Any:
            return self.shown(super().reset(**kwargs)[0]), {}

        def step(self, action: Any) -> Any:
            observation, *rest = super().step(action)
            return self.shown(observation), *rest

        def shown(self, numbers: Any) -> Any:
            return {"picture": np.full((1, 36, 36), self.count, np.uint8), "numbers": numbers}

    env = SyncVectorEnv([Seen, Seen], autoreset_mode=AutoresetMode.SAME_STEP)
    agent = RecurrentPPO("MultiInputLstmPolicy", env, overlap=overlap, **TINY)
    before = deepcopy(agent.policy.state_dict())
    agent.learn(64)
    after = agent.policy.state_dict()
    assert all(not after[name].equal(before[name]) for name in before if name.startswith("lstm"))
    assert agent.num_timesteps == 64


def test_sequences_that_do_not_fit_are_refused() -> None:
    env = recalls(AutoresetMode.SAME_STEP, 5)
    with pytest.raises(ValueError, match="n_steps=8 is no multiple of bptt_steps=3"):
        RecurrentPPO("MlpPolicy", env, **{**TINY, "bptt_steps": 3})
    with pytest.raises(TypeError, match="shares one features extractor"):
        RecurrentPPO("MlpPolicy", env, **{**SMALL, "policy_kwargs": {"share_features_extractor": False}})


def test_it_recalls_what_ppo_without_memory_cannot() -> None:
    settings: dict[str, Any] = {"n_steps": 20, "batch_size": 320, "n_epochs": 4, "learning_rate": 3e-3, "seed": 0}
    settings |= {"device": "cpu", "gamma": 0.95}
    scores = []
    for kind, more in ((RecurrentPPO, {"bptt_steps": 10}), (FastPPO, {})):
        env = SyncVectorEnv([Recall] * 32, autoreset_mode=AutoresetMode.SAME_STEP)
        agent = kind("MlpPolicy", env, **settings, **more).learn(16_000)
        test = to_sb3(SyncVectorEnv([Recall] * 8, autoreset_mode=AutoresetMode.SAME_STEP))
        test.seed(1)
        scores.append(evaluate_policy(agent, test, 200)[0])
    assert scores[0] > 0.95
    assert scores[1] < 0.65  # chance is one half


@pytest.mark.parametrize("space", [MultiDiscrete([3, 4]), MultiBinary(3), Discrete(5)], ids=str)
def test_it_reads_choices(space: Any) -> None:
    class Choices(Recall):
        observation_space = space

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return self.observation_space.sample(), super().reset(seed=seed)[1]

        def step(self, action: Any) -> Any:
            return self.observation_space.sample(), *super().step(action)[1:]

    assert RecurrentPPO("MlpPolicy", Choices(), **TINY).learn(8).num_timesteps == 8


def test_predict_says_what_it_was_given_in_place_of_observations_and_starts() -> None:
    agent = RecurrentPPO("MlpPolicy", recalls(AutoresetMode.NEXT_STEP, 3, 3), **TINY)
    seen = np.zeros((2, 2), np.float32)
    with pytest.raises(ValueError, match="give it the observation alone"):
        agent.predict((seen, {}))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="an episode_start for 2 observations is 2 truth values, not 3"):
        agent.predict(seen, None, np.ones(3, bool))
    assert agent.predict(seen[0], None, True)[0].shape == ()  # type: ignore[arg-type]
