"""Tasks are problems of an environment: the same problem again, the expert's labels, and sets of every size."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.vec_env import DummyVecEnv

from tiltyard.agents.control.dpt_tasks import Task, batch_of, drawn, episode, expert_of, kept, mixtures
from tiltyard.agents.models.in_context import Context
from tiltyard.wrappers.spaces import to_sb3


class Wise:
    def __init__(self, env: Any) -> None:
        self.env = env

    def predict(self, observation: Any, *rest: Any) -> Any:
        return self.env.best, None


class Lengths(gymnasium.Env[Any, Any]):
    """Episodes of 2 or 4 steps; which, and which of actions 5 to 7 pays, the seed decides. Shows the step."""

    observation_space, action_space = Box(0, 9, (1,)), Discrete(3, start=5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.length, self.best, self.now = int(self.np_random.choice([2, 4])), int(self.np_random.integers(5, 8)), 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.now += 1
        return np.full(1, self.now, np.float32), float(action == self.best), self.now == self.length, False, {}

    def expert(self) -> Wise:
        return Wise(self)


def vectors(n: int) -> list[Any]:
    sync = SyncVectorEnv([Lengths] * n, autoreset_mode=AutoresetMode.SAME_STEP)
    return [to_sb3(sync), DummyVecEnv([Lengths] * n)]


@pytest.mark.parametrize("env", vectors(6), ids=["gymnasium", "sb3"])
def test_an_episode_ends_with_its_last_observation_and_comes_again_with_its_seed(env: Any) -> None:
    def played() -> Any:
        steps = list(episode(env, 3, lambda seen: expert_of(env)(seen)))
        return [np.concatenate([step.transitions[part] for step in steps], axis=1) for part in range(5)]

    first, again = played(), played()
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    observations, actions, rewards, following, valid = first
    assert set(valid.sum(axis=1)) == {2, 4}
    assert valid[:, :2].all()
    assert (rewards[valid] == 1).all()
    assert set(np.unique(actions)) <= {0, 1, 2}
    for i in range(6):
        count = valid[i].sum()
        assert observations[i, :count, 0].tolist() == list(range(count))
        assert following[i, :count, 0].tolist() == list(range(1, count + 1))


def test_an_environment_without_an_expert_or_with_a_strange_one_is_refused() -> None:
    with pytest.raises(TypeError, match=r"no expert\(\): give it one"):
        expert_of(DummyVecEnv([lambda: gymnasium.make("CartPole-v1")]))
    env = DummyVecEnv([Lengths])
    env.reset()
    env.envs[0].unwrapped.best = 8  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"says \[8\], which is no action of Discrete\(3, start=5\)"):
        expert_of(env)(np.zeros((1, 1)))


def test_mixtures_lie_between_a_random_distribution_and_one_action() -> None:
    found = mixtures(np.random.default_rng(0), 4000, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert (found > 0.999).any(axis=1).mean() == pytest.approx(1 / 11, abs=0.02)  # omega = 1
    assert found.mean(axis=0) == pytest.approx([1 / 3] * 3, abs=0.02)
    arms = drawn(np.random.default_rng(1), np.tile([[0.0, 0.25, 0.75]], (4000, 1)))
    assert np.bincount(arms, minlength=3) / 4000 == pytest.approx([0, 0.25, 0.75], abs=0.03)


def test_tasks_keep_what_is_valid_with_its_label() -> None:
    valid = np.array([[True, True, True], [False, False, False], [False, True, False]])
    numbers = np.arange(9.0).reshape(3, 3)
    context = Context.of(numbers[..., None], numbers, numbers, numbers[..., None])._replace(valid=valid)
    first, second = kept(context, numbers.astype(np.int64), 2, np.random.default_rng(0))
    assert first.valid.tolist() == [True, True]
    assert set(first.rewards) < {0.0, 1.0, 2.0}
    assert first.labels.tolist() == first.rewards.tolist() == first.actions.tolist()
    assert second.valid.tolist() == [True, False]
    assert (second.rewards.tolist(), second.labels.tolist()) == ([7.0, 0.0], [7, 0])


def test_batches_have_sets_of_every_size_of_valid_transitions_and_labels_of_their_states() -> None:
    numbers, valid = np.arange(4), np.array([True, True, True, False])
    task = Task(numbers[:, None] * 1.0, numbers, numbers * 1.0, numbers[:, None] * 1.0, valid, numbers)
    rng, sizes = np.random.default_rng(0), set()
    for _ in range(50):
        batch = batch_of([task, task], 5, rng)
        np.testing.assert_array_equal(batch.queries[..., 0], batch.labels.numpy())
        assert batch.labels.max() <= 2
        assert not (batch.seen & ~batch.context.valid[:, None]).any()
        sizes |= set(batch.seen.sum(axis=-1).ravel())
        for row in batch.context.rewards[:, : int(batch.seen.sum(axis=-1).max())]:
            assert len(set(row)) == len(row)
    assert sizes == {0, 1, 2, 3}
