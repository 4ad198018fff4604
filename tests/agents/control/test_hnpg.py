from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th

from tiltyard.agents import HNPG
from tiltyard.agents.control.hnpg import hybrid_loss, joined, returns_of
from tiltyard.agents.control.on_policy.rollout import Samples
from tiltyard.benchmarks.testbeds.combination_lock import CombinationLock, Locks, nearly_good

SMALL: dict[str, Any] = {"n_steps": 3, "batch_size": 24, "gamma": 1.0, "critic_width": 16, "seed": 0, "device": "cpu"}
TASK: dict[str, Any] = {"horizon": 3, "choices": 3}


def made(**settings: Any) -> HNPG:
    return HNPG("MlpPolicy", Locks(16, **TASK), **{**SMALL, **settings})


def data(episodes: int = 100) -> Any:
    return nearly_good(episodes, 3, 3, 0)


def test_returns_by_hand() -> None:
    # gamma 0.5. One environment terminates at its second step, one is cut off where the next state is worth 8.
    rewards = th.tensor([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    next_values = th.tensor([[9.0, 9.0], [0.0, 8.0], [6.0, 6.0]])
    dones = th.tensor([[False, False], [True, True], [False, False]])
    assert returns_of(rewards, next_values, dones, 0.5).tolist() == [[2.0, 4.0], [2.0, 6.0], [7.0, 7.0]]


def test_both_losses_by_hand() -> None:
    on, returns = th.tensor([1.0, 3.0]), th.tensor([0.0, 0.0])  # 5 on average
    off, targets = th.tensor([2.0]), th.tensor([4.0])  # 4
    assert hybrid_loss(on, returns, off, targets, 0.5).item() == 7
    assert hybrid_loss(on[:0], returns[:0], off, targets, 1.0).item() == 4
    assert hybrid_loss(on, returns, off[:0], targets[:0], 1.0).item() == 5


def test_the_critic_learns_returns_of_fresh_steps_and_targets_of_the_dataset() -> None:
    agent = made(critic_updates=300, critic_learning_rate=1e-2)
    agent.learn_offline(data(), 0)
    batch = agent.demonstrated(60)
    assert batch is not None
    with th.no_grad():
        targets = batch.rewards + (batch.discounts > 0) * 7.0
    agent._targets_of = lambda _: targets  # type: ignore[method-assign]
    seen, actions = th.full((20, 8), 0.5), th.full((20, 3), 0.5)
    agent.fit(seen, actions, th.full((20,), -3.0), batch)
    with th.no_grad():
        assert agent.q(seen, actions).mean().item() == pytest.approx(-3, abs=0.3)
        found = agent.q(batch.observations, batch.actions)
        assert float((found - targets).abs().mean()) < 1
        assert agent.v(seen).shape == (20,)


def test_actions_beyond_the_space_are_worth_what_its_border_is() -> None:
    agent = made()
    seen = th.zeros(1, 8)
    with th.no_grad():
        assert agent.q(seen, th.full((1, 3), 5.0)).item() == agent.q(seen, th.ones(1, 3)).item()
        assert agent.q(seen, th.zeros(1, 3)).item() != agent.q(seen, th.ones(1, 3)).item()


def test_the_actor_learns_at_as_many_states_of_the_dataset() -> None:
    agent, sizes = made(), []
    inner = agent._samples_of

    def look(rewards: Any) -> Samples:
        found = inner(rewards)
        sizes.append((len(found), found.observations[48:].shape, bool((found.advantages[48:] != 0).all())))  # type: ignore[index, union-attr]
        return found

    agent._samples_of = look  # type: ignore[method-assign]
    agent.learn(48)
    agent.learn_offline(data(), 0).learn(48)
    assert sizes == [(48, (0, 8), True), (96, (48, 8), True)]


def test_samples_side_by_side() -> None:
    one, other = (Samples(*(th.full((n, 1), float(n)) for _ in range(6))) for n in (1, 2))
    assert joined(one, other).advantages.flatten().tolist() == [1, 2, 2]


def test_rewards_of_the_dataset_are_normalised_as_those_of_the_environment(tmp_path: Path) -> None:
    agent = made(norm_reward=True).learn_offline(data(), 0)
    agent.reward_scale.var.fill_(4.0)
    batch = agent.demonstrated(300)
    assert batch is not None
    assert batch.rewards.max().item() == pytest.approx(0.5)
    agent.save(tmp_path / "agent")
    loaded = HNPG.load(tmp_path / "agent")
    seen, actions = th.ones(2, 8), th.zeros(2, 3)
    assert loaded.q(seen, actions).equal(agent.q(seen, actions))


def test_before_any_rollout_it_normalises_by_the_dataset() -> None:
    found = data()
    large = replace(found, observations=100 + 7 * found.observations, rewards=50 * found.rewards)
    agent = made(norm_reward=True).learn_offline(large, 1)
    seen = agent.policy.normalized(th.from_numpy(large.observations))  # type: ignore[operator]
    assert th.allclose(seen.mean(dim=0), th.zeros(8), atol=1e-4)
    assert float(seen.std(dim=0).max()) == pytest.approx(1, abs=0.01)
    assert float(agent.reward_scale.var) == pytest.approx(large.returns(1.0).var(), rel=1e-3)
    agent.learn_offline(large, 1)  # what was seen once counts once
    assert float(agent.reward_scale.count) == pytest.approx(len(large), abs=0.1)


@pytest.mark.slow
def test_with_data_it_opens_a_lock_that_it_does_not_without() -> None:
    bed = CombinationLock(horizon=6, choices=4)
    task: dict[str, Any] = {"horizon": 6, "choices": 4}
    settings: dict[str, Any] = {"n_steps": 6, "n_epochs": 10, "batch_size": 192, "learning_rate": 3e-3, "gamma": 1.0}
    settings |= {"critic_learning_rate": 1e-3, "critic_backups": 2, "gae_lambda": 0.97, "seed": 0, "device": "cpu"}
    shares = []
    for episodes in (0, 500):
        agent = HNPG("MlpPolicy", Locks(64, **task), **settings)
        if episodes:
            agent.learn_offline(nearly_good(episodes, 6, 4, 0), 0)
        shares.append(bed.score(agent.learn(5376), 0))
    assert shares[0] < 0.1
    assert shares[1] > 0.5


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(ValueError, match="offline_coef must be a number of at least 0, got -1"):
        made(offline_coef=-1.0)
    with pytest.raises(TypeError, match="HNPG needs flat Box observations"):
        HNPG("MlpPolicy", gymnasium.wrappers.ReshapeObservation(gymnasium.make("Pendulum-v1"), (3, 1)), seed=0)
    with pytest.raises(ValueError, match="gradient_steps must be an integer of at least 0, got -1"):
        made().learn_offline(data(), -1)
    assert np.isfinite(data().observations).all()
