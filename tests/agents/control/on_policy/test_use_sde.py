"""fast-ppo with ``use_sde=True``: the numbers of SB3's gSDE, smooth noise in rollouts, checkpoints and copies."""

import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv

from tiltyard.agents import FastPPO, make
from tiltyard.agents.control.on_policy.distributions import StateDependentGaussian
from tiltyard.wrappers.spaces import sb3_env

SMALL: dict[str, Any] = {"n_steps": 8, "batch_size": 32, "seed": 0, "device": "cpu", "use_sde": True}


def pendulums() -> VecEnv:
    return sb3_env("Pendulum-v1", 4, seed=0)


def agent_of(**settings: Any) -> FastPPO:
    agent = make("fast-ppo", pendulums(), preset=None, **{**SMALL, **settings})
    assert isinstance(agent, FastPPO)
    return agent


def test_the_deviation_of_a_worked_state() -> None:
    latent, sigma = th.tensor([[3.0, 4.0]]), th.tensor([[1.0, 0.1], [2.0, 0.5]])
    scales = StateDependentGaussian.log_std(latent, sigma)  # 9 + 4 16 = 73, 9/100 + 16/4 = 4.09
    assert scales.exp().square() == pytest.approx(th.tensor([[73.0, 4.09]]), rel=1e-5)
    outputs = th.cat([th.tensor([[1.0, -1.0]]), scales], 1)
    logp, entropy = StateDependentGaussian().log_prob(outputs, None, th.tensor([[2.0, -1.0]]))
    assert logp.item() == pytest.approx(-0.5 / 73 - 0.5 * math.log(73 * 4.09) - math.log(2 * math.pi), rel=1e-5)
    assert entropy.item() == pytest.approx(0.5 * math.log(73 * 4.09) + math.log(2 * math.pi) + 1, rel=1e-5)


@pytest.mark.parametrize("how", [{}, {"squash_output": True}, {"use_expln": True, "full_std": False}])
def test_log_probabilities_entropies_and_gradients_are_sb3s(how: dict[str, Any]) -> None:
    ours = agent_of(norm_obs=False, policy_kwargs=how).policy
    theirs = PPO("MlpPolicy", pendulums(), seed=0, device="cpu", use_sde=True, policy_kwargs=how).policy
    with th.no_grad():
        ours.log_std.uniform_(-1, 1)
    theirs.load_state_dict({name: part for name, part in ours.state_dict().items() if not name.startswith("moments")})
    observations, actions = th.randn(32, 3), th.randn(32, 1)
    actions = actions.tanh() if "squash_output" in how else actions
    found = []
    for policy in (ours, theirs):
        values, logp, entropy = policy.evaluate_actions(observations, actions)
        entropy = -logp if entropy is None else entropy  # as SB3's update has it
        policy.zero_grad()
        (values.sum() + (logp * th.linspace(-1, 1, 32)).sum() + 0.1 * entropy.sum()).backward()
        grads = {name: part.grad.clone() for name, part in policy.named_parameters() if part.grad is not None}
        found.append((values.flatten(), logp, entropy, grads))
    for mine, other in zip(found[0][:3], found[1][:3], strict=True):
        assert mine.detach().numpy() == pytest.approx(other.detach().numpy(), rel=1e-4, abs=1e-5)
    assert found[0][3].keys() == found[1][3].keys()
    for name, grad in found[0][3].items():
        assert grad.numpy() == pytest.approx(found[1][3][name].numpy(), rel=1e-3, abs=1e-4), name


@pytest.mark.parametrize(("frequency", "changes"), [(-1, 0), (4, 1)])
def test_noise_is_a_function_of_the_state_until_its_matrix_is_drawn_anew(frequency: int, changes: int) -> None:
    agent = agent_of(sde_sample_freq=frequency, norm_obs=False)
    agent.learn(1)  # makes the rollout
    agent.set_random_seed(1)
    seen: list[th.Tensor] = []
    act = agent._acting.act

    def watched(rollout: Any, row: int) -> None:
        act(rollout, row)
        seen.append(agent.policy.action_dist.exploration_matrices.clone())  # type: ignore[union-attr, arg-type]
        latent = agent.policy.mlp_extractor.forward_actor(rollout.observations[row])
        noise = rollout.actions[row] - agent.policy.action_net(latent)
        expected = th.bmm(latent.unsqueeze(1), seen[-1]).squeeze(1)
        assert noise.numpy() == pytest.approx(expected.detach().numpy(), abs=1e-5)

    agent._acting.act = watched  # type: ignore[method-assign]
    agent.learn(32)
    assert sum(not th.equal(one, other) for one, other in zip(seen[:-1], seen[1:], strict=True)) == changes
    assert len(seen) == 8
    assert not th.equal(seen[0][0], seen[0][1])  # each environment has its own


def test_squashed_actions_are_stored_in_one_scale_and_reach_the_environment_in_its_own() -> None:
    agent = agent_of(norm_obs=False, policy_kwargs={"squash_output": True, "log_std_init": 2.0})
    given: list[Any] = []
    agent.learn(1)
    step = agent._source.step  # type: ignore[union-attr]
    agent._source.step = lambda actions: given.append(actions) or step(actions)  # type: ignore[union-attr, method-assign, func-returns-value]
    agent.learn(32, reset_num_timesteps=False)
    stored = agent.rollout_buffer.actions.numpy()
    assert np.abs(stored).max() <= 1.0
    assert np.stack(given) == pytest.approx(2.0 * stored)  # Pendulum's torques
    assert np.abs(np.stack(given)).max() > 1.5
    outputs = th.tensor([[0.5, -30.0]])
    assert agent.policy.distribution.sample(outputs, None, False).item() == pytest.approx(math.tanh(0.5))  # type: ignore[operator]


def test_ratios_are_one_before_the_first_update() -> None:
    agent = agent_of(n_epochs=1, batch_size=32, normalize_advantage=False)
    agent.learn(32)
    assert agent.logger.name_to_value["train/clip_fraction"] == 0.0
    assert abs(agent.logger.name_to_value["train/approx_kl"]) < 1e-6


@pytest.mark.parametrize("overlap", [False, True])
def test_it_trains_copies_and_is_saved(overlap: bool, tmp_path: Path) -> None:
    agent = agent_of(overlap=overlap, sde_sample_freq=4, learning_rate=1e-2)
    before = agent.policy.log_std.detach().clone()
    agent.learn(128)
    assert not th.equal(before, agent.policy.log_std)
    observation = np.array([[1.0, 0.0, 0.5]], np.float32)
    agent.save(tmp_path / "agent")
    loaded = FastPPO.load(tmp_path / "agent", device="cpu")
    assert (loaded.use_sde, loaded.sde_sample_freq) == (True, 4)
    for other in (loaded, deepcopy(loaded)):
        mine, theirs = (one.predict(observation, deterministic=True)[0] for one in (agent, other))
        assert np.array_equal(mine, theirs)
    assert loaded.predict(observation)[0].shape == (1, 1)
    loaded.set_env(pendulums())
    loaded.learn(32)


def test_choices_have_no_state_dependent_noise() -> None:
    with pytest.raises(ValueError, match="gSDE"):
        make("fast-ppo", "CartPole-v1", preset=None, n_envs=4, **SMALL)


@pytest.mark.slow
def test_it_learns_the_pendulum() -> None:
    """Ten seconds of training lift the return of a random policy, about -1,200, above -500."""
    venv = sb3_env("Pendulum-v1", 16, seed=0)
    settings: dict[str, Any] = {"n_steps": 64, "batch_size": 256, "n_epochs": 8, "learning_rate": 1e-3, "gamma": 0.9}
    agent: Any = make("fast-ppo", venv, preset=None, seed=0, device="cpu", use_sde=True, sde_sample_freq=4, **settings)
    agent.learn(100_000)
    assert np.mean([one["r"] for one in agent.ep_info_buffer]) > -500
