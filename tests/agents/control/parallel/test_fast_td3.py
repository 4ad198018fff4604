"""FastTD3: targets by hand, noise of each environment, what is saved, what is refused, and that it learns."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import ActionNoise
from stable_baselines3.common.vec_env import DummyVecEnv

import tiltyard.agents
from tiltyard.agents import FastTD3
from tiltyard.agents.control.parallel.agent import projected

TINY: dict[str, Any] = {
    **{"learning_starts": 8, "batch_size": 16, "buffer_size": 400, "gradient_steps": 2, "seed": 0, "device": "cpu"},
    "policy_kwargs": {"net_arch": [8]},
}


class Counting(gymnasium.Env[Any, Any]):
    """Observes how many steps it has done, is paid that, and is cut off after ``length`` of them."""

    observation_space = Box(-np.inf, np.inf, (1,), np.float32)
    action_space = Box(-2, 2, (1,), np.float32)

    def __init__(self, length: int = 3) -> None:
        self.length, self.count, self.actions = length, 0, []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(np.asarray(action, np.float32))
        self.count += 1
        return np.full(1, self.count, np.float32), float(self.count), False, self.count == self.length, {}


def counting(mode: AutoresetMode = AutoresetMode.SAME_STEP, *lengths: int) -> Any:
    return SyncVectorEnv([lambda n=n: Counting(n) for n in lengths or (3, 100)], autoreset_mode=mode)


def test_a_discount_set_later_counts() -> None:
    def learnt(gamma: float, later: float) -> th.Tensor:
        agent = FastTD3("MlpPolicy", counting(), **TINY, gamma=gamma, norm_reward=True)
        agent.gamma = later
        return th.nn.utils.parameters_to_vector(agent.learn(32).policy.parameters())

    assert th.equal(learnt(0.5, 0.5), learnt(0.9, 0.5))
    assert not th.equal(learnt(0.5, 0.5), learnt(0.9, 0.9))


def test_every_autoreset_mode_gives_the_same_experience() -> None:
    agents = {mode: FastTD3("MlpPolicy", counting(mode), **TINY).learn(16) for mode in AutoresetMode}
    agents |= {"sb3": FastTD3("MlpPolicy", DummyVecEnv([lambda: Counting(3), lambda: Counting(100)]), **TINY).learn(16)}
    for name, agent in agents.items():
        buffer = agent.replay_buffer
        rewards = [1, 2, 3, 3, 1, 2, 3, 3] if name == AutoresetMode.NEXT_STEP else [1, 2, 3, 1, 2, 3, 1, 2]
        assert buffer.rewards[:8, 0].tolist() == rewards
        assert buffer.observations[:4, 0, 0].tolist()[:3] == [0, 1, 2]
        assert buffer.next_observations[2, 0, 0] == 3
        assert buffer.timeouts[2, 0] == buffer.dones[2, 0] == 1
        assert buffer.rewards[:8, 1].tolist() == list(range(1, 9))
        batch = buffer.returns_from(th.tensor([2, 3]), 0.5, 3, "cpu")  # of the second step of both
        assert batch.rewards.tolist() == [2 + 0.5 * 3, 2 + 0.5 * 3 + 0.25 * 4]
        assert batch.discounts.tolist() == [0.25, 0.125]
        assert agent.num_timesteps == 16  # steps spent on resets do not count


def test_targets_are_those_of_the_critic_with_the_smaller_mean() -> None:
    # The target critics say 3 and 5 everywhere: 2 + 0.9 * 3 = 4.7, or each its own, 6.5 too; an end has its reward.
    kwargs = {"net_arch": [8], "critic_head_kwargs": {"v_min": 0.0, "v_max": 10.0, "n_bins": 11}}
    agent = FastTD3("MlpPolicy", counting(), **TINY | {"policy_kwargs": kwargs})
    *_, biases = agent.critic_target.net.params
    with th.no_grad():
        for parameter in agent.critic_target.parameters():
            parameter.zero_()
        biases[0, 0, 3], biases[1, 0, 5] = 100.0, 100.0
    rewards, discounts, values = th.tensor([2.0, 2.0]), th.tensor([0.9, 0.0]), agent.critic.head.values
    given = (agent.critic_target, th.zeros(2, 1), th.zeros(2, 1), rewards, discounts)
    assert (projected(*given, True) @ values).tolist() == pytest.approx([4.7, 2.0], abs=1e-3)
    both = (projected(*given, False) @ values).tolist()
    assert both[0] == pytest.approx([4.7, 2.0], abs=1e-3)
    assert both[1] == pytest.approx([6.5, 2.0], abs=1e-3)


def test_each_environment_explores_by_its_own_noise_redrawn_with_its_episodes() -> None:
    agent = FastTD3(
        "MlpPolicy", counting(AutoresetMode.SAME_STEP, *[3, 100] * 64), **TINY, noise_min=0.2, noise_max=0.6
    )
    agent.learn(128)
    first = agent._scales.clone()
    assert 0.2 <= float(first.min()) < 0.25
    assert 0.55 < float(first.max()) <= 0.6
    th.manual_seed(0)
    drawn = th.stack([agent.explored(agent._acted_on) for _ in range(400)]).detach()
    th.testing.assert_close(drawn.std(0), first, rtol=0.2, atol=0.0)
    agent.learn(256, reset_num_timesteps=False)  # steps 2 and 3, at which the episodes of every other one end
    assert th.equal(agent._scales[1::2], first[1::2])
    assert not (agent._scales[::2] == first[::2]).any()


def test_actions_are_stored_as_they_were_taken_in_the_range_of_the_space() -> None:
    agent = FastTD3("MlpPolicy", counting(), **TINY | {"learning_starts": 0}, noise_min=2.0, noise_max=2.0).learn(40)
    stored = agent.replay_buffer.actions[:20]
    assert np.abs(stored).max() == 1.0
    assert 0.1 < (np.abs(stored) < 1).mean() < 0.9


@pytest.mark.parametrize("n_envs", [1, 2])
def test_sb3s_noise_is_added_and_begins_anew_with_each_episode(n_envs: int) -> None:
    class Drift(ActionNoise):
        """0.1 after the first step of an episode, 0.2 after the second, ..."""

        def __init__(self) -> None:
            self.steps = 0

        def reset(self) -> None:
            self.steps = 0

        def __call__(self) -> Any:
            self.steps += 1
            return np.full(1, 0.1 * self.steps, np.float32)

    env = counting(AutoresetMode.SAME_STEP, *[3, 100][:n_envs])
    settings = {**TINY, "learning_starts": 0, "gradient_steps": 0, "noise_min": 0.0, "noise_max": 0.0}
    agent = FastTD3("MlpPolicy", env, **settings, action_noise=Drift())
    with th.no_grad():
        for parameter in agent.actor.parameters():
            parameter.zero_()
    agent.learn(5 * n_envs)
    stored = agent.replay_buffer.actions[:5, :, 0]
    np.testing.assert_allclose(stored[:, 0], [0.1, 0.2, 0.3, 0.1, 0.2], atol=1e-6)
    np.testing.assert_allclose(stored[:, n_envs - 1][-1], 0.5 if n_envs == 2 else 0.2, atol=1e-6)


def test_normalisation_is_saved_and_the_rest_comes_back_as_it_was(tmp_path: Path) -> None:
    agent = FastTD3("MlpPolicy", counting(AutoresetMode.SAME_STEP, 4, 4), **TINY).learn(32)
    moments = agent.policy.normalizer.moments
    assert float(moments.mean) == pytest.approx(1.5, abs=1e-4)  # 0, 1, 2, 3, again and again
    assert float(moments.var) == pytest.approx(1.25, abs=1e-3)
    returns = np.zeros(4)
    for step, reward in enumerate((1.0, 2.0, 3.0, 4.0)):
        returns[step] = reward + 0.99 * (returns[step - 1] if step else 0.0)
    assert float(agent.reward_scale.var) == pytest.approx(returns.var(), rel=1e-3)
    agent.save(tmp_path / "agent")
    agent.policy.save(tmp_path / "policy")
    seen = np.linspace(-1, 5, 7, dtype=np.float32)[:, None]
    loaded = FastTD3.load(tmp_path / "agent")
    for one in (loaded, deepcopy(agent)):
        assert float(one.reward_scale.factor) == agent.reward_scale.factor != 1.0
        np.testing.assert_array_equal(one.predict(seen)[0], agent.predict(seen)[0])
        for mine, other in zip(agent.policy.state_dict().values(), one.policy.state_dict().values(), strict=True):
            assert mine.equal(other)
        networks = one.actor, one.critic, one.critic_target
        assert {id(network.features_extractor) for network in networks} == {id(one.policy.normalizer)}
    again = type(agent.policy).load(tmp_path / "policy")
    np.testing.assert_array_equal(again.predict(seen)[0], agent.predict(seen)[0])
    agent.policy.normalizer.update(th.full((100, 1), 50.0))
    assert not np.array_equal(loaded.predict(seen)[0], agent.predict(seen)[0])


def test_without_normalisation_nothing_is_moved_or_scaled() -> None:
    agent = FastTD3("MlpPolicy", counting(), **TINY, norm_obs=False, norm_reward=False).learn(32)
    assert agent.policy.normalizer is None
    assert agent.scaled(th.tensor([3.0])).tolist() == [3.0]
    assert agent.actor.features(th.tensor([[7.0]])).tolist() == [[7.0]]


@pytest.mark.parametrize("overlap", [False, True])
def test_a_seed_decides_the_run_which_goes_on_as_if_never_saved(tmp_path: Path, overlap: bool) -> None:
    def on(agent: Any) -> Any:
        agent.set_random_seed(7)
        agent._last_obs = None
        return agent.learn(48, reset_num_timesteps=False)

    settings = {**TINY, "overlap": overlap, "n_envs": 2}
    one, other = (tiltyard.agents.make("fast-td3", "tiltyard/Hopper-v5", **settings).learn(48) for _ in range(2))
    assert one._n_updates > 20
    one.save(tmp_path / "agent")
    one.save_replay_buffer(tmp_path / "buffer")
    loaded = FastTD3.load(tmp_path / "agent", env=other.env)
    loaded.load_replay_buffer(tmp_path / "buffer")
    for agent in (loaded, one):
        on(agent)
        assert agent.num_timesteps == 96
    assert any(not a.equal(b) for a, b in zip(one.policy.parameters(), other.policy.parameters(), strict=True))
    on(other)
    for agent in (loaded, other):
        for mine, theirs in zip(one.policy.state_dict().values(), agent.policy.state_dict().values(), strict=True):
            assert mine.equal(theirs)


def test_the_actor_moves_at_every_second_update_and_weights_decay() -> None:
    agent = FastTD3("MlpPolicy", counting(), **TINY | {"gradient_steps": 0}).learn(32)
    assert agent.actor.optimizer.param_groups[0]["weight_decay"] == 0.1
    before = [parameter.detach().clone() for parameter in agent.actor.parameters()]
    agent.train(1, 16)
    assert all(th.equal(a, b) for a, b in zip(before, agent.actor.parameters(), strict=True))
    agent.train(1, 16)
    assert not any(th.equal(a, b) for a, b in zip(before, agent.actor.parameters(), strict=True))
    theirs = [th.nn.Parameter(parameter.detach().clone()) for parameter in agent.critic.net.params]
    other = th.optim.AdamW(theirs, lr=0.5, weight_decay=0.1)
    ours = type(agent.critic.optimizer)(
        [th.nn.Parameter(one.detach().clone()) for one in theirs], 0.5, weight_decay=0.1
    )
    gradients = [th.randn_like(one) for one in theirs]
    for _ in range(3):
        for parameter, gradient in zip(theirs, gradients, strict=True):
            parameter.grad = gradient
        other.step()
        ours.apply(gradients)
    for mine, parameter in zip(ours.param_groups[0]["params"], theirs, strict=True):
        th.testing.assert_close(mine, parameter)


class Stop(BaseCallback):
    def _on_step(self) -> bool:
        assert len(self.locals["infos"]) == len(self.locals["rewards"]) == 2
        self.model.predict(self.locals["new_obs"])
        return self.n_calls < 20


def test_callbacks_see_each_step_and_end_the_training() -> None:
    agent = FastTD3("MlpPolicy", counting(AutoresetMode.SAME_STEP, 3, 4), **TINY).learn(1000, callback=Stop())
    assert agent.num_timesteps == 40
    assert {info["r"] for info in agent.ep_info_buffer or ()} == {6.0, 10.0}


def test_it_learns_from_data_by_whose_moments_it_normalises(match: Any) -> None:
    agent = FastTD3("MlpPolicy", match.env(), **TINY | {"policy_kwargs": {"net_arch": [32]}, "batch_size": 64})
    agent.learn_offline(match.data(), 1)
    assert float(agent.policy.normalizer.moments.var) == pytest.approx(1 / 3, rel=0.1)
    assert agent.reward_scale.factor != 1.0
    agent.learn_offline(match.data(), 400)
    assert match.error(agent) < 0.1  # 1/3 for one that always does 0


def test_it_learns_what_to_do(match: Any) -> None:
    env = SyncVectorEnv([match.env] * 16, autoreset_mode=AutoresetMode.SAME_STEP)
    kwargs = {"net_arch": [32, 32]}
    agent = FastTD3("MlpPolicy", env, learning_starts=500, batch_size=64, policy_kwargs=kwargs, seed=0, device="cpu")
    assert match.error(agent) > 0.3
    assert match.error(agent.learn(4_000)) < 0.05


class Picture(Counting):
    observation_space = Box(0, 255, (3, 36, 36), np.uint8)


class Bytes(Counting):
    observation_space = Box(0, 255, (6,), np.uint8)


class Matrix(Counting):
    action_space = Box(-1, 1, (2, 2))


@pytest.mark.parametrize(
    ("env", "settings", "error", "message"),
    [
        (Counting, {"noise_min": 0.5}, ValueError, "noise_min is at most noise_max, got 0.5 and 0.4"),
        (Counting, {"replay_buffer_class": ReplayBuffer}, ValueError, "replay buffer of its own: leave"),
        (Counting, {"optimize_memory_usage": True}, ValueError, "replay buffer of its own: leave"),
        (Counting, {"policy_kwargs": {"critic_head": "mse"}}, ValueError, 'critics of the head "c51" alone'),
        (Picture, {}, TypeError, r"FastTD3 reads flat Box observations of floats, not Box\(.*: flatten them"),
        (Bytes, {}, TypeError, r"not whole numbers such as those of Box\(.*uint8\): make them floats"),
        (Matrix, {}, TypeError, r"and acts in a flat Box, not in Box\(-1.0, 1.0, \(2, 2\)"),
    ],
)
def test_what_it_does_not_take_is_refused(env: Any, settings: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        FastTD3("MlpPolicy", DummyVecEnv([env]), **settings)
