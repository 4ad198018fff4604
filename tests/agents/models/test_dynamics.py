import math
from typing import Any

import pytest
import torch as th
from torch.distributions import Normal

from tiltyard.agents.models.dynamics import DynamicsEnsemble, Fitted, Predicted, Steps, _Best, gaussian_nll


def line(n: int = 400, *, noise: float = 0.0) -> Steps:
    """Place moves by half the action and pays itself; a second dimension turns sign; episodes end beyond 0.8."""
    th.manual_seed(7)
    seen, actions = th.rand(n, 2) * 2 - 1, th.rand(n, 1) * 2 - 1
    following = th.cat([seen[:, :1] + 0.5 * actions, -seen[:, 1:]], dim=1) + noise * th.randn(n, 2)
    return Steps(seen, actions, 3 * seen[:, 0] - 1, following, (following[:, 0] > 0.8).float())


def fitted(steps: Steps, *, rate: float = 0.01, **how: Any) -> tuple[DynamicsEnsemble, Fitted]:
    th.manual_seed(0)
    fit = {name: how.pop(name) for name in ("weights", "updates", "patience", "batch_size") if name in how}
    ensemble = DynamicsEnsemble(2, 1, **{"n_members": 3, "n_elites": 2, "net_arch": [16], **how})
    found = ensemble.fit(steps, th.optim.Adam(ensemble.parameters(), rate), **fit)
    return ensemble, found


def test_likelihood_by_hand() -> None:
    # Two outputs of variance 4: (3 - 1)^2 / 4 + log 4 and 0 + log 4, halved, their mean.
    said = Predicted(th.tensor([[[1.0, 0.0]]]), th.full((1, 1, 2), math.log(4)), th.zeros(1, 1))
    found = gaussian_nll(said, th.tensor([[[3.0, 0.0]]]))
    assert found.item() == pytest.approx(0.5 * ((1 + math.log(4)) + math.log(4)) / 2)


def test_a_members_likelihood_is_that_of_its_own_gaussian() -> None:
    th.manual_seed(0)
    ensemble, steps = DynamicsEnsemble(2, 1, n_members=3, net_arch=[8], n_elites=1), line(5)
    ensemble.input_mean.fill_(0.3)
    with th.no_grad():
        ensemble.biases[-1].normal_()
    wanted = th.randn(3, 5, 3)
    said = ensemble(steps.observations, steps.actions)
    assert said.log_var is not None
    for member in range(3):
        alone = ensemble(steps.observations, steps.actions, th.tensor([member]))
        th.testing.assert_close(alone.mean[0], said.mean[member])
        log_prob = Normal(alone.mean[0], (0.5 * alone.log_var[0]).exp()).log_prob(wanted[member])
        nll = -(log_prob + 0.5 * math.log(2 * math.pi)).mean(dim=-1)
        th.testing.assert_close(gaussian_nll(said, wanted)[member], nll)
    x = (th.cat([steps.observations, steps.actions], dim=1) - 0.3) @ ensemble.weights[0][1]
    by_hand = (x * x.sigmoid()) @ ensemble.weights[1][1] + ensemble.biases[1][1]
    th.testing.assert_close(said.mean[1], by_hand[:, :3])
    th.testing.assert_close(said.ended[1], by_hand[:, -1])


def test_log_variances_stay_between_their_bounds() -> None:
    ensemble = DynamicsEnsemble(2, 1, net_arch=[])
    with th.no_grad():
        ensemble.biases[-1][0] += 100
        ensemble.biases[-1][1] -= 100
    log_var = ensemble(th.zeros(1, 2), th.zeros(1, 1)).log_var
    th.testing.assert_close(log_var[0], th.full((1, 3), 0.5), atol=1e-3, rtol=0)
    th.testing.assert_close(log_var[1], th.full((1, 3), -10.0), atol=1e-3, rtol=0)


@pytest.mark.parametrize("probabilistic", [True, False])
def test_it_learns_steps_rewards_and_ends(probabilistic: bool) -> None:
    ensemble, found = fitted(line(), updates=400, patience=None, probabilistic=probabilistic)
    assert found.updates == 400
    assert found.error.max() < 0.05
    seen, actions = th.tensor([[0.0, 0.5], [0.75, -0.5]]), th.tensor([[0.6], [0.9]])
    following, rewards, ended = ensemble.step(seen, actions)
    assert following[0].tolist() == pytest.approx([0.3, -0.5], abs=0.25)
    assert rewards.tolist() == pytest.approx([-1, 1.25], abs=0.5)
    assert ended.tolist() == [False, True]


def test_noise_is_learnt_as_variance() -> None:
    ensemble, _ = fitted(line(2000, noise=0.3), updates=500, patience=None)
    said = ensemble(th.zeros(1, 2), th.zeros(1, 1))
    deviation = (0.5 * said.log_var).exp().mean(dim=0)[0] * ensemble.target_std
    assert deviation[:2].tolist() == pytest.approx([0.3, 0.3], rel=0.3)
    assert deviation[2] < 0.1


def test_weights_are_in_units_of_the_outputs() -> None:
    steps, weights = line(50), th.rand(50, 3)
    ensemble, _ = fitted(steps, updates=20, patience=None, probabilistic=False)
    rows = ensemble._normalise(steps, weights).expand(3, -1, -1)
    said = ensemble(steps.observations, steps.actions)
    raw = said.mean * ensemble.target_std + ensemble.target_mean
    true = th.cat([steps.next_observations - steps.observations, steps.rewards[:, None]], dim=1)
    ends = th.nn.functional.binary_cross_entropy_with_logits(
        said.ended, steps.terminated.expand(3, -1), reduction="none"
    )
    expected = ((weights * (raw - true).square()).sum(dim=-1) + ends).mean(dim=1).sum()
    th.testing.assert_close(ensemble._loss(rows), expected)


def test_what_has_no_weight_is_not_learnt() -> None:
    steps = line()
    ensemble, _ = fitted(
        steps, updates=300, patience=None, probabilistic=False, weights=th.tensor([[1.0, 0.0, 1.0]]).expand(400, -1)
    )
    said = ensemble(steps.observations, steps.actions).mean * ensemble.target_std + ensemble.target_mean
    change = steps.next_observations - steps.observations
    errors = (said[..., :2] - change).square().mean(dim=(0, 1)) / change.var(dim=0)
    assert errors[0] < 0.05
    assert errors[1] > 0.5


@pytest.mark.parametrize("bootstrap", [True, False])
def test_members_learn_from_bootstrap_samples_of_their_own(bootstrap: bool) -> None:
    met: list[set[float]] = [set(), set()]

    class Watched(DynamicsEnsemble):
        def _loss(self, rows: th.Tensor) -> th.Tensor:
            for member, seen in enumerate(met):
                seen.update(rows[member, :, 0].tolist())
            return super()._loss(rows)

    th.manual_seed(0)
    ensemble = Watched(2, 1, n_members=2, n_elites=1, net_arch=[4])
    ensemble.fit(line(50), th.optim.Adam(ensemble.parameters()), updates=10, patience=None, bootstrap=bootstrap)
    if bootstrap:  # of 40 steps a member has 63%, and not those of the other
        assert all(15 < len(seen) < 33 for seen in met)
        assert met[0] != met[1]
    else:
        assert [len(seen) for seen in met] == [40, 40]


def test_each_member_is_kept_at_its_own_best() -> None:
    param = th.nn.Parameter(th.tensor([[1.0], [1.0]]))
    best = _Best([param], th.tensor([1.0, 1.0]))
    for values, errors in (([2.0, 2.0], [0.5, 2.0]), ([3.0, 3.0], [0.499, 0.8]), ([4.0, 4.0], [9.0, 9.0])):
        with th.no_grad():
            param[:, 0] = th.tensor(values)
        best.look(th.tensor(errors))
    assert best.waited == 1
    assert best.restore().tolist() == pytest.approx([0.5, 0.8])
    assert param.tolist() == [[2.0], [3.0]]  # 0.499 is less than a hundredth better than 0.5


def test_the_fit_ends_without_improvement_and_each_member_is_as_at_its_best() -> None:
    steps = line(60)
    ensemble, before = fitted(steps, updates=5000, patience=3)
    assert before.updates < 5000
    th.manual_seed(1)
    wild = ensemble.fit(steps, th.optim.SGD(ensemble.parameters(), 30.0), updates=50, patience=2)
    assert wild.updates == 2  # two passes of one batch each
    assert wild.error.max() < 3 * before.error.max() + 0.1
    assert all(param.isfinite().all() for param in ensemble.parameters())
    assert wild.error[ensemble.elites].max() == wild.error.sort().values[1]


def test_rollouts_stay_inside_what_was_seen_and_end_where_episodes_do() -> None:
    steps = line()
    ensemble, _ = fitted(steps, updates=300, patience=None)
    starts = steps.observations[:50]
    rollout = ensemble.rollout(starts, lambda seen: th.ones(len(seen), 1), 40)
    every = rollout.steps.next_observations
    assert every.shape == (40, 50, 2)
    seen = steps.next_observations
    assert (every >= seen.amin(dim=0) - 1e-6).all()
    assert (every <= seen.amax(dim=0) + 1e-6).all()
    assert rollout.steps.rewards.amax() <= steps.rewards.amax() + 1e-6
    assert rollout.alive[0].all()
    assert not rollout.alive[-1].any()  # a push to the right ends all of them
    flat = rollout.flat()
    assert len(flat.rewards) == rollout.alive.sum() < 40 * 50 / 4
    assert flat.terminated.sum() == 50
    th.testing.assert_close(rollout.steps.observations[1:], every[:-1])


def test_elites_speak_in_turn_and_others_not_at_all() -> None:
    ensemble = DynamicsEnsemble(1, 1, n_members=3, n_elites=2, net_arch=[], probabilistic=False)
    with th.no_grad():
        for member, bias in enumerate(ensemble.biases[-1]):
            ensemble.weights[-1][member] = 0
            bias[:] = th.tensor([10.0 ** (member + 1), member, -1])
    ensemble.elites.copy_(th.tensor([2, 0]))
    following, rewards, ended = ensemble.step(th.arange(7.0)[:, None], th.zeros(7, 1))
    said = (following[:, 0] - th.arange(7.0)).tolist()
    assert sorted(set(said)) == [10, 1000]
    assert said.count(10) in (3, 4)
    assert [{10: 0, 1000: 2}[one] for one in said] == rewards.tolist()
    assert not ended.any()


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="n_elites must be between 1 and the 3 members, got 4"):
        DynamicsEnsemble(2, 1, n_members=3, n_elites=4)
    with pytest.raises(ValueError, match="weights are of squared errors"):
        fitted(line(20), weights=th.ones(20, 3))
    with pytest.raises(ValueError, match="needs at least 2 steps to learn from, got 1"):
        fitted(line(1))
