from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents import ExploRS
from tiltyard.agents.control.explors import CELLS, bonus, shaping_objective
from tiltyard.benchmarks.testbeds.misleading_rewards import line
from tiltyard.benchmarks.testbeds.tabular import Processes

SMALL: dict[str, Any] = {
    **{"n_steps": 6, "batch_size": 8, "n_epochs": 1, "policy_kwargs": {"net_arch": []}, "seed": 0, "device": "cpu"},
    **{"norm_obs": False, "norm_reward": False},
}


def made(**settings: Any) -> ExploRS:
    return ExploRS("MlpPolicy", Processes(4, line(4, 6, 1)), **{**SMALL, **settings})


def test_the_bonus_by_hand() -> None:
    # lambda 2, B_max 1/2: 2 / sqrt(16 + N).
    assert bonus(th.tensor([0.0, 9.0]), 2.0, 0.5).tolist() == [0.5, pytest.approx(0.4)]
    assert bonus(th.tensor([0.0, 9.0]), 2.0, 0.0).tolist() == [0, 0]


def test_the_slope_of_the_intrinsic_reward_by_hand() -> None:
    # One state, two actions with 3/4 and 1/4; the first was taken and its advantage is 2: the slope is
    # pi(a) A (1{a} - pi) = 3/4 * 2 * (1/4, -1/4), as in the authors' tabular code.
    intrinsic = th.zeros(1, 2, requires_grad=True)
    logp = th.tensor([[0.75, 0.25]]).log()
    shaping_objective(intrinsic, logp, th.tensor([0]), th.tensor([2.0])).backward()  # type: ignore[no-untyped-call]
    assert intrinsic.grad is not None
    np.testing.assert_allclose(intrinsic.grad, [[0.375, -0.375]], rtol=1e-6)


def test_visits_count_and_lessen_the_bonus() -> None:
    agent = made(reward_learning_rate=0.0)
    agent.learn(24)
    assert agent.visits.sum() == 24
    at = agent.cells(th.eye(11)[[1, 2]])
    assert len(set(at.tolist())) == 2
    assert int(at.max()) < CELLS
    assert not agent.intrinsic.weight.any()


def test_bonuses_of_a_rollout_by_hand() -> None:
    agent = made(reward_learning_rate=0.0)
    agent.learn(24)
    agent.visits.zero_()
    found = agent._bonuses()
    assert found[0].tolist() == [1.0] * 4  # never seen before: all four come at once
    assert found.shape == (6, 4)
    assert agent.visits.sum() == 24
    assert (agent._bonuses() < 1).all()


def test_rewards_that_are_learnt_from_have_both() -> None:
    agent = made(bonus_limit=0.0)
    agent.learn(24)
    plain = agent.rollout_buffer.samples(agent.rollout_buffer.rewards, agent._seen)
    agent.intrinsic.bias.data[:] = 0.5
    agent.intrinsic.weight.data.zero_()
    shaped = agent._samples_of(agent.rollout_buffer.rewards)
    last = slice(-4, None)  # the last step of each episode: one reward to go
    np.testing.assert_allclose((shaped.advantages - plain.advantages)[last], 0.5, rtol=1e-5)
    agent.bonus_limit = 1.0
    agent.visits.fill_(3.0)  # 1 / sqrt(1 + 3), and more visits in the steps before
    both = agent._samples_of(agent.rollout_buffer.rewards)
    more = (both.advantages - shaped.advantages)[last]
    assert ((more > 0.15) & (more <= 0.5)).all()


def test_the_intrinsic_reward_learns_what_pays() -> None:
    agent = made(bonus_limit=0.0, reward_learning_rate=0.5, n_steps=8)
    agent.set_env(agent.env)
    agent.learn(32 * 30)
    goal = th.zeros(1, 11)
    goal[0, 2] = 1  # one place before the end: to the right is action 1 - 2 % 2
    preferred = agent.intrinsic(goal)[0].detach()
    assert preferred[1] > preferred[0]


def test_it_is_saved(tmp_path: Path) -> None:
    agent = made().learn(72)
    agent.save(tmp_path / "agent")
    loaded = ExploRS.load(tmp_path / "agent", env=Processes(4, line(4, 6, 1)))
    assert loaded.visits.equal(agent.visits)
    assert loaded.visits.sum() == 72
    assert loaded.intrinsic.weight.equal(agent.intrinsic.weight)
    assert loaded.cells(th.eye(11)).equal(agent.cells(th.eye(11)))
