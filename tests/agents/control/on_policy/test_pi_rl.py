"""pi_RL: chunks in rollouts, ratios, checkpoints, and that cloned policies are fine-tuned."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tiltyard.agents import PiRL
from tiltyard.agents.control.datasets import Transitions
from tiltyard.agents.control.on_policy.flow_policy import VARIANTS, FlowPolicy
from tiltyard.agents.control.on_policy.update import losses_of

SMALL: dict[str, Any] = {"n_steps": 8, "batch_size": 16, "n_epochs": 2, "seed": 0, "device": "cpu"}
TINY: dict[str, Any] = {**SMALL, "policy_kwargs": {"net_arch": [16]}}
each_variant = pytest.mark.parametrize("variant", VARIANTS)


class Aim(gymnasium.Env[Any, Any]):
    """Actions from 0 to 4 should be twice the observation and 1 more; an episode has ``length`` steps."""

    observation_space = Box(-1.0, 1.0, (1,), np.float32)
    action_space = Box(0.0, 4.0, (1,), np.float32)

    def __init__(self, length: int = 1) -> None:
        self.length, self.count, self.seen = length, 0, np.zeros(1, np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = 0
        return self._look(), {}

    def _look(self) -> Any:
        self.seen = self.np_random.uniform(0.0, 1.0, 1).astype(np.float32)
        return self.seen

    def step(self, action: Any) -> Any:
        self.count += 1
        reward = -abs(float(action[0]) - 2 * float(self.seen[0]) - 1)
        return self._look(), reward, self.count == self.length, False, {}


def aims(*lengths: int, mode: AutoresetMode = AutoresetMode.SAME_STEP) -> Any:
    return SyncVectorEnv([lambda n=n: Aim(n) for n in lengths], autoreset_mode=mode)


def demonstrations(count: int = 200, wrong: float = 0.0) -> Transitions:
    """Right actions but for ``wrong`` more, episodes of five steps."""
    rng, ends = np.random.default_rng(0), np.arange(1, count + 1) % 5 == 0
    seen = rng.uniform(0, 1, (count, 1)).astype(np.float32)
    return Transitions(
        observations=seen,
        actions=2 * seen + 1 + np.float32(wrong),
        rewards=np.zeros(count, np.float32),
        next_observations=seen,
        terminations=np.zeros(count, np.float32),
        ends=ends,
        episodes=np.arange(count) // 5,
        episode_returns=np.zeros(count // 5),
    )


def rollout_of(agent: PiRL) -> Any:
    """One rollout, with its samples."""
    _, callback = agent._setup_learn(1, None)
    assert agent.env is not None
    agent.collect_rollouts(agent.env, callback, agent.rollout_buffer, agent.n_steps)
    return agent._samples()


@each_variant
@pytest.mark.parametrize("chunk_size", [1, 3])
def test_ratios_are_exactly_1_before_the_first_update_and_not_after(variant: str, chunk_size: int) -> None:
    agent = PiRL("MlpPolicy", aims(4, 7), variant=variant, chunk_size=chunk_size, **TINY)
    samples = rollout_of(agent)
    assert samples.actions.shape[1:] == (5, chunk_size)
    logp, entropy = agent.policy.chain_logp(samples.observations, samples.actions, samples.noisy)
    assert ((logp - samples.logp_old).exp() == 1).all()
    losses = losses_of(samples, samples.values_old, logp, entropy, agent._update_settings())
    assert float(losses.approx_kl) == 0.0
    agent.train()
    logp, _ = agent.policy.chain_logp(samples.observations, samples.actions, samples.noisy)
    assert not ((logp - samples.logp_old).exp() == 1).any()


@pytest.mark.parametrize(
    ("mode", "decided", "counts"),
    [
        (AutoresetMode.SAME_STEP, [1, 0, 1, 1, 0, 1, 1, 0], 5),  # episodes of 3: two actions, then one
        (AutoresetMode.NEXT_STEP, [1, 0, 1, 1, 1, 0, 1, 1], 4),  # rows 3 and 7 are resets
    ],
)
def test_a_chunk_ends_with_its_episode_and_its_actions_are_those_taken(
    mode: AutoresetMode, decided: list[int], counts: int
) -> None:
    agent = PiRL("MlpPolicy", aims(3, mode=mode), chunk_size=2, **TINY)
    samples = rollout_of(agent)
    acting, taken = agent._acting, agent.rollout_buffer.actions[:, 0, 0]
    assert acting.decided[:, 0].int().tolist() == decided
    assert len(samples) == counts
    chunk, at = th.zeros(2), 0
    for row in range(8):
        if acting.decided[row, 0]:
            chunk, at = 2 * (acting.chains[row, 0, -1] + 1), 0
        assert float(taken[row]) == pytest.approx(float(chunk[at]), abs=1e-6)
        at += 1


@each_variant
def test_fine_tuning_mends_what_was_cloned_wrong(variant: str) -> None:
    """Demonstrations are 0.6 too much: rewards of -0.6 become better than -0.25, by PPO alone."""
    settings = {"noise_max": 0.3} if variant == "flow-noise" else {}
    agent = PiRL(
        "MlpPolicy",
        aims(*[1] * 16),
        variant=variant,
        learning_rate=1e-3,
        n_steps=32,
        batch_size=128,
        n_epochs=4,
        seed=0,
        device="cpu",
        policy_kwargs={"net_arch": [32, 32]},
        **settings,
    )
    agent.learn_offline(demonstrations(wrong=0.6), 500)
    assert missed(agent) == pytest.approx(0.6, abs=0.2)
    agent.learn(512 * 10)
    assert missed(agent) < 0.25


def missed(agent: PiRL) -> float:
    seen = np.linspace(0, 1, 200, dtype=np.float32)[:, None]
    actions, _ = agent.predict(seen)
    return float(np.abs(actions - 2 * seen - 1).mean())


def test_observations_are_normalised_as_the_dataset_was() -> None:
    agent = PiRL("MlpPolicy", aims(4, 7), **TINY)
    agent.learn(16)
    assert not agent.policy.fixed
    agent = PiRL("MlpPolicy", aims(4, 7), **TINY).learn_offline(demonstrations(), 1)
    (moments,) = agent.policy.moments.values()
    before: Any = moments.mean.clone()
    data = demonstrations().observations
    assert float(before) == pytest.approx(float(data.mean()), abs=1e-4)
    agent.learn(16)
    assert moments.mean == before


@each_variant
def test_a_checkpoint_goes_on_where_it_was(variant: str, tmp_path: Path) -> None:
    agent = PiRL("MlpPolicy", aims(4, 7), variant=variant, chunk_size=2, **TINY).learn_offline(demonstrations(), 5)
    agent.learn(16)
    agent.save(tmp_path / "agent")
    loaded = PiRL.load(tmp_path / "agent", env=aims(4, 7))
    assert loaded.policy.fixed
    seen = np.linspace(0, 1, 6, dtype=np.float32)[:, None]
    for deterministic in (True, False):
        th.manual_seed(1)
        ours, (chunks, left) = agent.predict(seen, deterministic=deterministic)  # type: ignore[misc]
        th.manual_seed(1)
        theirs, (others, _) = loaded.predict(seen, deterministic=deterministic)  # type: ignore[misc]
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(chunks, others)
    for one in (agent, loaded):
        th.manual_seed(2)
        one.learn_offline(demonstrations(), 2)
    for mine, its in zip(agent.policy.parameters(), loaded.policy.parameters(), strict=True):
        assert mine.equal(its)


def test_predict_goes_through_its_chunk_and_begins_anew_with_an_episode() -> None:
    agent = PiRL("MlpPolicy", aims(4, 7), chunk_size=3, **TINY)
    seen = np.array([[0.2], [0.9]], np.float32)
    first, state = agent.predict(seen)
    chunks = state[0]
    np.testing.assert_array_equal(first, chunks[:, 0].clip(0, 4))
    second, state = agent.predict(seen, state, np.array([False, True]))
    np.testing.assert_array_equal(second[0], chunks[0, 1].clip(0, 4))
    np.testing.assert_array_equal(second[1], state[0][1, 0].clip(0, 4))
    np.testing.assert_array_equal(state[0][0], chunks[0])
    assert (state[0][1] != chunks[1]).all()
    assert state[1].tolist() == [1, 2]
    _, state = agent.predict(seen, state)
    _, state = agent.predict(seen, state)
    assert state[1].tolist() == [2, 0]
    assert (state[0][0] != chunks[0]).all()
    with pytest.raises(ValueError, match=r"a state for 2 observations is arrays \[2, 3, 1\] and \[2\]"):
        agent.predict(seen, (state[0][:1], state[1][:1]))


def test_actor_and_critic_learn_at_their_own_rates() -> None:
    agent = PiRL("MlpPolicy", aims(4, 7), learning_rate=0.0, value_learning_rate=0.01, **TINY)
    actor = [part.detach().clone() for part in agent.policy.action_net.parameters()]
    critic = agent.policy.value_net.weight.detach().clone()
    agent.learn(16)
    assert all(old.equal(new) for old, new in zip(actor, agent.policy.action_net.parameters(), strict=True))
    assert not critic.equal(agent.policy.value_net.weight)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"variant": "flow-sd"}, "did you mean 'flow-sde'"),
        ({"noise_min": 0.2}, "noise_min must be above 0 and below noise_max, got 0.2 and 0.16"),
        ({"denoise_steps": 0}, "denoise_steps must be a whole number of at least 1"),
        ({"noise_level": 0.0}, "noise_level must be a number above 0"),
    ],
)
def test_bad_settings_are_told(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        PiRL("MlpPolicy", aims(4), **TINY | settings)


def test_other_spaces_and_densities_of_single_actions_are_refused() -> None:
    flat, bounded = Box(-1, 1, (2,)), Box(-1, 1, (1,))
    for observations, actions, says in (
        (Dict({"a": flat}), bounded, "needs flat Box observations"),
        (flat, Box(-np.inf, np.inf, (1,)), "needs Box actions with finite bounds"),
        (flat, Discrete(2), "needs Box actions with finite bounds"),
    ):
        with pytest.raises(TypeError, match=says):
            FlowPolicy(observations, actions, lambda _: 0.0)
    policy = FlowPolicy(flat, bounded, lambda _: 0.0)
    with pytest.raises(TypeError, match="no distribution of single actions"):
        policy.evaluate_actions(th.zeros(1, 2), th.zeros(1, 1))
    with pytest.raises(ValueError, match="without noise has no log-probability"):
        policy(th.zeros(1, 2), deterministic=True)
