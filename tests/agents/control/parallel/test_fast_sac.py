"""FastSAC: soft targets by hand, the temperature, what is saved, and that it learns."""

from pathlib import Path
from typing import Any

import pytest
import torch as th
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tiltyard.agents import FastSAC
from tiltyard.agents.control.parallel import fast_sac
from tiltyard.agents.control.replay import Batch

TINY: dict[str, Any] = {
    **{"learning_starts": 8, "batch_size": 16, "buffer_size": 400, "gradient_steps": 2, "seed": 0, "device": "cpu"},
    "policy_kwargs": {"net_arch": [8], "critic_head_kwargs": {"v_min": -10.0, "v_max": 10.0, "n_bins": 21}},
}


def vector(match: Any, n: int) -> Any:
    return SyncVectorEnv([match.env] * n, autoreset_mode=AutoresetMode.SAME_STEP)


def test_entropy_at_the_next_state_is_part_of_the_target(match: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # The target critics say 4 everywhere: 2 + 0.9 (4 + 0.5 * entropy); at an end the reward alone.
    agent = FastSAC("MlpPolicy", vector(match, 2), **TINY)
    *_, biases = agent.critic_target.net.params
    with th.no_grad():
        for parameter in (*agent.critic_target.parameters(), *agent.actor.parameters()):
            parameter.zero_()
        biases[:, 0, 14] = 100.0
    noise = th.tensor([[0.3], [0.3]])
    rewards, discounts, states = th.tensor([2.0, 2.0]), th.tensor([0.9, 0.0]), th.zeros(2, 1)
    batch, learnt = Batch(states, states, rewards, states, discounts), []

    def regression(critic: Any, observations: Any, actions: Any, wanted: th.Tensor) -> None:
        learnt.append(wanted @ critic.head.values)

    monkeypatch.setattr(fast_sac, "distributional_regression", regression)
    given = (agent.actor, agent.critic, agent.critic_target, batch, rewards, noise, th.tensor([0.5]))
    fast_sac.critic_gradients(*given, False)
    density = th.distributions.Normal(0.0, 1.0).log_prob(th.tensor(0.3)) - th.log(1 - th.tensor(0.3).tanh() ** 2)
    expected = [2 + 0.9 * (4 - 0.5 * float(density)), 2.0]
    assert learnt[0].shape == (2, 2)
    for mine in learnt[0].tolist():
        assert mine == pytest.approx(expected, abs=1e-3)


def test_the_temperature_moves_and_is_saved_with_the_normalisation(match: Any, tmp_path: Path) -> None:
    agent = FastSAC("MlpPolicy", vector(match, 4), **TINY).learn(80)
    assert float(agent.log_ent_coef.detach().exp()) != pytest.approx(0.01, rel=1e-4)
    agent.save(tmp_path / "agent")
    loaded = FastSAC.load(tmp_path / "agent")
    assert th.equal(loaded.log_ent_coef, agent.log_ent_coef)
    assert loaded.reward_scale.factor == agent.reward_scale.factor
    for mine, other in zip(agent.policy.state_dict().values(), loaded.policy.state_dict().values(), strict=True):
        assert mine.equal(other)
    fixed = FastSAC("MlpPolicy", vector(match, 2), **TINY, ent_coef=0.1).learn(40)
    assert fixed.log_ent_coef is None
    assert float(fixed._temperature.value) == pytest.approx(0.1)


def test_it_learns_what_to_do(match: Any) -> None:
    kwargs = {"net_arch": [32, 32]}
    agent = FastSAC(
        "MlpPolicy", vector(match, 16), learning_starts=500, batch_size=64, policy_kwargs=kwargs, seed=0, device="cpu"
    )
    assert match.error(agent) > 0.3
    assert match.error(agent.learn(4_000)) < 0.05
