"""SimpleVLA-RL: groups, outcomes, dynamic sampling, the clip, checkpoints, and that success rises."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from stable_baselines3.common.vec_env import DummyVecEnv

from tiltyard.agents import SimpleVLARL
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.on_policy.action_tokens import Episodes
from tiltyard.agents.control.on_policy.simplevla_rl import seed_next_reset

TINY: dict[str, Any] = {
    "bins": 4,
    "chunk_size": 2,
    "group_size": 2,
    "n_groups": 4,
    "batch_size": 4,
    "seed": 0,
    "device": "cpu",
    "policy_kwargs": {"net_arch": [16]},
}


class Toss(gymnasium.Env[Any, Any]):
    """An episode of ``length`` actions from -1 to 1 succeeds if all are above -0.5; the observation is its start."""

    observation_space = Box(0.0, 1.0, (1,), np.float32)
    action_space = Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, length: int = 3, told: bool = True) -> None:
        self.length, self.told = length, told
        self.start, self.taken = np.zeros(1, np.float32), np.zeros(0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.start, self.taken = self.np_random.uniform(0, 1, 1).astype(np.float32), np.zeros(0)
        return self.start, {}

    def step(self, action: Any) -> Any:
        self.taken = np.append(self.taken, action)
        done = len(self.taken) == self.length
        success = done and bool((self.taken > -0.5).all())
        return self.start, float(success), done, False, {"success": success} if self.told and done else {}


def tosses(count: int, *, told: bool = True, mode: AutoresetMode = AutoresetMode.SAME_STEP) -> Any:
    return SyncVectorEnv([lambda: Toss(told=told)] * count, autoreset_mode=mode)


def demonstrations(action: float, count: int = 30) -> Transitions:
    """One action always, episodes of three."""
    ends = np.arange(1, count + 1) % 3 == 0
    seen = np.linspace(0, 1, count, dtype=np.float32)[:, None]
    return Transitions(
        observations=seen,
        actions=np.full((count, 1), action, np.float32),
        rewards=np.zeros(count, np.float32),
        next_observations=seen,
        terminations=ends.astype(np.float32),
        ends=ends,
        episodes=np.arange(count) // 3,
        episode_returns=np.zeros(count // 3),
    )


def sampled(agent: SimpleVLARL, budget: int = 10**6) -> Episodes:
    """An iteration's groups."""
    _, callback = agent._setup_learn(budget, None)
    found = agent.sample(callback)
    assert found is not None
    return found


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED])
@pytest.mark.parametrize("told", [True, False])
def test_groups_begin_alike_and_outcomes_are_those_of_their_actions(mode: AutoresetMode, told: bool) -> None:
    agent = SimpleVLARL("MlpPolicy", tosses(4, told=told, mode=mode), dynamic_sampling=False, **TINY)
    found = sampled(agent)
    assert found.group.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    starts = found.observations[:, 0, 0]
    assert starts[::2].equal(starts[1::2])
    assert len(set(starts.tolist())) == 4
    assert found.used.flatten(1).tolist() == [[True, True, True, False]] * 8
    right = (found.tokens.flatten(1)[:, :3] >= 1).all(1)
    assert found.reward.bool().equal(right)
    assert 0 < found.reward.sum() < 8
    assert agent.num_timesteps == 8 * 3


def test_dynamic_sampling_keeps_groups_with_both_outcomes() -> None:
    agent = SimpleVLARL("MlpPolicy", tosses(8), **TINY)
    found = sampled(agent)
    assert len(found) == 8
    assert found.reward.view(4, 2).sum(1).tolist() == [1, 1, 1, 1]
    assert len(set(found.group.tolist())) == 4
    assert agent.logger.name_to_value["rollout/groups_kept"] < 1


def test_sampling_ends_at_its_limits_and_nothing_is_learnt_from_no_group() -> None:
    cold = TINY | {"temperature": 0.2, "clone_learning_rate": 0.01}
    agent = SimpleVLARL("MlpPolicy", tosses(4), oversample_limit=3, **cold)
    agent.learn_offline(demonstrations(-0.9), 200)  # all fail
    before = [part.detach().clone() for part in agent.policy.parameters()]
    agent.learn(1)
    assert agent.num_timesteps == 4 * 3  # the budget ended it
    assert len(sampled(agent)) == 0
    assert agent.num_timesteps == 3 * 4 * 2 * 3  # three times the groups of two episodes of three steps
    for old, new in zip(before, agent.policy.parameters(), strict=True):
        assert old.equal(new)


def test_the_loss_by_hand() -> None:
    """Ratios of 1.25 for a success and 0.75 for a failure: 1.25 passes a clip of 1.28 and not one of 1.2.

    Advantages of a group of two are 1 / sqrt(2) either way. Loss: -(1.25 - max(0.75, 0.8)) / sqrt(2) / 2.
    """
    env = tosses(2)
    for clip_high, ratio in ((0.28, 1.25), (0.2, 1.2)):
        agent = SimpleVLARL("MlpPolicy", env, clip_high=clip_high, **TINY)
        episodes = sampled(agent).take(slice(0, 2))
        advantages = agent.objective.advantage(episodes.rollouts())
        np.testing.assert_allclose(advantages.abs(), 1 / np.sqrt(2), atol=1e-5)
        now = episodes.policy_out(agent.policy).logp.detach()
        won = episodes.reward.unsqueeze(1) > 0
        before = now - th.where(won, np.log(1.25), np.log(0.75))
        weights = [part.detach().clone() for part in agent.policy.net.parameters()]
        metrics = agent._minibatch(episodes, before, advantages)
        assert float(metrics["loss"]) == pytest.approx(-(ratio - 0.8) / np.sqrt(2) / 2, abs=1e-5)
        assert float(metrics["clip_fraction"]) == pytest.approx(0.5 if clip_high == 0.28 else 1.0)
        moved = any(not old.equal(new) for old, new in zip(weights, agent.policy.net.parameters(), strict=True))
        assert moved == (clip_high == 0.28)


def test_tokens_after_an_episodes_end_change_nothing() -> None:
    agent = SimpleVLARL("MlpPolicy", tosses(4), dynamic_sampling=False, **TINY)
    episodes = sampled(agent)
    other = episodes.take(th.arange(len(episodes)))  # a copy
    other.tokens[~episodes.used] = 3 - other.tokens[~episodes.used]
    assert not other.tokens.equal(episodes.tokens)
    losses = []
    for one in (episodes, other):
        now = one.policy_out(agent.policy)
        before = th.full_like(now.logp, -1.0)
        per_token, _ = agent.objective.loss(one.rollouts(before), th.ones(len(one)), now)
        weights = agent.objective.aggregate(one.rollouts().mask)
        losses.append(float((per_token * weights).sum().detach()))
    assert losses[0] == losses[1]


def test_cloning_then_learning_from_success_alone() -> None:
    """Demonstrations go wrong in a third of their actions; GRPO mends it."""
    agent = SimpleVLARL(
        "MlpPolicy",
        tosses(32),
        learning_rate=0.01,
        clone_learning_rate=0.01,
        **TINY | {"group_size": 8, "n_groups": 8, "batch_size": 16},
    )
    data = demonstrations(0.3)
    data.actions[::3] = -0.9
    agent.learn_offline(data, 100)
    start = float(sampled(SimpleVLARL.load(saved(agent), env=tosses(32), dynamic_sampling=False)).reward.mean())
    assert start < 0.7
    agent.learn(10_000)
    end = float(sampled(SimpleVLARL.load(saved(agent), env=tosses(32), dynamic_sampling=False)).reward.mean())
    assert end > start + 0.25


def saved(agent: SimpleVLARL) -> Any:
    from io import BytesIO

    file = BytesIO()
    agent.save(file)
    file.seek(0)
    return file


def test_a_checkpoint_goes_on_where_it_was(tmp_path: Path) -> None:
    agent = SimpleVLARL("MlpPolicy", tosses(4), **TINY).learn_offline(demonstrations(0.3), 5)
    agent.learn(50)
    agent.save(tmp_path / "agent")
    loaded = SimpleVLARL.load(tmp_path / "agent", env=tosses(4))
    assert loaded.policy.fixed
    assert loaded.objective.params == agent.objective.params
    for one in (agent, loaded):
        th.manual_seed(2)
        one.learn_offline(demonstrations(0.3), 2)
    for mine, its in zip(agent.policy.parameters(), loaded.policy.parameters(), strict=True):
        assert mine.equal(its)


def test_seeds_reach_the_environments_of_any_vector() -> None:
    venv: Any = DummyVecEnv([Toss] * 3)
    seed_next_reset(venv, [7, 7, 8])
    first = venv.reset()[:, 0]
    assert first[0] == first[1] != first[2]


def test_environments_that_are_no_groups_are_refused() -> None:
    with pytest.raises(ValueError, match="group_size divides the number of environments: 3 are no groups of 2"):
        SimpleVLARL("MlpPolicy", tosses(3), **TINY)
