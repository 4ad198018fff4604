import math
from typing import Any

import pytest
import torch as th

from tiltyard.agents import BC, FDVL
from tiltyard.agents.control.f_dvl_recoil import DIVERGENCES, chi_square_loss, gumbel_loss, total_variation_loss
from tiltyard.agents.control.replay import Batch

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [32]}, "learning_rate": 3e-3, "batch_size": 64, "seed": 0}
each_divergence = pytest.mark.parametrize("divergence", DIVERGENCES)


def test_losses_by_hand() -> None:
    error = th.tensor([2.0, -6.0])
    # 0.7 (2 + 4/4) - 0.3 * 2 = 1.5; 0.3 * 6, and not the 0.7 * 3 more of max(x + x^2/4, 0).
    assert chi_square_loss(error, 0.7).tolist() == pytest.approx([1.5, 1.8])
    assert total_variation_loss(error, 0.7).tolist() == pytest.approx([0.8, 1.8])
    # z = 1 and -3, the largest 1: (e - 2) / e, (e^-3 + 2) / e.
    assert gumbel_loss(error, 2.0).tolist() == pytest.approx([1 - 2 / math.e, (math.exp(-3) + 2) / math.e])
    assert gumbel_loss(error, 2.0, 0.5).tolist()[0] == pytest.approx(1 - 1.5 * math.exp(-0.5))


def test_total_variations_value_is_a_quantile() -> None:
    # lambda 0.8: a quarter of the actions may lie above V: (2 * 0.8 - 1) / 0.8 = 0.75.
    q = th.arange(101) / 100
    losses = [total_variation_loss(q - v, 0.8).mean().item() for v in q]
    assert q[losses.index(min(losses))].item() == pytest.approx(0.75, abs=0.011)


def test_pulls_of_outliers_grow_by_their_kind() -> None:
    def pull(loss: Any, at: float) -> float:
        error = th.tensor([at], dtype=th.float64, requires_grad=True)
        return float(th.autograd.grad(loss(error).sum(), error)[0])

    ratios = {
        "chi-square": pull(lambda x: chi_square_loss(x, 0.7), 200) / pull(lambda x: chi_square_loss(x, 0.7), 100),
        "tv": pull(lambda x: total_variation_loss(x, 0.7), 200) / pull(lambda x: total_variation_loss(x, 0.7), 100),
    }
    assert ratios["chi-square"] == pytest.approx(2, rel=0.02)
    assert ratios["tv"] == 1
    together = th.tensor([40.0, 80.0], dtype=th.float64, requires_grad=True)  # in one batch: e^40 times as strong
    one, other = th.autograd.grad(gumbel_loss(together, 1.0).sum(), together)[0].tolist()
    assert math.log(other / one) == pytest.approx(40, abs=0.1)


def test_gumbel_stays_finite() -> None:
    error = th.tensor([1e6, -1e6], requires_grad=True)
    loss = gumbel_loss(error, 0.1, 7.0)
    loss.sum().backward()  # type: ignore[no-untyped-call]
    assert error.grad is not None
    assert th.isfinite(loss).all()
    assert th.isfinite(error.grad).all()


def constant(network: Any, *values: float) -> None:
    """Makes each member of an ensemble give one value everywhere."""
    with th.no_grad():
        for weight in network.net.weights:
            weight.zero_()
        network.net.weights[-1][:, 0, 0] = th.tensor(values)


def test_an_update_by_hand(match: Any) -> None:
    # Target critics 3 and 5, V 1, so x = 2 and L_V = 0.7 * 3 - 0.3 * 2. Critics 0 and 40 on 2 + 0.5 * 1 = 2.5: Huber
    # gives 2.5^2 / 2 below 20, and 20 * (37.5 - 10) above.
    agent = FDVL("MlpPolicy", match.env(), **SMALL | {"learning_rate": 0.0})
    constant(agent.critic_target, 3.0, 5.0)
    constant(agent.critic, 0.0, 40.0)
    constant(agent.policy.value, 1.0)
    one = th.ones(1, 1)
    found = agent.update(Batch(one, 0.5 * one, th.tensor([2.0]), one, th.tensor([0.5])))
    assert found["value_loss"].item() == pytest.approx(1.5)
    assert found["critic_loss"].item() == pytest.approx(3.125 + 550)


@each_divergence
def test_finds_the_best_actions_of_the_data(divergence: str, match: Any) -> None:
    settings = SMALL | {"temperature": 0.3 if divergence == "kl" else 0.7}
    agent = FDVL("MlpPolicy", match.env(), divergence=divergence, beta=10.0, **settings)
    assert match.error(agent.learn_offline(match.data(), 400)) < 0.04
    assert match.error(BC("MlpPolicy", match.env(), **SMALL).learn_offline(match.data(), 200)) > 0.25


def test_goes_on_online(match: Any) -> None:
    agent = FDVL("MlpPolicy", match.env(), beta=10.0, learning_starts=50, **SMALL).learn_offline(match.data(), 100)
    before = match.error(agent)
    assert match.error(agent.learn(300)) < before


def test_learns_with_another_head(match: Any) -> None:
    head = {"critic_head": "hl-gauss", "critic_head_kwargs": {"v_min": -4.0, "v_max": 1.0}}
    agent = FDVL("MlpPolicy", match.env(), beta=10.0, **SMALL | {"policy_kwargs": {"net_arch": [32], **head}})
    assert match.error(agent.learn_offline(match.data(), 400)) < 0.1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"divergence": "chi-squared"}, "did you mean 'chi-square'"),
        ({"temperature": 0.5}, "above 0.5 and at most 1"),
        ({"divergence": "kl", "temperature": 0.0}, "above 0"),
        ({"huber": 0.0}, "huber"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str, match: Any) -> None:
    with pytest.raises(ValueError, match=message):
        FDVL("MlpPolicy", match.env(), **settings)
