"""Labels are the expert's after the same history, contexts are whose they should be, and the ratio of both by hand."""

import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th

from tiltyard.agents import AlgorithmDistillation, make
from tiltyard.agents.control.algorithm_distillation import beginnings, distribution_ratio
from tiltyard.agents.control.dpt_tasks import Task
from tiltyard.agents.control.history_algorithms import linucb
from tiltyard.agents.models.in_context import Context
from tiltyard.benchmarks.testbeds.linear_bandits import LinearBanditVectorEnv

SMALL: dict[str, Any] = {
    "policy": "ArmPolicy",
    "seed": 0,
    "device": "cpu",
    "policy_kwargs": {"width": 16, "depth": 2, "heads": 2},
}
ARMS, FEATURES = 3, 2


def bandits(n: int = 8, **how: Any) -> LinearBanditVectorEnv:
    return LinearBanditVectorEnv(n, **({"arms": ARMS, "features": FEATURES, "pulls": 10, "noise": 0.5} | how))


def played(n: int = 64, **settings: Any) -> tuple[AlgorithmDistillation, list[Task]]:
    """An agent and the tasks of its first round."""
    agent = make("algorithm-distillation", bandits(n), **SMALL, expert="linucb", **settings)
    agent.learn(n * 10)
    return agent, agent.tasks


def after(task: Task, t: int, bonus: float) -> int:
    """What LinUCB does after t transitions of a task."""
    parts = (task.observations, task.actions, task.rewards, task.next_observations)
    context = Context(*(part[None, :t] for part in (*parts, task.valid)))
    return int(linucb(ARMS, bonus=bonus)(context, task.observations[None, t], np.random.default_rng(0))[0])


@pytest.mark.parametrize("contexts", [None, ["uniform"], ["uniform", "linucb"]])
def test_labels_are_the_experts_after_the_same_history(contexts: Any) -> None:
    _, tasks = played(contexts=contexts, algorithm_kwargs={"linucb": {"bonus": 0.7}})
    assert len(tasks) == 64
    for task in tasks[:16]:
        assert [after(task, t, 0.7) for t in range(10)] == task.labels[:10].tolist()
    own = np.array([(task.actions[:10] == task.labels[:10]).mean() for task in tasks])
    if contexts is None:
        assert (own == 1).all()
    elif contexts == ["uniform"]:
        assert own.mean() == pytest.approx(1 / ARMS, abs=0.08)
    else:  # a task is played by one of the two from its beginning to its end
        assert 0.3 < (own == 1).mean() < 0.7
        assert own[own < 1].mean() == pytest.approx(1 / ARMS, abs=0.1)


def test_an_optimal_expert_says_the_best_arm_whoever_plays() -> None:
    agent = make("algorithm-distillation", bandits(16), **SMALL, contexts=["thompson"]).learn(160)
    labels = np.stack([task.labels[:10] for task in agent.tasks])
    assert (labels == labels[:, :1]).all()
    assert not all((task.actions[:10] == task.labels[:10]).all() for task in agent.tasks)


def numbered(length: int, room: int = 12) -> Task:
    """A task whose t-th state, action and label say t."""
    t = np.arange(room)
    seen = t[:, None].astype(np.float32)
    return Task(seen, t, t.astype(np.float32), seen, t < length, t + 100)


def test_a_step_is_asked_given_what_lies_before_it_and_nothing_else() -> None:
    batch = beginnings([numbered(12), numbered(5)], 200, np.random.default_rng(0))
    steps = batch.queries[..., 0]
    np.testing.assert_array_equal(batch.labels.numpy(), steps + 100)
    np.testing.assert_array_equal(batch.seen.sum(axis=2), steps)
    np.testing.assert_array_equal(batch.seen, batch.context.actions[:, None] < steps[..., None])
    assert (set(steps[0]), set(steps[1])) == (set(range(12)), set(range(5)))
    assert np.bincount(steps[1].astype(int)) == pytest.approx(40, abs=16)


def test_a_long_history_is_cut_to_a_stretch() -> None:
    agent = make("algorithm-distillation", bandits(), **SMALL, context_length=4)
    parts = [np.stack([part] * 50) for part in numbered(12)]
    kept = agent.keep(Context(*parts[:5]), parts[5])
    for task in kept:
        assert (np.diff(task.actions) == 1).all()
        np.testing.assert_array_equal(task.labels, task.actions + 100)
        assert (len(task.actions), task.valid.all()) == (4, True)
    assert {int(task.actions[0]) for task in kept} == set(range(9))
    short = agent.keep(Context(*(part[:1, :3] for part in parts[:5])), parts[5][:1, :3])[0]
    assert (short.valid.tolist(), short.actions.tolist()) == ([True, True, True, False], [0, 1, 2, 0])


def test_the_ratio_by_hand() -> None:
    expert = np.log([[1.0, 1.0], [0.5, 1.0]])
    context = np.log([[0.5, 0.5], [0.5, 0.25]])
    assert distribution_ratio(expert, context) == pytest.approx((4 + 4) / 2)
    assert distribution_ratio(expert, np.log([[0.5, 0.5], [0.5, 0.5]])) == pytest.approx((4 + 2) / 2)
    assert distribution_ratio(expert, expert) == 1
    assert distribution_ratio(expert, np.full((2, 2), -math.inf)) == math.inf
    whole = np.log([[0.5 + 0.5 / 4], [0.25 + 0.5 / 4]])  # half the tasks by the expert, half by even odds
    assert distribution_ratio(expert, whole) == pytest.approx((1 / 0.625 + 0.5 / 0.375) / 2)


@pytest.mark.slow
def test_it_learns_to_do_as_linucb_does() -> None:
    settings = {"learning_rate": 0.01, "gradient_steps": 4, "batch_size": 32, "queries_per_task": 4}
    agent = make("algorithm-distillation", bandits(32), **SMALL, expert="linucb", **settings)
    agent.learn(50 * 32 * 10)
    rng, expert = np.random.default_rng(0), linucb(ARMS)
    env, context = bandits(200, split="test"), Context.empty(200, ARMS * FEATURES)
    seen, _ = env.reset(seed=7)
    agreed = []
    for _ in range(10):
        wanted = expert(context, seen, rng)
        agreed.append((agent.predict(seen, state=context, deterministic=True)[0] == wanted).mean())
        flat = seen.reshape(200, 1, -1)
        seen, rewards, *_ = env.step(wanted)
        context = context.joined(Context.of(flat, wanted[:, None], rewards[:, None], flat))
    assert np.mean(agreed) > 0.75  # 1/3 before training


def test_the_seed_decides_and_a_checkpoint_goes_on(tmp_path: Path) -> None:
    how: dict[str, Any] = {"expert": "linucb", "contexts": ["linucb", "uniform"]}
    how["algorithm_kwargs"] = {"linucb": {"bonus": 1.5}}
    one, same, other = (
        make("algorithm-distillation", bandits(), **SMALL | how | {"seed": seed}).learn(160) for seed in (3, 3, 4)
    )
    assert all(a.equal(b) for a, b in zip(one.policy.parameters(), same.policy.parameters(), strict=True))
    assert not all(a.equal(b) for a, b in zip(one.policy.parameters(), other.policy.parameters(), strict=True))
    one.save(tmp_path / "agent")
    loaded = AlgorithmDistillation.load(tmp_path / "agent", env=bandits())
    assert loaded.settings.contexts == ["linucb", "uniform"]
    th.manual_seed(0)
    first = one.deploy(bandits(split="test"), seed=1)
    th.manual_seed(0)
    np.testing.assert_array_equal(first.actions, loaded.deploy(bandits(split="test"), seed=1).actions)
    assert loaded.learn(80, reset_num_timesteps=False).num_timesteps == 240


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"expert": "ucb"}, ValueError, "unknown algorithm 'ucb'; did you mean 'linucb'"),
        ({"contexts": ["linucb", "random"]}, ValueError, "unknown algorithm 'random'"),
        ({"contexts": []}, ValueError, "contexts must name at least one algorithm, got none"),
        ({"contexts": "linucb"}, TypeError, "contexts must be a list or None"),
        ({"algorithm_kwargs": {"ucb": {}}}, ValueError, "unknown algorithm 'ucb'"),
        ({"expert_ratio": 0.5}, TypeError, "unknown keyword 'expert_ratio'"),
    ],
)
def test_settings_are_checked(settings: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make("algorithm-distillation", bandits(), **SMALL | settings)


def test_environments_that_do_not_fit_are_refused() -> None:
    cart_pole, plain = gymnasium.make("CartPole-v1"), SMALL | {"policy": "MlpPolicy"}
    with pytest.raises(TypeError, match=r"no expert\(\): give it one"):
        make("algorithm-distillation", cart_pole, **plain).learn(1)
    with pytest.raises(TypeError, match=r"linucb reads observations of shape \[2, d\]"):
        make("algorithm-distillation", cart_pole, **plain, expert="linucb").learn(1)
    with pytest.raises(ValueError, match="which 2 numbers do not divide into"):
        make("algorithm-distillation", gymnasium.make("MountainCar-v0"), **SMALL)
    with pytest.raises(ValueError, match="no tasks to learn from yet"):
        make("algorithm-distillation", bandits(), **SMALL).train(1, 8)
