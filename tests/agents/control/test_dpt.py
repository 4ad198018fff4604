"""DPT's loss by hand, that it appends its own transitions and no others, and that it learns to use a context."""

import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th

from tiltyard.agents import DPT, make
from tiltyard.agents.control.dpt_policy import DPTPolicy, Memory
from tiltyard.agents.control.dpt_tasks import Batch
from tiltyard.agents.models.in_context import Context
from tiltyard.benchmarks.testbeds.arm_bandits import ArmBanditVectorEnv
from tiltyard.benchmarks.testbeds.dark_room import DarkRoomVectorEnv

SMALL: dict[str, Any] = {"seed": 0, "device": "cpu", "policy_kwargs": {"width": 16, "depth": 2, "heads": 2}}


def bandits(n: int = 8, **how: Any) -> ArmBanditVectorEnv:
    return ArmBanditVectorEnv(n, kind="bernoulli", **({"arms": 2, "pulls": 10} | how))


def weights(agent: DPT) -> list[th.Tensor]:
    return [one.detach().clone() for one in agent.policy.parameters()]


def test_the_loss_by_hand() -> None:
    agent = make("dpt", bandits(), **SMALL)
    head = agent.policy.network.head
    with th.no_grad():
        head.weight.zero_()
        head.bias.copy_(th.tensor([0.0, math.log(3.0)]))  # 1/4 and 3/4 whatever is shown
    batch = Batch(Context.empty(2, 1), np.zeros((2, 2, 1)), np.zeros((2, 2, 0), bool), th.tensor([[0, 1], [1, 1]]))
    by_hand = -(math.log(0.25) + 3 * math.log(0.75)) / 4
    assert agent.loss(batch).item() == pytest.approx(by_hand)


@pytest.mark.parametrize("append", ["step", "episode"])
def test_deployment_appends_exactly_its_own_transitions(append: Any) -> None:
    agent = make("dpt", DarkRoomVectorEnv(2, size=3, steps=4), context_length=100, **SMALL)
    env = DarkRoomVectorEnv(3, size=3, steps=4)
    given = Context.of(np.ones((3, 2, 2)), np.zeros((3, 2), int), np.full((3, 2), 9.0), np.ones((3, 2, 2)))
    found = agent.deploy(env, episodes=2, seed=5, context=given, append=append)
    assert found.context.rewards.shape == (3, 2 + 2 * 4)
    assert (found.context.rewards[:, :2] == 9).all()
    np.testing.assert_array_equal(found.context.actions[:, 2:], found.actions)
    np.testing.assert_array_equal(found.context.rewards[:, 2:], found.rewards)
    assert found.valid.all()
    for k in range(2):  # the actions, played again, are what is in the context
        seen, _ = env.reset(seed=5)
        for t in range(4 * k, 4 * k + 4):
            np.testing.assert_array_equal(found.context.observations[:, 2 + t], seen)
            seen, rewards, terminated, _, info = env.step(found.actions[:, t])
            following = np.stack(info["final_obs"]) if terminated.all() else seen
            np.testing.assert_array_equal(found.rewards[:, t], rewards)
            np.testing.assert_array_equal(found.context.next_observations[:, 2 + t], following)
    assert agent._n_updates == 0


def test_what_a_memory_reads_one_by_one_is_what_is_read_at_once() -> None:
    agent = make("dpt", bandits(), **SMALL)
    th.nn.init.normal_(agent.policy.network.head.weight)
    rng = np.random.default_rng(0)
    seen = rng.normal(size=(3, 6, 1))
    whole = Context.of(seen, rng.integers(0, 2, (3, 6)), rng.normal(size=(3, 6)), seen)
    whole.valid[1, 2] = False
    memory = Memory(agent.policy, Context.empty(3, 1), 4)
    for t in range(6):
        memory.add(Context(*(part[:, t : t + 1] for part in whole)))
    queries = np.zeros((3, 1), np.float32)
    with th.no_grad():
        expected = agent.policy.logits(queries[:, None], whole.latest(4))[:, 0]
        th.testing.assert_close(memory.logits(queries), expected, atol=1e-6, rtol=1e-5)
    assert memory.context.rewards.shape == (3, 4)


def test_it_learns_to_use_a_context() -> None:
    agent = make("dpt", bandits(32), batch_size=32, learning_rate=0.01, gradient_steps=2, **SMALL)
    agent.learn(60 * 32 * 10)
    rewards = np.tile([1.0, 0.0, 1.0, 0.0], (2, 1))
    arms = np.array([[0, 1, 0, 1], [1, 0, 1, 0]])
    nothing = np.zeros((2, 4, 1))
    context = Context.of(nothing, arms, rewards, nothing)
    actions, state = agent.predict(np.zeros((2, 1), np.float32), state=context, deterministic=True)
    assert actions.tolist() == [0, 1]
    assert state is context
    with th.no_grad():
        odds = agent.policy.logits(np.zeros((2, 1, 1)), context).softmax(-1)[:, 0]
        none = agent.policy.logits(np.zeros((1, 1, 1)), Context.empty(1, 1)).softmax(-1)[0, 0]
    assert min(odds[0, 0], odds[1, 1]) > 0.65  # 1/2 before training; exactly, by Beta posteriors, 19/20
    assert abs(float(none[0]) - 0.5) < 0.15


@pytest.mark.slow
def test_in_a_dark_room_a_reward_in_the_context_says_where_the_goal_is() -> None:
    env = DarkRoomVectorEnv(32, size=3, steps=12)
    agent = make("dpt", env, batch_size=32, learning_rate=0.005, gradient_steps=4, **SMALL)
    agent.learn(60 * 32 * 12)
    test = DarkRoomVectorEnv(32, size=3, steps=12)
    blind = agent.deploy(test, seed=900, append="episode").rewards.sum(axis=1).mean()
    known = agent.deploy(test, episodes=3, seed=900, append="episode").rewards[:, 24:].sum(axis=1).mean()
    assert known > blind + 1.5


def test_the_seed_decides_and_a_checkpoint_goes_on(tmp_path: Path) -> None:
    one, same, other = (make("dpt", bandits(), **SMALL | {"seed": seed}).learn(200) for seed in (3, 3, 4))
    assert all(a.equal(b) for a, b in zip(weights(one), weights(same), strict=True))
    assert not all(a.equal(b) for a, b in zip(weights(one), weights(other), strict=True))
    one.save(tmp_path / "agent")
    loaded = DPT.load(tmp_path / "agent", env=bandits())
    assert (loaded.rounds, loaded._n_updates) == (one.rounds, one._n_updates) == (3, 3)
    context = one.deploy(seed=1).context
    seen = np.zeros((8, 1), np.float32)
    for deterministic in (True, False):
        th.manual_seed(0)
        first = one.predict(seen, state=context, deterministic=deterministic)[0]
        th.manual_seed(0)
        assert first.tolist() == loaded.predict(seen, state=context, deterministic=deterministic)[0].tolist()
    one.policy.save(tmp_path / "policy")
    alone = DPTPolicy.load(tmp_path / "policy")
    with th.no_grad():
        th.testing.assert_close(
            alone.logits(seen[:, None], context), one.policy.logits(seen[:, None], context), atol=0, rtol=0
        )
    loaded.learn(80, reset_num_timesteps=False)
    assert loaded.num_timesteps == one.num_timesteps + 80


def test_rounds_play_new_tasks_and_the_oldest_go() -> None:
    agent = make("dpt", bandits(4), buffer_size=6, **SMALL).learn(4 * 10)
    first = [task.rewards for task in agent.tasks]
    agent.learn(4 * 10, reset_num_timesteps=False)
    assert len(agent.tasks) == 6
    assert [task.rewards.tolist() for task in agent.tasks[:2]] == [rewards.tolist() for rewards in first[2:]]
    assert not all(np.array_equal(a, b.rewards) for a, b in zip(first, agent.tasks[2:], strict=True))


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"policy_kwargs": {"width": 10, "heads": 4}}, ValueError, "width must be a multiple of heads"),
        ({"context_length": 0}, ValueError, "context_length must be a whole number of at least 1"),
        ({"expert_ratio": 1.5}, ValueError, "expert_ratio must be a number from 0 to 1"),
        ({"queries": 3}, TypeError, "unknown keyword 'queries'"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make("dpt", bandits(), **settings)


def test_what_does_not_fit_is_refused() -> None:
    agent = make("dpt", bandits(), **SMALL)
    seen = np.zeros((8, 1), np.float32)
    with pytest.raises(ValueError, match=r"a context for 8 observations of 1 numbers.*got \(2, 0, 1\)"):
        agent.predict(seen, state=Context.empty(2, 1))
    with pytest.raises(TypeError, match="is a Context of transitions, got ndarray"):
        agent.predict(seen, state=seen)
    column = np.zeros((8, 1, 1))
    with pytest.raises(ValueError, match="counted from 0 to 1, got 2 to 2"):
        agent.predict(seen, state=Context.of(column, np.full((8, 1), 2), column[..., 0], column))
    with pytest.raises(ValueError, match="unknown append 'steps'; did you mean 'step'"):
        agent.deploy(seed=0, append="steps")
    with pytest.raises(ValueError, match="no tasks to learn from yet"):
        agent.train(1, 8)
    with pytest.raises(TypeError, match=r"no expert\(\): give it one"):
        make("dpt", gymnasium.make("CartPole-v1"), **SMALL).learn(1)
    with pytest.raises(TypeError, match="acts in Discrete spaces"):
        make("dpt", gymnasium.make("Pendulum-v1"))
