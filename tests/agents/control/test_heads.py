import math
from typing import Any

import numpy as np
import pytest
import torch as th

from tiltyard.agents import IQL, SAC, TD3
from tiltyard.agents.control.heads import Categorical, TwoHot, make_head

RANGE: dict[str, Any] = {"v_min": -10.0, "v_max": 30.0}
each_head = pytest.mark.parametrize("name", ["two-hot", "hl-gauss"])


def head(name: str, **settings: Any) -> Categorical:
    made = make_head(name, 2, **RANGE | settings)
    assert isinstance(made, Categorical)
    return made


@each_head
def test_targets_come_back_everywhere_in_the_range(name: str) -> None:
    made, target = head(name), th.linspace(-10, 30, 997)
    encoded = made.encode(target)
    assert (encoded.sum(-1) - 1).abs().max() < 1e-5
    assert encoded.min() >= 0
    assert ((encoded @ made.values) - target).abs().max() < 1e-3


@each_head
def test_targets_outside_count_as_the_nearer_end(name: str) -> None:
    made = head(name)
    for far, end in ((1e30, 30.0), (-math.inf, -10.0)):
        assert made.encode(th.tensor([far])).equal(made.encode(th.tensor([end])))


def test_two_hot_by_hand() -> None:
    # Bins at 0, 1, 2: 1.25 is three parts of 1 and one of 2.
    made = TwoHot(1, v_min=0.0, v_max=2.0, n_bins=3)
    assert made.encode(th.tensor([1.25])).tolist() == [[0, 0.75, 0.25]]


@each_head
def test_the_gradient_is_the_difference_of_probabilities(name: str) -> None:
    made, target = head(name), th.tensor([3.3, -2.0])
    out = th.randn(2, 2, made.n_out, requires_grad=True)
    (gradient,) = th.autograd.grad(made.loss(out, target).sum(), out)
    th.testing.assert_close(gradient, made.probabilities(out) - made.encode(target))


def test_a_loss_by_hand() -> None:
    # Bins at -1, 0, 1, even odds (mean 0) moved by logits (0, 0, log 2): probabilities 1/4, 1/4, 1/2 and mean 1/4. The
    # target 0.5 is half 0, half 1: -(log 1/4 + log 1/2) / 2 = 1.5 log 2.
    made = TwoHot(1, v_min=-1.0, v_max=1.0, n_bins=3)
    out = th.tensor([[[0.0, 0.0, math.log(2)]]])
    assert made.value(out).item() == pytest.approx(0.25)
    assert made.loss(out, th.tensor([0.5])).item() == pytest.approx(1.5 * math.log(2))


@each_head
def test_a_new_critic_says_zero_or_the_nearest_it_can(name: str) -> None:
    nothing = th.zeros(2, 1, 101)
    assert head(name).value(nothing).abs().max() < 1e-4
    assert head(name, v_min=-1600.0, v_max=0.0).value(nothing)[0].item() == pytest.approx(-80, abs=0.1)
    assert head(name, v_min=10.0, v_max=30.0).value(nothing)[0].item() == pytest.approx(11, abs=0.1)


@each_head
def test_outputs_of_any_size_give_finite_losses(name: str) -> None:
    made = head(name)
    out = (1e4 * th.randn(2, 5, made.n_out)).requires_grad_()
    loss = made.loss(out, th.linspace(-50, 50, 5))
    loss.sum().backward()  # type: ignore[no-untyped-call]
    assert out.grad is not None
    assert th.isfinite(loss).all()
    assert th.isfinite(out.grad).all()
    assert made.value(out).min() > -13


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"v_min": None}, "needs the range of returns"),
        ({"v_min": 30.0}, "v_min must be below v_max"),
        ({"v_max": math.inf}, "both finite"),
        ({"n_bins": 7}, "n_bins must be at least 8"),
        ({"sigma": 0.1}, "sigma"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        head("hl-gauss", **settings)


def test_sac_without_a_range_says_what_is_missing(match: Any) -> None:
    with pytest.raises(ValueError, match="v_min"):
        SAC("MlpPolicy", match.env(), policy_kwargs={"critic_head": "hl-gauss"})
    with pytest.raises(ValueError, match="did you mean 'hl-gauss'"):
        SAC("MlpPolicy", match.env(), policy_kwargs={"critic_head": "hl-gaus"})


@each_head
@pytest.mark.parametrize("agent_class", [SAC, TD3, IQL])
def test_any_agent_learns_with_it(agent_class: Any, name: str, match: Any) -> None:
    critic = {"critic_head": name, "critic_head_kwargs": {"v_min": -4.0, "v_max": 1.0, "n_bins": 41}}
    settings: dict[str, Any] = {"learning_rate": 3e-3, "batch_size": 64, "seed": 0}
    settings |= {SAC: {"ent_coef": 0.01}, TD3: {}, IQL: {"beta": 10.0}}[agent_class]
    agent = agent_class("MlpPolicy", match.env(), policy_kwargs={"net_arch": [32], **critic}, **settings)
    assert match.error(agent.learn_offline(match.data(), 400)) < 0.1
    seen = th.zeros(3, 1)
    values = agent.critic(seen, th.tensor([[0.0], [0.5], [1.0]])).mean(0).tolist()
    assert values[0] > values[1] > values[2]
    assert np.abs(np.array(values) - [0, -0.25, -1]).max() < 0.4


def test_gaussian_likelihood_by_hand() -> None:
    # Mean 1, deviation softplus(log(e^2 - 1)) = 2, target 3: (2 / 2)^2 / 2 + log 2 = 1.193147.
    out = th.tensor([[[1.0, math.log(math.exp(2) - 1)]]])
    head = make_head("gaussian", 1)
    assert head.value(out).item() == 1
    assert head.loss(out, th.tensor([3.0])).item() == pytest.approx(1.193147, abs=1e-5)
