"""The lock holds as long as the right action is chosen, is seen in many ways, and has the rank that it says."""

from typing import Any

import numpy as np
import torch as th

from tiltyard.agents import make
from tiltyard.benchmarks.testbeds.rich_lock import RichLock, RichLocks, alignment


def test_one_wrong_choice_fails_for_good() -> None:
    env = RichLocks(4, horizon=3, choices=3)
    env.reset(seed=0)
    env.state = np.array([0, 0, 1, 2])
    env.good[:, 0] = (1, 2)
    _, rewards, done, _, _ = env.step(np.array([1, 2, 2, 1]))
    assert (env.state < 2).tolist() == [True, False, True, False]
    assert not rewards.any()
    assert not done.any()


def test_the_last_step_pays_and_the_first_success_is_noted() -> None:
    env = RichLocks(64, horizon=2, choices=3)
    env.reset(seed=1)
    for _ in range(2):
        right = env.good[np.minimum(env.state, 1), env.step_count]
        right[:32] = (right[:32] + 1) % 3
        seen, rewards, done, _, info = env.step(right)
    assert (rewards[32:] == 1).all()
    assert set(rewards[:32].round(3)) == {np.float32(0.0), np.float32(0.1)}
    assert done.all()
    assert (env.first, env.episodes, env.step_count) == (33, 64, 0)
    assert not np.array_equal(np.stack(list(info["final_obs"])), seen)


def test_observations_tell_state_and_step_in_many_ways() -> None:
    env = RichLocks(512, horizon=4, bits=3)
    env.reset(seed=0)
    env.good[:] = 0
    seen, *_ = env.step(np.arange(512) % 2)
    states, steps = env.latent(seen)
    np.testing.assert_array_equal(states, env.state)
    assert (steps == 1).all()
    assert all(len(np.unique(seen[states == state], axis=0)) == 8 for state in range(3))
    assert seen.dtype == np.float32
    assert all(env.single_observation_space.contains(one) for one in seen)


def test_transitions_have_rank_two_a_step() -> None:
    env = RichLocks(1, horizon=3, choices=3)
    model = np.zeros((3, 3, 3, 3))  # step, state, action, next state
    for step, state, action in np.ndindex(3, 3, 3):
        held = env.holds(np.array([state]), step, np.array([action]))[0]
        model[step, state, action] = (0.5, 0.5, 0) if held else (0, 0, 1)
    assert [int(np.linalg.matrix_rank(of.reshape(9, 3))) for of in model] == [2, 2, 2]


def test_a_good_policy_scores_one_and_one_that_does_not_look_next_to_nothing() -> None:
    bed = RichLock(horizon=5)

    class Good:
        def predict(self, seen: Any, deterministic: bool = True) -> Any:
            states, steps = locks.latent(seen)
            return locks.good[np.minimum(states, 1), steps], None

    class Blind:
        def predict(self, seen: Any, deterministic: bool = True) -> Any:
            return np.zeros(len(seen), np.int64), None

    locks = bed.locks(1, 3)
    assert bed.score(Good(), 3) == 1.0
    assert bed.score(Blind(), 3) < 0.2


def test_true_features_are_aligned_and_random_ones_are_not() -> None:
    bed = RichLock(horizon=2, bits=2)
    locks = bed.locks(1, 0)
    agent = make("contrastive-ucb", locks, device="cpu", seed=0, policy_kwargs={"net_arch": [], "feature_dim": 4})
    rng = np.random.default_rng(0)
    states, steps, actions = rng.integers(3, size=400), rng.integers(2, size=400), rng.integers(4, size=400)
    seen = th.from_numpy(locks.observed(states, steps, locks.signs(400, rng)))

    class True_:
        """Latent outcomes are the step and whether the lock holds."""

        def log_phi(self, observations: Any) -> Any:
            states, steps = locks.latent(observations.numpy())
            every = [locks.holds(states, steps, np.full(len(states), action)) for action in range(4)]
            outcome = 2 * steps[:, None] + np.stack(every, axis=1)
            return (th.eye(4)[th.from_numpy(outcome)] + 1e-9).log()

        def log_psi(self, observations: Any) -> Any:
            states, steps = locks.latent(observations.numpy())
            return (th.eye(4)[th.from_numpy(2 * (steps - 1) + (states < 2))] + 1e-9).log()

    policy: Any = True_()
    assert alignment(policy, locks, seen, th.from_numpy(actions)) > 0.999
    assert alignment(agent.policy, locks, seen, th.from_numpy(actions)) < 0.7
