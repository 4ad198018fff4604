"""MENTOR: which experts act, which neurons are dormant, what perturbations do, and what the agent makes of them."""

import math
from typing import Any

import numpy as np
import pytest
import torch as th
from stable_baselines3.common.vec_env import DummyVecEnv

from tiltyard.agents import make
from tiltyard.agents.control.mentor import MENTOR, sigmoid_at
from tiltyard.agents.control.mixture import Mixture, chosen, dormant_ratio, entropy
from tiltyard.agents.control.perturbing import BestEpisodes, forget, linear_parameters, perturb
from tiltyard.benchmarks.testbeds.turned_controls import TurnedControls, arrived

SMALL: dict[str, Any] = {
    "learning_starts": 40,
    "batch_size": 16,
    "train_freq": 1,
    "policy_kwargs": {"net_arch": [16], "mixture": {"n_experts": 4, "top_k": 2, "expert_width": 8, "gate_width": 8}},
    "seed": 0,
    "device": "cpu",
}
DENSE = {"policy_kwargs": {"net_arch": [16], "actor": "deterministic"}}


def agent(**settings: Any) -> Any:
    return make("mentor", TurnedControls(2), **{**SMALL, **settings})


def test_the_two_largest_of_four_share_the_weight_by_hand() -> None:
    found = chosen(th.tensor([[0.1, 0.6, 0.2, 0.1]]), 2)
    assert found.tolist()[0] == pytest.approx([0, 0.75, 0.25, 0])


def test_a_mixture_is_the_weighted_sum_of_chosen_experts() -> None:
    th.manual_seed(0)
    mixture, x = Mixture(3, n_experts=4, top_k=2, expert_width=5, gate_width=50).eval(), th.randn(7, 3)
    mixed, log_shares = mixture(x)
    each = mixture.experts(x)
    for i, shares in enumerate(log_shares.exp()):
        first, second = shares.argsort(descending=True)[:2]
        by_hand = (shares[first] * each[first, i] + shares[second] * each[second, i]) / (shares[first] + shares[second])
        assert mixed[i].tolist() == pytest.approx(by_hand.tolist(), abs=1e-6)


def test_a_certain_gate_has_no_entropy_and_a_finite_gradient() -> None:
    assert float(entropy(th.tensor([[0.5, 0.5]]).log())) == pytest.approx(math.log(2))
    logits = th.tensor([[0.0, -1000.0]], requires_grad=True)
    uncertain = entropy(logits.log_softmax(dim=1))
    uncertain.backward()  # type: ignore[no-untyped-call]
    assert float(uncertain.detach()) == 0
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_more_experts_at_once_than_there_are_is_refused() -> None:
    with pytest.raises(ValueError, match="from 1 to 4, not 5"):
        Mixture(3, n_experts=4, top_k=5)


def test_a_mixture_is_for_its_actor() -> None:
    with pytest.raises(ValueError, match="leave it out"):
        agent(policy_kwargs={**SMALL["policy_kwargs"], "actor": "deterministic"})


@pytest.mark.parametrize("settings", [{}, DENSE], ids=["experts", "dense"])
def test_silent_neurons_are_dormant_by_hand(settings: dict[str, Any]) -> None:
    mine, seen = agent(**settings), th.randn(64, 6)
    whole = sum(
        len(out[0].T if out.dim() == 3 else out.T) * (len(out) if out.dim() == 3 else 1) for out in outputs(mine)
    )
    assert float(dormant_ratio(mine.actor, seen, 0.025)) == 0
    with th.no_grad():
        for param in mine.actor.net.params[:2]:
            param[..., :4] = 0  # the first four of the first layer
    assert float(dormant_ratio(mine.actor, seen, 0.025)) == pytest.approx(4 / whole)


def outputs(mine: Any) -> list[th.Tensor]:
    from tiltyard.agents.control.mixture import ExpertActor, layer_outputs

    seen = th.randn(64, 6)
    return (
        mine.actor.layer_outputs(seen) if isinstance(mine.actor, ExpertActor) else layer_outputs(mine.actor.net, seen)
    )


def test_a_given_deviation_is_that_of_exploration_and_of_updates() -> None:
    mine = agent(action_noise=0.17)
    assert mine.deviation == pytest.approx(0.17)
    assert mine.action_noise._sigma.tolist() == pytest.approx([0.17] * 2)
    two = make("mentor", DummyVecEnv([lambda: TurnedControls(2)] * 2), **SMALL, action_noise=0.17).learn(4)
    assert two.deviation == pytest.approx(0.17)  # also where SB3 has made it noise of several environments


def test_noise_exploitation_and_what_is_kept_follow_the_dormant_ratio_by_hand() -> None:
    mine = agent()
    mine.dormancy.fill_(0.2)  # the target ratio
    assert (mine.deviation, mine.exploitation) == (pytest.approx(0.4), pytest.approx(0.3))
    assert mine.kept == pytest.approx(0.6)
    mine.dormancy.fill_(0.3)
    assert mine.deviation == pytest.approx(0.8 / (1 + math.exp(-1)))
    assert mine.exploitation == pytest.approx(0.6 / (1 + math.exp(5)))
    assert mine.kept == pytest.approx(0.4)
    mine.dormancy.fill_(0.0)
    assert mine.kept == 0.9
    mine.dormancy.fill_(1.0)
    assert mine.kept == 0.2
    assert sigmoid_at(0.0, 1e6, 1.0) < 1e-300  # without an overflow


def test_perturbing_moves_a_share_of_the_way_and_forgetting_drops_moments() -> None:
    theta, phi = th.tensor([1.0, 2.0]), th.tensor([3.0, -2.0])
    perturb([theta], [phi], 0.75)
    assert theta.tolist() == [1.5, 1.0]
    mine = agent().learn(60)
    optimizer = mine.critic.optimizer
    assert any(state["exp_avg"].any() for state in optimizer.state.values())
    forget(optimizer)
    assert not any(len(state) and state["exp_avg"].any() for state in optimizer.state.values())


def test_the_best_episodes_are_kept_and_drawn_from() -> None:
    best = BestEpisodes(2)
    with pytest.raises(ValueError, match="no episode has ended"):
        best.sample()
    best.offer(1.0, lambda: [th.tensor([1.0, 5.0])])
    assert best.sample()[0].tolist() == [1, 5]  # one alone has no spread
    best.offer(3.0, lambda: [th.tensor([3.0, 5.0])])
    best.offer(0.5, lambda: [th.tensor([100.0, 5.0])])  # worse than both
    assert sorted(best.totals) == [1, 3]
    best.offer(2.0, lambda: [th.tensor([2.0, 5.0])])  # takes the place of the first
    assert sorted(best.totals) == [2, 3]
    th.manual_seed(0)
    drawn = th.stack([best.sample()[0] for _ in range(2000)])
    assert drawn.mean(0).tolist() == pytest.approx([2.5, 5], abs=0.05)
    assert drawn.std(0).tolist() == pytest.approx([math.sqrt(0.5), 0], abs=0.05)


@pytest.mark.parametrize("perturbation", ["task-oriented", "random"])
def test_a_perturbation_goes_where_it_is_said_to(perturbation: str) -> None:
    mine = agent(perturbation=perturbation).learn(200)
    mine.dormancy.fill_(0.4)  # a fifth is kept
    weights = linear_parameters(mine.policy)
    where = list(weights).index("actor.net.0")
    before = weights["actor.net.0"].clone()
    means = [th.stack(of_all).mean(0) for of_all in zip(*mine.best._params, strict=True)] if len(mine.best) else []
    mine.perturb()
    moved = (weights["actor.net.0"] - 0.2 * before) / 0.8
    assert bool(means) == (perturbation == "task-oriented")
    if perturbation == "task-oriented":
        spread = th.stack([one[where] for one in mine.best._params]).std(0)
        assert float(((moved - means[where]).abs() < 5 * spread + 1e-5).float().mean()) > 0.99
    else:  # orthogonal, as fresh weights are
        rows = moved[0] / moved[0].norm(dim=1, keepdim=True)
        assert (rows @ rows.T - th.eye(len(rows))).abs().max() < 1e-4


def test_v_and_critics_learn_towards_targets_by_hand() -> None:
    mine = agent(action_noise=0.0, exploit_ratio=1.0).learn(60)
    mine.dormancy.fill_(0.0)
    batch = mine.replayed(16)
    share = mine.exploitation
    assert share == pytest.approx(1 / (1 + math.exp(-10)))
    with th.no_grad():
        for param in mine.critic_target.parameters():
            param.mul_(0.9)  # so that targets tell which critics they come from
        follows = mine.policy.value(batch.next_observations)[0]
        least = mine.critic_target.minimum(batch.next_observations, mine.actor(batch.next_observations))
        y = batch.rewards + batch.discounts * (share * follows + (1 - share) * least)
        loss = 0.5 * sum(((q - y) ** 2).mean() for q in mine.critic(batch.observations, batch.actions))
        gap = mine.critic_target.minimum(batch.observations, batch.actions) - mine.policy.value(batch.observations)[0]
        above = (th.where(gap > 0, 0.9, 0.1) * gap**2).mean()
    value = [param.clone() for param in mine.policy.value.parameters()]
    mine.policy.value.optimizer.param_groups[0]["lr"] = 0.0  # V stays as it was for the targets
    mine.actor.eval()
    found = mine._learn_values(batch)
    assert float(found["value_loss"]) == pytest.approx(float(above), rel=1e-4)
    assert float(found["critic_loss"]) == pytest.approx(float(loss), rel=1e-4)
    assert all((one == other).all() for one, other in zip(value, mine.policy.value.parameters(), strict=True))


def test_the_gate_becomes_certain_where_its_entropy_is_in_the_loss() -> None:
    mine = agent(learning_rate=1e-3, gate_entropy_coef=1.0).learn(60)
    uncertain = [float(mine._improve(mine.replayed(16))["gate_entropy"]) for _ in range(300)]
    assert np.mean(uncertain[-10:]) < 0.9 * np.mean(uncertain[:10])
    free = agent(learning_rate=1e-3, gate_entropy_coef=0.0).learn(60)
    left = [float(free._improve(free.replayed(16))["gate_entropy"]) for _ in range(300)]
    assert np.mean(left[-10:]) > np.mean(uncertain[-10:])


def test_saved_and_loaded_it_acts_and_learns_alike(tmp_path: Any) -> None:
    mine = agent().learn(80)
    mine.save(tmp_path / "mentor")
    again = MENTOR.load(tmp_path / "mentor", env=TurnedControls(2))
    seen = np.random.default_rng(0).normal(size=(5, 6)).astype(np.float32)
    assert (mine.predict(seen, deterministic=True)[0] == again.predict(seen, deterministic=True)[0]).all()
    assert again.deviation == mine.deviation
    again.learn(20, reset_num_timesteps=False)


def test_keeping_at_least_more_than_at_most_is_refused() -> None:
    with pytest.raises(ValueError, match="min_kept is at most max_kept"):
        agent(min_kept=0.95)


@pytest.mark.slow
def test_it_learns_to_steer() -> None:
    kwargs = {"net_arch": [32, 32], "mixture": {"n_experts": 4, "top_k": 2, "expert_width": 32, "gate_width": 32}}
    how = {
        "learning_rate": 1e-3,
        "learning_starts": 200,
        "batch_size": 64,
        "perturb_interval": 0,
        "policy_kwargs": kwargs,
    }
    mine = make("mentor", TurnedControls(1), **{**SMALL, **how})
    before = arrived(mine, 1, 40)
    assert arrived(mine.learn(1500), 1, 40) > before + 0.3
