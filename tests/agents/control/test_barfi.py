from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box, Dict, Discrete
from gymnasium.wrappers import TransformObservation

from tiltyard.agents import BARFI, ExploRS
from tiltyard.agents.control.barfi import AlignmentReward, along, inverse_product, second_order, to_go
from tiltyard.agents.control.n_pg_igt_harpg import gradient, hessian_product
from tiltyard.benchmarks.testbeds.misleading_rewards import line
from tiltyard.benchmarks.testbeds.tabular import Processes

SMALL: dict[str, Any] = {"n_steps": 6, "policy_kwargs": {"net_arch": []}, "seed": 0, "device": "cpu"}


def made(**settings: Any) -> BARFI:
    return BARFI("MlpPolicy", Processes(4, line(4, 6, 1)), **{**SMALL, **settings})


def test_rewards_to_go_and_their_slope_by_hand() -> None:
    # The second environment's episode ends with its second step.
    rewards, ended = th.tensor([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]]), th.zeros(3, 2, dtype=th.bool)
    ended[1, 1] = True
    gamma = th.tensor(0.5, requires_grad=True)
    found = to_go(rewards, ended, gamma)
    assert found.tolist() == [[3.0, 2.0], [4.0, 2.0], [4.0, 4.0]]
    found[0, 0].backward()  # type: ignore[no-untyped-call]
    assert gamma.grad is not None
    assert gamma.grad.item() == pytest.approx(2 + 2 * 0.5 * 4)  # of 1 + 2 gamma + 4 gamma^2


def test_the_neumann_series_by_hand() -> None:
    # H = -1/2: 1 + 3/4 + 9/16 steps of 1/2 with one number, and its limit, the inverse 2.
    halved = lambda vector: -0.5 * vector  # noqa: E731
    found = inverse_product(halved, th.tensor([1.0]), terms=2, step=0.5)
    assert found.item() == pytest.approx(0.5 * (1 + 0.75 + 0.75**2))
    assert inverse_product(halved, th.tensor([1.0]), terms=200, step=0.5).item() == pytest.approx(2)


def coin() -> tuple[th.Tensor, th.Tensor, th.Tensor]:
    """A coin that shows heads with 3/4: its parameter, log-probabilities of three heads and a tail, its entropy."""
    theta = th.tensor([float(np.log(3))], requires_grad=True)
    heads, tail = th.nn.functional.logsigmoid(theta), th.nn.functional.logsigmoid(-theta)
    return theta, th.cat([heads, heads, heads, tail]), -(heads.exp() * heads + tail.exp() * tail).sum()


def test_the_implicit_gradient_is_that_of_the_converged_policy_by_hand() -> None:
    # Heads pay phi * 1 in the learnt reward and 2 in the primary one; the entropy weighs lambda = 1/2. The best theta
    # is phi / lambda (the derivative of p phi + lambda H(p) is p (1 - p) (phi - lambda theta)), so that ln 3 is best
    # for phi = ln(3) / 2, and dJ/dphi = 2 p (1 - p) / lambda = 2 * 3/16 * 2 = 3/4. The four throws come as often as
    # they are likely, so that estimates are expectations.
    lam, phi, heads = 0.5, float(np.log(3)) / 2, th.tensor([1.0, 1.0, 1.0, 0.0])
    theta, logp, _ = coin()
    slope = gradient(logp, 2 * heads, 4, [theta])

    def product(vector: th.Tensor) -> th.Tensor:
        theta, logp, entropy = coin()
        curved = hessian_product(logp, phi * heads, th.arange(4), [theta], vector)
        return curved + second_order(lam * coin_entropy(theta), [theta], vector)

    wanted = inverse_product(product, slope, terms=300, step=1.0)
    theta, logp, _ = coin()
    steps = along(logp, [theta], wanted)
    assert float((steps * heads).sum() / 4) == pytest.approx(3 / 4, rel=1e-4)

    def primary(value: float) -> float:
        return float(2 / (1 + np.exp(-value / lam)))

    assert (primary(phi + 1e-4) - primary(phi - 1e-4)) / 2e-4 == pytest.approx(3 / 4, rel=1e-4)


def coin_entropy(theta: th.Tensor) -> th.Tensor:
    heads, tail = th.nn.functional.logsigmoid(theta), th.nn.functional.logsigmoid(-theta)
    return -(heads.exp() * heads + tail.exp() * tail).sum()


def test_second_order_of_what_is_linear_or_unknown_is_0() -> None:
    theta = th.ones(2, requires_grad=True)
    assert second_order(theta.sum(), [theta], th.ones(2)).tolist() == [0, 0]
    assert second_order(th.ones(()), [theta], th.ones(2)).tolist() == [0, 0]
    assert second_order(theta.pow(3).sum(), [theta], th.tensor([1.0, 2.0])).tolist() == [6, 12]


def test_the_reward_begins_as_the_sum_and_mixes_by_hand() -> None:
    mix = AlignmentReward(2, 0.9)
    seen, primary, auxiliary = th.tensor([[1.0, 0.0]]), th.tensor([2.0]), th.tensor([3.0])
    assert mix(seen, primary, auxiliary).item() == 5
    assert mix.gamma.item() == pytest.approx(0.9)
    mix.weights.weight.data[:, 0] = th.tensor([0.5, 1.0, -1.0])
    assert mix(seen, primary, auxiliary).item() == pytest.approx(0.5 + 2 * 2 + 0 * 3)


def paid(place: int) -> Any:
    return lambda seen, actions: 0.1 * seen[:, place]


def test_a_misleading_reward_loses_weight_and_a_helpful_one_keeps_it() -> None:
    settings = {"learning_rate": 0.1, "n_steps": 8, "gamma": 0.95}
    weights = []
    for place in (0, 4):  # the wrong end, and where the goal's payment leads to
        agent = BARFI("MlpPolicy", Processes(16, line(4, 8, 1)), **{**SMALL, **settings})
        agent.auxiliary = paid(place)
        agent.learn(16 * 8 * 20)
        weights.append(float(agent.alignment.weights.bias[2].detach()))
    assert weights[0] < 0.9 < 1.0 < weights[1]


def test_without_a_rate_the_reward_stays_and_it_is_saved_otherwise(tmp_path: Path) -> None:
    still = made(reward_learning_rate=0.0)
    still.auxiliary = paid(0)
    still.learn(4 * 6 * 3)
    assert still.alignment.weights.bias.tolist() == [0, 1, 1]
    agent = made(inner_updates=2)
    agent.auxiliary = paid(0)
    agent.learn(4 * 6 * 3)
    assert agent.alignment.weights.bias.tolist() != [0, 1, 1]
    agent.save(tmp_path / "agent")
    loaded = BARFI.load(tmp_path / "agent", env=Processes(4, line(4, 6, 1)))
    assert loaded.alignment.weights.bias.equal(agent.alignment.weights.bias)
    assert (int(loaded.iteration), loaded.auxiliary) == (3, None)


def test_a_bad_auxiliary_reward_is_refused() -> None:
    agent = made()
    agent.auxiliary = lambda seen, actions: seen
    with pytest.raises(ValueError, match=r"an auxiliary reward is finite and of shape \[B\], got shape"):
        agent.learn(24)


@pytest.mark.parametrize("agent", [BARFI, ExploRS])
def test_observations_that_its_reward_could_not_read_are_refused(agent: Any) -> None:
    for space in (Discrete(5), Dict({"place": Box(-1, 1, (2,), np.float32)})):
        env = TransformObservation(gymnasium.make("CartPole-v1"), lambda seen: seen, space)
        with pytest.raises(TypeError, match=r"observes Box spaces, not .*: flatten it \(gymnasium.wrappers.Flatten"):
            agent("MultiInputPolicy" if isinstance(space, Dict) else "MlpPolicy", env)
