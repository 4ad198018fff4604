"""RAT: the bounds of what it perturbs, what it learns from preferences, and how states are weighted."""

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box
from torch import nn

from tiltyard.agents import make
from tiltyard.agents.control.rat_parts import SegmentRewards, Segments, influence, matching_error, perceptron
from tiltyard.wrappers.perturbations.observation_noise import ObservationNoise

SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [16]}, "seed": 0, "device": "cpu", "batch_size": 32}


class Slide(gymnasium.Env[Any, Any]):
    """Two numbers are observed, and the teacher wants actions near 1; the task's own reward wants them near -1."""

    observation_space, action_space = Box(-1, 1, (2,), np.float32), Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.count = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        score = float(action[0])
        return self._seen(), -score, False, self.count == 10, {"target_score": score}

    def _seen(self) -> Any:
        return self.np_random.uniform(-1, 1, 2).astype(np.float32)


def agent(**settings: Any) -> Any:
    return make("rat", Slide(), **{**SMALL, **settings})


def attacker(**settings: Any) -> Any:
    return agent(**settings).against(make("sac", Slide(), **SMALL))


def linear_victim(rat: Any) -> None:
    """Makes the victim act by tanh of the sum of what it sees."""
    with th.no_grad():
        for param in rat.victim.parameters():
            param.zero_()
        first, _, last, _ = list(rat.victim.net.parameters())
        first[..., 0], first[..., 1] = 1, -1  # relu(x) - relu(-x) = x
        last[..., 0, 0], last[..., 1, 0] = 1, -1


def test_the_matching_error_by_hand() -> None:
    assert matching_error(th.tensor([[1.0, 0.0]]), th.tensor([[-1.0, 3.0]])).tolist() == [6.5]


def test_segments_are_preferred_by_their_sum_by_hand() -> None:
    rewards = SegmentRewards(1, 1, 4)
    rewards.members[0] = nn.Linear(1, 1)
    with th.no_grad():
        rewards.members[0].weight.fill_(1)
        rewards.members[0].bias.fill_(0)
    worse, better = th.tensor([[[1.0], [0.0]]]), th.tensor([[[1.0], [2.0]]])
    assert float(rewards.loss(worse, better).detach()) == pytest.approx(math.log(1 + math.exp(1 - 3)))


def test_segments_stay_within_episodes_and_the_better_has_the_larger_score() -> None:
    segments = Segments(2, 100)
    for score, done in [(1, False), (2, False), (9, True), (5, False), (6, True)]:  # 9 is an episode's short rest
        segments.add(0, np.array([score], np.float32), score, done)
    assert [total for _, total in segments.found] == [3, 11]
    th.manual_seed(0)
    worse, better = segments.pairs(4, lambda one, other: th.zeros(len(one)))
    assert len(worse) == 4
    assert worse[:, :, 0].tolist() == [[1, 2]] * 4
    assert better[:, :, 0].tolist() == [[5, 6]] * 4


def test_segments_that_are_kept_are_the_last() -> None:
    segments = Segments(1, 2)
    for score in range(5):
        segments.add(0, np.array([score], np.float32), score, False)
    assert [total for _, total in segments.found] == [3, 4]


def test_the_influence_of_a_state_is_the_inner_product_of_gradients() -> None:
    th.manual_seed(0)
    adversary, seen, slopes = perceptron(2, 2, 4), th.randn(3, 2), th.randn(3, 2)
    direction = {name: th.randn_like(param) for name, param in adversary.named_parameters()}
    found = influence(adversary, seen, slopes, direction)
    for i in range(3):
        each = th.autograd.grad((adversary(seen[i]) * slopes[i]).sum(), list(adversary.parameters()))
        by_hand = sum(float((one * way).sum()) for one, way in zip(each, direction.values(), strict=True))
        assert float(found[i]) == pytest.approx(by_hand, abs=1e-5)
    assert not found.requires_grad


@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.1])
def test_no_number_moves_by_more_than_epsilon(epsilon: float) -> None:
    rat = attacker(epsilon=epsilon)
    with th.no_grad():
        rat.adversary[-2].weight.mul_(1000)  # as large as the network can wish
    seen = np.random.default_rng(0).uniform(-1, 1, (200, 2)).astype(np.float32)
    moved = np.abs(rat.perturbation(seen))
    assert moved.max() <= np.float32(epsilon)
    assert moved.max() >= 0.99 * epsilon
    env = ObservationNoise(Slide(), epsilon, kind="worst", adversary=rat.perturbation)
    shown, true = env.reset(seed=3)[0], Slide().reset(seed=3)[0]
    assert np.abs(shown - true).max() <= epsilon + 1e-6
    assert shown == pytest.approx(np.clip(true + rat.perturbation(true), -1, 1), abs=1e-6)


def test_it_predicts_what_the_victim_does_at_what_it_is_shown() -> None:
    rat = attacker(epsilon=0.5)
    linear_victim(rat)
    seen = np.array([0.3, -0.1], np.float32)
    assert rat.predict(seen)[0] == pytest.approx(np.tanh([(seen + rat.perturbation(seen)).sum()]), abs=1e-6)


def test_the_adversary_makes_the_victim_act_as_the_intention_policy() -> None:
    rat = attacker(epsilon=0.5, adversary_learning_rate=1e-2)
    linear_victim(rat)
    before = [param.clone() for net in (rat.victim, rat.actor) for param in net.parameters()]
    seen = th.rand(64, 2) * 0.2
    errors = [float(rat._improve_adversary(seen)) for _ in range(60)]
    assert errors[-1] < errors[0] / 2 + 1e-3
    after = [param for net in (rat.victim, rat.actor) for param in net.parameters()]
    assert all(th.equal(one, other) for one, other in zip(before, after, strict=True))


def test_weights_follow_the_derivative_of_the_attacks_value_after_a_step() -> None:
    """By finite differences: what the outer loss is after a step of the adversary with one weight a little larger."""
    rat = attacker(epsilon=0.5)
    linear_victim(rat)
    seen, rate = th.rand(4, 2), 1e-2

    def outer() -> th.Tensor:
        return -rat.critic.minimum(seen, rat._acts(rat.victim, rat.shown(seen))).mean()

    params = list(rat.adversary.parameters())
    slopes = th.autograd.grad(outer(), params)
    wanted = rat._acts(rat.actor, seen).detach()
    for i in range(4):
        error = matching_error(rat._acts(rat.victim, rat.shown(seen)), wanted)[i] / 4
        step = th.autograd.grad(error, params)
        by_hand = -rate * sum(float((one * other).sum()) for one, other in zip(slopes, step, strict=True))
        with th.no_grad():
            values = []
            for sign in (1, -1):
                for param, move in zip(params, step, strict=True):
                    param.sub_(sign * rate * move)
                values.append(float(outer()))
                for param, move in zip(params, step, strict=True):
                    param.add_(sign * rate * move)
        assert (values[0] - values[1]) / 2 == pytest.approx(by_hand, rel=0.1, abs=1e-6)
    before = rat.weights_of(seen).detach()
    moves = rat.adversary(seen).detach().requires_grad_()
    errors = matching_error(rat._acts(rat.victim, seen + 0.5 * moves), wanted)
    named = dict(rat.adversary.named_parameters())
    useful = influence(
        rat.adversary, seen, th.autograd.grad(errors.sum(), moves)[0], dict(zip(named, slopes, strict=True))
    )
    rat._improve_weights(seen)
    assert float((useful * (rat.weights_of(seen).detach() - before)).sum()) > 0


def test_without_weighting_all_states_weigh_the_same() -> None:
    assert agent(weighting=False).weights_of(th.zeros(3, 2)).tolist() == [1, 1, 1]
    found = agent().weights_of(th.randn(50, 2) * 100)
    assert (found >= 0).all()
    assert (found <= 2).all()


@pytest.mark.slow
def test_it_learns_what_the_teacher_wants_and_moves_the_victim() -> None:
    rat = agent(
        epsilon=0.5,
        learning_rate=3e-3,
        adversary_learning_rate=3e-3,
        segment_length=5,
        preference_interval=150,
        preferences_per_session=32,
        reward_updates=40,
        reward_learning_rate=3e-3,
        inner_interval=10,
        outer_interval=50,
        switch_steps=10,
        gamma=0.5,
    )
    victim = make("sac", Slide(), **SMALL)
    linear_victim(rat)
    victim.actor.load_state_dict(rat.victim.state_dict())
    rat.against(victim).learn(500)
    seen = np.random.default_rng(1).uniform(-0.5, 0.5, (200, 2)).astype(np.float32)
    assert int(rat.progress[1]) > 32
    steps = th.tensor([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    low, high = rat.reward_model(steps).tolist()
    assert high > low + 0.1
    untouched = rat.victim.predict(seen, deterministic=True)[0].mean()
    assert rat.predict(seen)[0].mean() > untouched + 0.2


def test_a_checkpoint_holds_the_whole_attack(tmp_path: Any) -> None:
    rat = attacker()
    rat.save(tmp_path / "rat")
    again = type(rat).load(tmp_path / "rat", device="cpu")
    seen = np.ones(2, np.float32) / 3
    assert again.predict(seen)[0] == pytest.approx(rat.predict(seen)[0])
    assert again.perturbation(seen) == pytest.approx(rat.perturbation(seen))
    assert int(again.progress[0]) == 1


def test_victims_that_do_not_fit_are_refused() -> None:
    with pytest.raises(TypeError, match="TD3 has not"):
        agent().against(make("td3", Slide(), seed=0, device="cpu"))
    with pytest.raises(ValueError, match="same policy_kwargs"):
        agent().against(make("sac", Slide(), policy_kwargs={"net_arch": [8]}, device="cpu"))
