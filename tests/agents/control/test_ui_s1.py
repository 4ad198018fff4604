"""UI-S1: rollouts, returns and advantages by hand, its metric, and that it learns."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.agents.control.action_match import Agreement
from tiltyard.agents.control.trajectories import Pool, Trajectory
from tiltyard.agents.control.ui_s1 import (
    SOP,
    UIS1,
    differ,
    dual_advantages,
    future_returns,
    reached,
    semi_online_performance,
    standardised,
    step_accuracy,
    step_reward,
)

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, tiny


def joined(parts: list[Trajectory], won: bool = True) -> Trajectory:
    """An episode of several steps, made of one-step ones."""
    seen = {
        name: np.concatenate([one.observations[name][:1] for one in (*parts, parts[-1])])
        for name in ("elements", "goal")
    }
    return Trajectory(seen, np.concatenate([one.actions for one in parts]), np.eye(len(parts))[-1] * won, True, won)


def long_episodes(n: int, steps: int, seed: int = 0) -> list[Trajectory]:
    parts = episodes(n * steps, right=1.0, seed=seed)
    return [joined(parts[i : i + steps]) for i in range(0, n * steps, steps)]


def by_step(*rollouts: list[bool]) -> Any:
    """``[1, T, G]`` of rollouts, each as a list over steps."""
    return np.array(rollouts).T[None]


def test_the_step_reward_by_hand() -> None:
    verb, exact = np.array([False, True, True]), np.array([False, False, True])
    np.testing.assert_allclose(step_reward(Agreement(verb, exact, exact.astype(float))), [0.1, 0.5, 1.0])


@pytest.mark.parametrize(
    ("limit", "wanted"),
    [
        (0, [True, True, False, False, False]),
        (1, [True, True, True, False, False]),
        (2, [True, True, True, True, False]),
        (float("inf"), [True, True, True, True, False]),
    ],
)
def test_a_rollout_ends_with_the_first_wrong_action_beyond_the_patches(limit: float, wanted: list[bool]) -> None:
    # Right, wrong, wrong, right, and the episode has no fifth step. The action that ends a rollout is learnt from too.
    matched, valid = by_step([True, False, False, True, False]), np.array([[True, True, True, True, False]])
    assert reached(matched, valid, limit)[0, :, 0].tolist() == wanted


def test_returns_by_hand() -> None:
    # Rewards 1, 1, 0.5 (wrong), 1 and gamma 1/2. From the right: 1; 0.5, which the next one is no part of; 1 + 0.25,
    # since the first that does not match is the last that counts; 1 + 0.625.
    rewards, matched = np.array([1, 1, 0.5, 1])[None, :, None], by_step([True, True, False, True])
    np.testing.assert_allclose(future_returns(rewards, matched, 0.5)[0, :, 0], [1.625, 1.25, 0.5, 1])
    np.testing.assert_allclose(future_returns(rewards, matched, 0.0), rewards)


def test_standardising_looks_at_what_counts_alone() -> None:
    # Of 1, 3 and a 100 that does not count: mean 2, deviation 1. One alone, and equal ones, are 0.
    counted = np.array([[True, True, False], [True, False, False], [True, True, True]])
    values = np.array([[1.0, 3.0, 100.0], [5.0, 1.0, 1.0], [0.9, 0.9, 0.9]])
    np.testing.assert_allclose(standardised(values, counted), [[-1, 1, 0], [0, 0, 0], [0, 0, 0]], atol=1e-5)


def test_both_advantages_by_hand() -> None:
    # Two rollouts of two steps without patches: right and right (rewards 1, 1), right and wrong (1, 0.5).
    # R_1 = 1.5 and 1.25, so that A^S is 1 and -1 at both steps; the last rewards are 1 and 0.5, so is A^E.
    rewards = np.array([[1.0, 1.0], [1.0, 0.5]]).T[None]
    matched = by_step([True, True], [True, False])
    came = np.ones((1, 2, 2), np.bool_)
    found = dual_advantages(rewards, matched, came, 0.5, step_weight=0.5)
    np.testing.assert_allclose(found[0], [[1.5, -1.5], [1.5, -1.5]], rtol=1e-4)
    np.testing.assert_allclose(dual_advantages(rewards, matched, came, 0.0, 1.0, 0.0)[0], [[0, 0], [1, -1]], atol=1e-4)


def test_a_rollout_that_did_not_come_has_no_advantage_and_its_own_last_reward() -> None:
    # The second rollout ends with its first action (0.5); at the second step the first one is alone: A^S is 0 there,
    # whatever the second would have done.
    rewards = np.array([[1.0, 1.0], [0.5, 0.1]]).T[None]
    matched = by_step([True, True], [False, True])
    came = reached(matched, np.ones((1, 2), np.bool_), 0)
    np.testing.assert_allclose(dual_advantages(rewards, matched, came, 0.5, 1.0)[0], [[2, -2], [1, 0]], rtol=1e-4)


def test_rollouts_that_are_alike_are_left_out() -> None:
    advantages = np.array([[[1.0, -1.0]], [[0.0, 0.0]], [[0.3, -0.3]]])
    came = np.ones(advantages.shape, np.bool_)
    assert differ(advantages, came, 0.3).tolist() == [True, False, False]
    came[0, :, 1] = False  # what did not count does not differ
    assert differ(advantages, came, 0.3).tolist() == [False, False, False]


def test_nothing_is_learnt_where_all_rollouts_are_alike() -> None:
    learner = UIS1(env=tiny(), **SMALL, min_deviation=100.0)
    learner.learn_offline(long_episodes(10, 2), 2)
    assert learner._n_updates == 0
    assert UIS1(env=tiny(), **SMALL).learn_offline(long_episodes(10, 2), 2)._n_updates == 2


def test_with_fewer_patches_late_steps_are_learnt_from_less() -> None:
    pool, late = Pool(long_episodes(60, 4)), {}
    for limit in (0, 1, float("inf")):
        learner = UIS1(env=tiny(), **SMALL, patch_limit=limit, min_deviation=0.0)
        learner.clone(long_episodes(60, 4), 3)
        attempts = learner.rolled_out(pool, np.arange(60))
        at = pool.left[attempts.steps] == 0
        late[limit] = attempts.counted[at].sum()
    assert late[0] < late[1] < late[float("inf")]


def test_drawn_episodes_have_steps_enough() -> None:
    learner, pool = UIS1(env=tiny(), **SMALL), Pool([*long_episodes(5, 3), *long_episodes(5, 1)])
    for wanted in (1, 3, 10, 100):
        chosen = learner.drawn(pool, np.arange(10), wanted)
        steps = (pool.left[pool.first[chosen]] + 1).cumsum()
        assert steps[-1] >= wanted
        assert len(steps) == 1 or steps[-2] < wanted


class Scripted:
    """Does what was recorded, but for what it is told to get wrong; counts where episodes begin."""

    def __init__(self, data: list[Trajectory], wrong: dict[int, int]) -> None:
        self.data, self.wrong, self.starts = data, wrong, 0

    def predict(self, seen: Any, state: Any = None, episode_start: Any = None, deterministic: bool = False) -> Any:
        assert deterministic
        t = 0 if state is None else state
        assert bool(episode_start.all()) == (t == 0)
        self.starts += int(episode_start.sum())
        actions = np.stack([one.actions[min(t, len(one) - 1)] for one in self.data])
        for i, at in self.wrong.items():
            if at == t:
                actions[i] = [9, 0, 0, 0, 0]
        return actions, t + 1


def test_semi_online_performance_by_hand() -> None:
    # Of 4, 2 and 2 steps the first 1, 2 and 0 are right: PG = (1/4 + 1 + 0) / 3, TSR = 1/3. Of 8 steps, 6 are right.
    data = [*long_episodes(1, 4), *long_episodes(2, 2)]
    policy = Scripted(data, {0: 1, 2: 0})
    found = semi_online_performance(policy, data)
    assert found == SOP(pytest.approx(5 / 12), pytest.approx(1 / 3))
    assert found.score == pytest.approx(3 / 8)
    assert policy.starts == 3
    assert step_accuracy(Scripted(data, {0: 1, 2: 0}), data) == pytest.approx(6 / 8)
    with pytest.raises(ValueError, match="no recorded episodes to measure"):
        semi_online_performance(policy, [])


def test_it_learns_what_was_recorded() -> None:
    settings = {**SMALL, "learning_rate": 2e-3, "seed": 1, "patch_limit": 3}
    learner, unseen = UIS1(env=tiny(), **settings), episodes(150, right=1.0, seed=7)
    learner.clone(episodes(600, right=1.0), 6)
    began = step_accuracy(learner, unseen)
    learner.learn_offline(long_episodes(200, 3), 40)
    assert step_accuracy(learner, unseen) > max(0.9, began + 0.1)
