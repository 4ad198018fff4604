"""Rollouts of the data's policy in a learnt model: which are kept, and what is learnt from them."""

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from stable_baselines3.common.evaluation import evaluate_policy

from tiltyard.agents import MBRCSL, RCSL
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.mbrcsl import AutoregressiveBehaviour, rollout_returns
from tiltyard.agents.control.replay import DATASET, MODEL
from tiltyard.agents.models.dynamics import Rollout, Steps

sys.path.insert(0, str(Path(__file__).parent))
from purse_helpers import STEPS, Purse

SMALL: dict[str, Any] = {
    **{"policy_kwargs": {"net_arch": [32]}, "learning_rate": 3e-3, "batch_size": 64, "seed": 0, "device": "cpu"},
    **{"n_models": 3, "n_elites": 2, "model_net_arch": [32], "model_updates": 600, "model_learning_rate": 3e-3},
    **{"behaviour_updates": 600, "behaviour_net_arch": [32, 32], "behaviour_learning_rate": 3e-3, "bins": 40},
    **{"rollouts": 30, "rollout_batch_size": 100, "max_rollouts": 1000, "buffer_size": 50},
}


def halves(episodes: int = 100, seed: int = 0, steps: int = STEPS, ends: bool = False) -> Transitions:
    """Two good steps and then two bad ones, or the other way round: every return is about 0."""
    sign = np.where(np.arange(episodes) % 2, 1.0, -1.0)[:, None] * np.where(np.arange(steps) < 2, 1, -1)
    actions = sign + np.random.default_rng(seed).normal(0, 0.05, sign.shape)
    step, last = np.tile(np.arange(steps, dtype=np.float32), episodes), np.tile(np.arange(steps), episodes) == steps - 1
    rewards = (actions / 2).astype(np.float32)
    return Transitions(
        observations=step[:, None],
        actions=actions.reshape(-1, 1).astype(np.float32),
        rewards=rewards.reshape(-1),
        next_observations=step[:, None] + 1,
        terminations=(last & ends).astype(np.float32),
        ends=last,
        episodes=np.arange(episodes).repeat(steps),
        episode_returns=rewards.sum(axis=1).astype(float),
    )


def made(**settings: Any) -> MBRCSL:
    return MBRCSL("MlpPolicy", Purse(), **{**SMALL, **settings})


@pytest.fixture(scope="module")
def taught() -> MBRCSL:
    return made().learn_offline(halves(), 500)


def returned(agent: Any) -> float:
    return float(evaluate_policy(agent, Purse(), n_eval_episodes=1, warn=False)[0])


def test_returns_of_rollouts_by_hand() -> None:
    rewards, alive = th.tensor([[1.0, 1.0], [2.0, 20.0], [4.0, 40.0]]), th.tensor([[1, 1], [1, 1], [1, 0]]).bool()
    nothing = th.zeros(3, 2, 1)
    found = rollout_returns(Rollout(Steps(nothing, nothing, rewards, nothing, nothing), alive))
    assert found.tolist() == [[7, 21], [6, 20], [4, 0]]


def behaviour_of(actions: Any, **how: Any) -> AutoregressiveBehaviour:
    th.manual_seed(0)
    settings: Any = {"net_arch": [32], "bins": 40, "learning_rate": 1e-2, "updates": 300, "batch_size": 128, **how}
    return AutoregressiveBehaviour(th.zeros(len(actions), 1), actions, **settings)


def test_behaviour_has_both_modes_and_one_dimension_goes_with_the_other() -> None:
    sign = th.where(th.arange(400) % 4 == 0, 1.0, -1.0)
    behaviour = behaviour_of(th.stack([0.5 * sign, 0.9 * sign, th.full((400,), 1.0)], dim=1))
    found = behaviour(th.zeros(1000, 1))
    assert found.shape == (1000, 3)
    good = ((found.abs() - th.tensor([0.5, 0.9, 1.0])).abs() < 0.05).all(dim=1)
    assert good.float().mean() > 0.95
    assert (found[good, 0] * found[good, 1] > 0).all()
    assert 0.2 < (found[:, 0] > 0).float().mean() < 0.3
    assert found[:, 2].max().item() == pytest.approx(0.975)  # the middle of the last of 40 bins


def test_loss_of_behaviour_by_hand() -> None:
    behaviour = behaviour_of(th.zeros(4, 2), updates=0, bins=4)
    with th.no_grad():
        for weight in behaviour.net.parameters():
            weight.zero_()
        behaviour.net.params[-1][..., 1] = np.log(5)
    # Of four bins the second has five of eight parts, each other one.
    found = behaviour.loss(th.zeros(1, 1), th.tensor([[1, 3]])).item()
    assert found == pytest.approx((-np.log(5 / 8) - np.log(1 / 8)) / 2)


def test_a_dimension_is_told_of_those_before_it_alone() -> None:
    behaviour, seen = behaviour_of(th.zeros(4, 3), updates=0), th.zeros(1, 1)
    one, other = (behaviour.logits(seen, th.tensor([[0.1, middle, last]]))[0] for middle, last in ((0, 0), (0.5, 0.7)))
    assert one[:2].equal(other[:2])
    assert not one[2].allclose(other[2])
    assert not behaviour.logits(seen, th.tensor([[0.9, 0.0, 0.0]]))[0, 1].allclose(one[1])


def test_behaviour_goes_by_what_is_seen() -> None:
    th.manual_seed(0)
    seen = th.linspace(100, 101, 400)[:, None]
    how: Any = {"net_arch": [32], "bins": 10, "learning_rate": 1e-2, "updates": 300, "batch_size": 128}
    behaviour = AutoregressiveBehaviour(seen, th.where(seen > 100.5, 0.7, -0.7), **how)
    assert (behaviour(th.full((50, 1), 100.9)) > 0).float().mean() > 0.95
    assert (behaviour(th.full((50, 1), 100.1)) < 0).float().mean() > 0.95


@pytest.mark.slow
def test_it_puts_good_halves_together_as_no_trajectory_did(taught: MBRCSL) -> None:
    assert returned(taught) > 1.5  # four good steps pay 2
    plain = {name: SMALL[name] for name in ("policy_kwargs", "learning_rate", "batch_size", "seed", "buffer_size")}
    assert returned(RCSL("MlpPolicy", Purse(), **plain).learn_offline(halves(), 500)) < 0.5


def test_kept_are_whole_rollouts_that_beat_the_data(taught: MBRCSL) -> None:
    kept, best = taught._stitched, halves().episode_returns.max()
    assert kept is not None
    columns = taught._columns()
    first = kept.rows[:, columns.observation][:, 0] == 0
    assert first.sum() == taught.rollouts_kept >= 30
    assert len(kept) == len(kept.returns) == STEPS * taught.rollouts_kept
    assert (kept.returns[first] > best).all()
    assert kept.returns[first].max().item() == pytest.approx(taught.policy.target.item())
    assert taught.policy.target > 1.5
    assert kept.returns.sum().item() != pytest.approx(kept.rows[:, columns.reward].sum().item())


def test_returns_of_kept_steps_are_what_their_rollouts_still_pay(taught: MBRCSL) -> None:
    kept, columns = taught._stitched, taught._columns()
    assert kept is not None
    last = kept.rows[:, columns.observation][:, 0].round() == STEPS - 1
    assert kept.returns[last].equal(kept.rows[last, columns.reward])
    total, first = kept.rows[:, columns.reward].sum(), kept.rows[:, columns.observation][:, 0] == 0
    assert kept.returns[first].sum().item() == pytest.approx(total.item(), rel=1e-3)


def test_batches_are_of_rollouts_alone(taught: MBRCSL) -> None:
    batch = taught.sample(50)
    assert batch.is_from(MODEL).all()
    assert batch.returns is not None
    assert taught._stitched is not None
    assert set(batch.returns.tolist()) <= set(taught._stitched.returns.tolist())
    assert (taught.sample(500).rewards > 0).float().mean() > 0.6  # of the data half are


def test_it_tries_until_there_are_enough_and_no_more_than_it_may() -> None:
    few = {"model_updates": 20, "behaviour_updates": 5, "rollout_batch_size": 40}
    data = halves(4)
    data.rewards[:] -= 100  # what hardly learnt models predict is better
    data = replace(data, next_observations=data.observations)
    agent = made(**few, rollouts=1, max_rollouts=100).learn_offline(data, 1)
    assert (agent.rollouts_tried, agent.rollouts_kept > 0) == (40, True)
    agent = made(**few, rollouts=10_000, max_rollouts=100).learn_offline(data, 1)
    assert agent.rollouts_tried == 100


def test_where_none_is_better_it_warns_and_learns_from_the_data() -> None:
    data = halves()
    data.actions[:], data.rewards[:] = 1, 0.5
    data.rewards[:STEPS] = 50  # luck that no model repeats
    agent = made(max_rollouts=20, rollout_batch_size=20)
    with pytest.warns(UserWarning, match="none of 20 rollouts has a predicted return above 200, the best of the data"):
        agent.learn_offline(data, 300)
    assert agent.policy.target == 200
    assert agent.rollouts_kept == 0
    assert agent.sample(10).is_from(DATASET).all()
    assert returned(agent) == pytest.approx(2, abs=0.5)


def test_a_target_of_ones_own_is_kept() -> None:
    agent = made(target_return=1.25, rollouts=1, rollout_batch_size=50).learn_offline(halves(), 1)
    assert agent.rollouts_kept > 0
    assert agent.policy.target == 1.25


def test_rollouts_start_where_episodes_do_and_are_as_long() -> None:
    data = halves(steps=3)
    data = replace(data, observations=data.observations + 5, next_observations=data.next_observations + 5)
    agent = made(rollouts=5).learn_offline(data, 1)
    assert agent._stitched is not None
    assert (agent._stitched.rows[:, 0] == 5).sum() == agent.rollouts_kept
    assert len(agent._stitched) == 3 * agent.rollouts_kept
    agent = made(rollouts=5, rollout_horizon=2).learn_offline(data, 1)
    assert agent._stitched is not None
    assert len(agent._stitched) == 2 * agent.rollouts_kept


def test_rollouts_end_where_the_model_says_that_episodes_do() -> None:
    agent = made(rollouts=5, rollout_horizon=6).learn_offline(halves(400, ends=True, steps=2), 1)
    kept, columns = agent._stitched, agent._columns()
    assert kept is not None
    assert len(kept) == 2 * agent.rollouts_kept
    assert kept.rows[:, columns.done].sum() == agent.rollouts_kept
    assert agent.sample(40).discounts.min() == 0


def test_data_alone_fit_nothing_and_other_data_are_rolled_out_anew(taught: MBRCSL) -> None:
    agent = made().learn_offline(halves(), 0)
    assert agent._stitched is None
    assert agent.policy.target == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        agent.train(1, 8)
    first = agent._stitched
    assert first is not None
    agent.train(1, 8)
    assert agent._stitched is first
    agent.learn_offline(halves(seed=1), 1)
    assert agent._stitched is not first


def test_checkpoints_hold_the_policy_and_no_rollouts(taught: MBRCSL, tmp_path: Path) -> None:
    taught.save(tmp_path / "agent")
    loaded = MBRCSL.load(tmp_path / "agent", env=Purse())
    assert loaded._stitched is None
    assert loaded.policy.target.equal(taught.policy.target)
    assert returned(loaded) == returned(taught)
    loaded.learn_offline(halves(), 1)
    assert loaded.rollouts_kept > 0


def test_what_it_does_not_take_is_refused() -> None:
    with pytest.raises(ValueError, match="n_elites must be between 1 and the 3 members, got 4"):
        made(n_elites=4)
    with pytest.raises(ValueError, match="max_rollouts must be a whole number of at least 1, got 0"):
        made(max_rollouts=0)
    with pytest.raises(ValueError, match="MBRCSL learns from data: call learn_offline"):
        made().learn(8)
