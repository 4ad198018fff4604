from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from stable_baselines3.common.callbacks import BaseCallback

from tiltyard.agents import PROTECTED
from tiltyard.agents.control.on_policy.sources import Step
from tiltyard.agents.control.protected import Attacked, Exp3, episode_returns
from tiltyard.benchmarks.testbeds.cliff_edge import Cliff

SMALL: dict[str, Any] = {
    **{"n_steps": 8, "batch_size": 16, "n_epochs": 1, "policy_kwargs": {"net_arch": [8]}, "seed": 0, "device": "cpu"},
    **{"n_policies": 3, "policy_timesteps": 96, "epsilon": 0.4, "norm_obs": False, "norm_reward": False},
}


def made(**settings: Any) -> PROTECTED:
    return PROTECTED("MlpPolicy", Cliff(4, steps=8), **{**SMALL, **settings})


def test_exp3_by_hand() -> None:
    # Two arms, 50 rounds, c = 2: eta = 2 sqrt(ln 2 / 100). Arm 1, drawn with 1/2, earns 0.6.
    bandit = Exp3(2, 50)
    eta = 2 * np.sqrt(np.log(2) / 100)
    assert bandit.eta == pytest.approx(eta)
    bandit.update(1, 0.6)
    odds = np.exp(eta * 0.6 / (0.5 + eta / 2))
    np.testing.assert_allclose(bandit.probabilities, [1 / (1 + odds), odds / (1 + odds)])


def test_exp3_finds_the_better_arm_and_one_arm_alone_is_drawn() -> None:
    rng, bandit, drawn = np.random.default_rng(0), Exp3(3, 400), []
    for _ in range(400):
        drawn.append(int(rng.choice(3, p=bandit.probabilities)))
        bandit.update(drawn[-1], [0.2, 0.9, 0.4][drawn[-1]])
    assert np.mean(np.array(drawn[-100:]) == 1) > 0.8
    assert Exp3(1, 5).probabilities.tolist() == [1]


def test_returns_of_episodes_by_hand() -> None:
    rewards, ended = th.tensor([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]), th.zeros(3, 2, dtype=th.bool)
    ended[[1, 2], 1] = True  # the first environment's episode goes on
    assert episode_returns(rewards, ended).tolist() == [6.0, 3.0]


def test_attacks_by_hand_stay_within_epsilon_and_in_the_space() -> None:
    agent = made()
    seen = np.array([[0.5], [-9.9], [0.0], [1.0]], np.float32)
    parameters = th.tensor([[[1.0, 2.0]]])  # epsilon tanh(s + 2)
    expected = np.clip(seen + 0.4 * np.tanh(seen + 2), -10, 10)
    np.testing.assert_allclose(agent.attacked(seen, parameters), expected, rtol=1e-5)
    assert np.abs(agent.attacked(seen, 1e3 * parameters) - seen).max() <= 0.4 + 1e-6
    normalised = made(norm_obs=True)
    normalised.policy.update_moments(th.tensor([[0.0], [2.0]]))
    moved = normalised.attacked(seen[2:3], th.tensor([[[0.0, 100.0]]]))
    assert moved[0, 0] == pytest.approx(0.4, rel=1e-2)  # a deviation of 1
    normalised.policy.update_moments(th.tensor([[-50.0], [52.0]]))
    assert normalised.attacked(seen[2:3], th.tensor([[[0.0, 100.0]]]))[0, 0] > 4


def test_final_observations_are_attacked_too() -> None:
    class Once:
        def step(self, actions: Any) -> Step:
            nothing = np.zeros(2, np.bool_)
            last = {1: np.array([5.0], np.float32)}
            return Step(np.zeros((2, 1), np.float32), np.zeros(2, np.float32), nothing, nothing, ~nothing, last)

    step = Attacked(Once(), lambda seen: seen + np.array([[1.0], [2.0]], np.float32)).step(np.zeros(2))
    assert step.observation.tolist() == [[1.0], [2.0]]
    assert step.last[1].tolist() == [7.0]


def test_the_adversary_follows_scores_by_hand() -> None:
    agent = made(adversary_learning_rate=0.5)
    agent.adversary = th.zeros(1, 2)
    agent.trials = th.tensor([[[1.0, 0.0]], [[-1.0, 0.0]], [[0.0, 1.0]], [[0.0, -1.0]]])
    agent._improve_adversary(th.tensor([3.0, 1.0, 2.0, 2.0]))  # deviation sqrt(1/2)
    np.testing.assert_allclose(agent.adversary, [[0.5 * 2 * np.sqrt(2) / 4, 0.0]], rtol=1e-6)
    before = agent.adversary.clone()
    agent._improve_adversary(th.ones(4))
    assert agent.adversary.equal(before)


class Kinds(BaseCallback):
    """Notes which rollouts there are, by how many policies there are already."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int, str]] = []

    def _on_rollout_start(self) -> None:
        agent: Any = self.model
        self.seen.append((len(agent.members), agent.kind))

    def _on_step(self) -> bool:
        return True


def test_policies_are_discovered_one_after_the_other() -> None:
    noted, agent = Kinds(), made()
    agent.learn(9 * 32, callback=noted)
    of_next = [(1, "policy"), (1, "newest"), (1, "before")]
    assert noted.seen == [(0, "policy")] * 3 + of_next + [(2, kind) for _, kind in of_next]
    assert len(agent.members) == 2
    first, second = agent.members
    assert not first.equal(second)
    assert made(n_policies=1, first="minimax").rollouts_of_a_cycle == ("policy", "newest")


def test_rollouts_of_adversaries_leave_the_policy_as_it_is() -> None:
    agent = made()
    agent.learn(4 * 32)  # three rollouts of the first policy, one of the second
    newest = agent._state()
    agent.learn(2 * 32, reset_num_timesteps=False)
    assert agent._state().equal(newest)
    assert agent.worths[0] != 0
    assert agent.opponent == 0


class Looks(BaseCallback):
    """Notes the policy that each step of an adversary's rollout on an earlier one shows."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[th.Tensor] = []

    def _on_step(self) -> bool:
        agent: Any = self.model
        if agent.kind == "before":
            self.shown.append(agent._state())
        return True


def test_callbacks_see_the_newest_policy_while_an_earlier_one_acts() -> None:
    looks, agent = Looks(), made()
    agent.learn(6 * 32, callback=looks)  # the last rollout is on the policy before
    assert len(looks.shown) == 8
    assert all(one.equal(agent._state()) for one in looks.shown)


def test_the_adversary_serves_the_newest_policy_and_harms_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[th.Tensor] = []
    agent = made()
    agent.learn(5 * 32)
    assert agent.kind == "before"
    monkeypatch.setattr(agent, "_improve_adversary", given.append)
    agent.scores = scores = th.tensor([10.0, 20.0, 30.0, 40.0])  # of the newest policy, under each trial
    agent.learn(32, reset_num_timesteps=False)
    returns = agent.rollout_buffer.rewards.sum(dim=0)
    assert 0 < float(returns.mean()) < 1
    assert given[0].equal(scores - returns)
    minimax = made(n_policies=1, first="minimax")
    monkeypatch.setattr(minimax, "_improve_adversary", given.append)
    minimax.learn(2 * 32)
    assert (given[1] < 0).all()


def test_the_bandit_chooses_who_acts_and_is_saved(tmp_path: Path) -> None:
    agent = made(return_low=0.0, return_high=1.0, bandit_rounds=20)
    agent.learn(9 * 32)
    agent.members[0] = 0  # does nothing, whatever it sees
    seen = np.full((1, 1), 0.7, np.float32)
    acted = {}
    for _ in range(40):
        index = agent.begin_episode()
        acted[index] = float(agent.predict(seen, deterministic=True)[0].item())
        agent.end_episode(1.0 if index == 0 else 0.0)
    assert acted[0] == 0 != acted[2]
    assert acted[2] == float(agent.predict(seen, deterministic=True)[0].item())
    assert agent.probabilities[0] > 0.6
    agent.save(tmp_path / "agent")
    loaded = PROTECTED.load(tmp_path / "agent", env=Cliff(4, steps=8))
    np.testing.assert_allclose(loaded.probabilities, agent.probabilities)
    assert loaded.members.equal(agent.members)
    assert loaded.kind == agent.kind


def test_a_checkpoint_in_the_middle_of_a_cycle_begins_it_anew(tmp_path: Path) -> None:
    agent = made()
    agent.learn(5 * 32)
    assert agent.kind == "before"
    agent.save(tmp_path / "agent")
    loaded, noted = PROTECTED.load(tmp_path / "agent", env=Cliff(4, steps=8)), Kinds()
    loaded.learn(32, callback=noted, reset_num_timesteps=False)
    assert noted.seen == [(1, "policy")]
    assert loaded.kind == "newest"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown first 'minmax'; did you mean 'minimax'"):
        made(first="minmax")
    with pytest.raises(ValueError, match="there is no episode to end"):
        made().end_episode(1.0)
    with pytest.raises(ValueError, match="a reward lies between 0 and 1, got 1.5"):
        Exp3(2, 5).update(0, 1.5)
    with pytest.raises(ValueError, match="at least one arm and one round, got 0 and 5"):
        Exp3(0, 5)
    with pytest.raises(TypeError, match="PROTECTED attacks observations that are flat boxes"):
        PROTECTED("MlpPolicy", gymnasium.make("FrozenLake-v1"))
