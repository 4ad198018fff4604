import pytest
import torch as th
from gymnasium.spaces import Box, Dict, Discrete

from tiltyard.agents.control.on_policy.rollout import Rollout, advantages_of, put

GAMMA, LAMBDA = 0.5, 0.5


def test_advantages_by_hand_over_a_termination_and_a_truncation() -> None:
    """Three environments, three steps, all values 1 but for the last observation of environment 2, which is worth 6.

    Environment 0 goes on: delta = 1 + 0.5 - 1 = 0.5 each; A_2 = 0.5, A_1 = 0.5 + 0.25 * 0.5 = 0.625, A_0 = 0.65625.
    Environment 1 terminates at step 1: delta_1 = 1 + 0 - 1 = 0, A_1 = 0, A_0 = 0.5 + 0.25 * 0 = 0.5.
    Environment 2 is truncated there: delta_1 = 1 + 0.5 * 6 - 1 = 3, A_1 = 3, A_0 = 0.5 + 0.25 * 3 = 1.25.
    """
    rollout = Rollout(3, Box(-1, 1, (1,)), Discrete(2), gae_lambda=LAMBDA, gamma=GAMMA, n_envs=3)
    rollout.begin([[0.0]] * 3, 3)
    rollout.rewards[:], rollout.values[:], rollout.valid[:] = 1.0, 1.0, True
    rollout.terminated[1, 1] = rollout.truncated[1, 2] = True
    rollout.last_observations.append((1, 2, [9.0]))
    rollout.finish(th.tensor([6.0]))
    samples = rollout.samples(rollout.rewards, rollout.observations[:-1].flatten(0, 1))
    expected = th.tensor([[0.65625, 0.5, 1.25], [0.625, 0.0, 3.0], [0.5, 0.5, 0.5]])
    th.testing.assert_close(samples.advantages.view(3, 3), expected)
    th.testing.assert_close(samples.returns.view(3, 3), expected + 1)


def test_advantages_are_those_of_sb3_where_nothing_is_truncated() -> None:
    import numpy as np
    from stable_baselines3.common.buffers import RolloutBuffer

    rng = np.random.default_rng(0)
    theirs = RolloutBuffer(16, Box(-1, 1, (1,)), Discrete(2), gae_lambda=0.9, gamma=0.97, n_envs=4)
    rewards, values = rng.normal(size=(16, 4)), rng.normal(size=(17, 4))
    dones = rng.random((16, 4)) < 0.2
    starts = np.vstack([np.zeros((1, 4), bool), dones[:-1]])
    for t in range(16):
        theirs.add(np.zeros((4, 1)), np.zeros((4, 1)), rewards[t], starts[t], th.tensor(values[t]), th.zeros(4))
    theirs.compute_returns_and_advantage(th.tensor(values[-1]), dones[-1])
    r, v, d = th.tensor(rewards), th.tensor(values), th.tensor(dones)
    ours = advantages_of(r, v[:-1], v[1:].masked_fill(d, 0.0), d, 0.97, 0.9)
    np.testing.assert_allclose(ours.numpy(), theirs.advantages, rtol=1e-5, atol=1e-6)


def test_steps_spent_on_a_reset_are_no_samples() -> None:
    rollout = Rollout(2, Box(-1, 1, (1,)), Discrete(3), n_envs=2)
    rollout.begin([[0.0]] * 2, 2)
    rollout.valid[:] = True
    rollout.valid[1, 0] = False
    rollout.actions[:] = th.tensor([[0, 1], [2, 1]])
    rollout.finish(th.zeros(0))
    samples = rollout.samples(rollout.rewards, rollout.observations[:-1].flatten(0, 1))
    assert samples.actions.tolist() == [0, 1, 1]


def test_bytes_stay_bytes_and_dictionaries_are_kept_by_part() -> None:
    space = Dict(image=Box(0, 255, (1, 4, 4), "uint8"), state=Box(-1, 1, (2,), "float64"))
    rollout = Rollout(2, space, Discrete(2), n_envs=3)
    rollout.begin({"image": [[[[7] * 4] * 4]] * 3, "state": [[0.5, -0.5]] * 3}, 3)
    assert isinstance(rollout.observations, dict)
    assert rollout.observations["image"].dtype == th.uint8
    assert rollout.observations["state"].dtype == th.float32
    assert rollout.observations["image"][0].float().mean() == 7.0


def test_an_observation_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        put(th.zeros(3, 2), [[1.0, 2.0, 3.0]] * 3)
