from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Dict
from gymnasium.wrappers import TransformObservation
from stable_baselines3.common.callbacks import BaseCallback

from tiltyard.agents import MomentumPG
from tiltyard.agents.control.n_pg_igt_harpg import gradient, hessian_product, to_go
from tiltyard.benchmarks.testbeds.linear_quadratic import Regulators

SMALL: dict[str, Any] = {"n_steps": 6, "policy_kwargs": {"net_arch": []}, "seed": 0, "device": "cpu"}


def made(**settings: Any) -> MomentumPG:
    return MomentumPG("MlpPolicy", Regulators(3, steps=6), **{**SMALL, **settings})


def test_rewards_to_go_by_hand() -> None:
    # gamma 1/2; the second environment begins anew at its third step.
    rewards = th.tensor([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    starts = th.tensor([[True, True], [False, False], [False, True]])
    assert to_go(rewards, starts, 0.5).tolist() == [[3.0, 2.0], [2.0, 1.0], [1.0, 4.0]]


def coin() -> tuple[th.Tensor, th.Tensor]:
    """Log-probabilities of three heads and a tail of a coin that shows heads with 3/4, as one parameter has it."""
    theta = th.tensor(float(np.log(3)), requires_grad=True)
    heads, tail = th.nn.functional.logsigmoid(theta), th.nn.functional.logsigmoid(-theta)
    return theta, th.stack([heads, heads, heads, tail])


def test_gradient_and_hessian_are_exact_on_a_coin_by_hand() -> None:
    # Heads pay 1, so that J = p = 3/4: J' = p (1 - p) = 3/16, J'' = p (1 - p) (1 - 2p) = -3/32. The four throws come as
    # often as they are likely, so that both estimates are their expectations.
    theta, logp = coin()
    paid = th.tensor([1.0, 1.0, 1.0, 0.0])
    assert gradient(logp, paid, 4, [theta]).item() == pytest.approx(3 / 16)
    theta, logp = coin()
    found = hessian_product(logp, paid, th.arange(4), [theta], th.tensor([2.0]))
    assert found.item() == pytest.approx(2 * -3 / 32)


def test_the_hessians_score_is_that_of_the_whole_trajectory_by_hand() -> None:
    # One trajectory of heads, then tail, which pays 1 in the end: weights 1 and 1, p = 3/4. The gradient of Phi,
    # (1 - p) - p = -1/2, is also the score, so that B = 1/4 + Phi'' = 1/4 - 2 p (1 - p) = -1/8.
    theta, logp = coin()
    found = hessian_product(logp[2:], th.ones(2), th.zeros(2, dtype=th.int64), [theta], th.ones(1))
    assert found.item() == pytest.approx(-1 / 8)


def test_it_acts_beyond_the_present_parameters_by_hand() -> None:
    agent = made()
    agent.phase[0] = 6  # eta = (2 / 8)^0.8 = 0.3299
    agent.before, agent.center = th.zeros_like(agent.center), th.ones_like(agent.center)
    assert agent.eta == pytest.approx(0.25**0.8)
    assert agent.acting_at()[0].item() == pytest.approx(1 + (1 - agent.eta) / agent.eta)
    assert made(variant="n-pg").eta == 1
    harpg = made(variant="n-harpg")
    harpg.phase = th.tensor([6.0, 1.0])
    harpg.before, harpg.center = th.zeros_like(harpg.center), th.ones_like(harpg.center)
    assert harpg.eta == 0.25
    share = harpg.acting_at()
    assert 0 < share[0].item() < 1
    assert (share == share[0]).all()


def test_a_step_by_hand() -> None:
    agent = made()
    agent._setup_learn(1, None)
    agent.lr_schedule = lambda _: 0.5  # type: ignore[assignment, method-assign]
    start, eta = agent.center.clone(), 0.25**0.8
    agent.phase[0] = 6
    agent.direction, agent.carried = th.full_like(start, 5.0), th.full_like(start, -4.0)
    agent._step(th.full_like(start, 3.0))
    np.testing.assert_allclose(agent.direction, (1 - eta) * (5 - 4) + eta * 3, rtol=1e-6)
    np.testing.assert_allclose(agent.center - start, 0.5 / np.sqrt(len(start)), rtol=1e-4)
    assert agent.before.equal(start)
    assert agent._now().equal(agent.center)


class Stop(BaseCallback):
    """Ends the training at its third step."""

    def _on_step(self) -> bool:
        return self.n_calls < 3


def test_a_rollout_cut_short_leaves_the_learnt_policy() -> None:
    agent = made().learn(3 * 18)
    agent.learn(18, callback=Stop(), reset_num_timesteps=False)
    assert not agent.acted.equal(agent.center)
    assert agent._now().equal(agent.center)


class Looks(BaseCallback):
    """Notes whether each step shows the learnt policy, and whether another one acts."""

    def __init__(self) -> None:
        super().__init__()
        self.learnt: list[bool] = []
        self.apart: list[bool] = []

    def _on_step(self) -> bool:
        agent: Any = self.model
        self.learnt.append(agent._now().equal(agent.center))
        self.apart.append(not agent.acted.equal(agent.center))
        return True


def test_callbacks_see_the_learnt_policy_while_another_acts() -> None:
    looks = Looks()
    agent = made().learn(4 * 18, callback=looks)
    assert all(looks.learnt)
    assert any(looks.apart)
    again = made().learn(4 * 18)
    assert again.center.equal(agent.center)  # who looks changes nothing


def test_the_policy_is_the_learnt_one_between_rollouts_and_momentum_is_saved(tmp_path: Path) -> None:
    agent = made(variant="n-harpg").learn(5 * 18)
    assert agent._now().equal(agent.center)
    assert agent.iteration == 3  # gradients: first, third and fifth rollout
    assert agent.carried.any()
    agent.save(tmp_path / "agent")
    loaded = MomentumPG.load(tmp_path / "agent", env=Regulators(3, steps=6))
    for name in ("center", "before", "direction", "carried"):
        assert getattr(loaded, name).equal(getattr(agent, name))
    assert (loaded.iteration, loaded.at_midpoint) == (3, True)


def test_rollouts_begin_with_new_episodes() -> None:
    env = Regulators(3, steps=100)
    agent = MomentumPG("MlpPolicy", env, **SMALL).learn(18)
    assert env.step_count == 6
    agent.learn(18, reset_num_timesteps=False)
    assert env.step_count == 6


def test_unknown_variants_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown variant 'n-pg-itg'; did you mean 'n-pg-igt'"):
        made(variant="n-pg-itg")


def test_observations_may_be_dicts() -> None:
    env = TransformObservation(
        gymnasium.make("Pendulum-v1"),
        lambda seen: {"seen": seen},
        Dict({"seen": Box(-10, 10, (3,), np.float32)}),
    )
    agent = MomentumPG("MultiInputPolicy", env, **SMALL).learn(12)
    flat = MomentumPG("MlpPolicy", "Pendulum-v1", **SMALL).learn(12)
    assert agent.center.equal(flat.center)  # a dict of one part is learnt from as the part alone
