"""Loss, bonuses, planning and alignment by hand; the loss finds density ratios; bonuses fall with visits."""

import math

import numpy as np
import pytest
import torch as th

from tiltyard.agents.control.contrastive_features import (
    Support,
    contrastive_loss,
    count_bonus,
    elliptical_bonus,
    inverse_covariance,
    log_ratios,
    planned,
    subspace_alignment,
)


def test_log_ratios_by_hand() -> None:
    # phi (1/4, 3/4), psi (2, 4) and (1, 0): 1/2 + 3 = 3.5, and 1/4.
    log_phi, log_psi = th.tensor([[0.25, 0.75]]).log(), th.tensor([[2.0, 4.0], [1.0, 1e-12]]).log()
    np.testing.assert_allclose(log_ratios(log_phi, log_psi).exp(), [[3.5, 0.25]], rtol=1e-5)
    assert log_ratios(log_phi, th.tensor([[200.0, 0.0]])).isfinite().all()


def test_the_loss_of_two_pairs_by_hand() -> None:
    # f of own next states 3 and 1: (ln 4/3 + ln 2) / 2; of the others' 1/2 and 2: (ln 3/2 + ln 3) / 2; half of the sum.
    f = th.tensor([[3.0, 0.5], [2.0, 1.0]])
    expected = 0.25 * (math.log(4 / 3) + math.log(2) + math.log(1.5) + math.log(3))
    assert contrastive_loss(f.log()).item() == pytest.approx(expected, rel=1e-5)


def test_the_loss_refuses_what_has_no_negatives() -> None:
    with pytest.raises(ValueError, match=r"at least two pairs, got \[1, 1\]"):
        contrastive_loss(th.zeros(1, 1))
    with pytest.raises(ValueError, match=r"must be \[B, B\] with at least two pairs, got \[3, 2\]"):
        contrastive_loss(th.zeros(3, 2))


def test_the_loss_is_least_at_the_density_ratio() -> None:
    # Two pairs, drawn evenly; the first leads to state 0 in 3 of 4 cases, the second in 1 of 4: P^- is even, f is
    # 1.5 or 0.5. Of the batch's 8 transitions the negatives are all 7 others, so f is a little off: 6/8 : 3.5/7...
    transitions = [(0, 0)] * 3 + [(0, 1)] + [(1, 0)] + [(1, 1)] * 3
    pair, after = (th.tensor([one[i] for one in transitions * 8]) for i in (0, 1))
    table = th.zeros(2, 2, requires_grad=True)
    optimizer = th.optim.Adam([table], lr=0.05)
    for _ in range(300):
        optimizer.zero_grad()
        contrastive_loss(table[pair][:, after]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    np.testing.assert_allclose(table.detach().exp(), [[1.5, 0.5], [0.5, 1.5]], atol=0.05)


def test_the_elliptical_bonus_by_hand() -> None:
    # Sigma = I + (1, 1)(1, 1)^T = [[2, 1], [1, 2]], its inverse [[2, -1], [-1, 2]] / 3.
    inverse = inverse_covariance(th.ones(1, 2), 1.0)
    np.testing.assert_allclose(inverse, [[2 / 3, -1 / 3], [-1 / 3, 2 / 3]])
    found = elliptical_bonus(th.tensor([[1.0, 1.0], [1.0, 0.0], [1.0, -1.0]]), inverse, 0.5, 0.6)
    np.testing.assert_allclose(found, [0.5 * math.sqrt(2 / 3), 0.5 * math.sqrt(2 / 3), 0.6], rtol=1e-6)


def test_the_bonus_of_a_repeated_pair_falls_as_one_over_the_root_of_its_visits() -> None:
    phi = th.tensor([[0.6, 0.3, 0.1]])
    visits = np.array([16, 64, 256, 1024])
    bonus = [float(elliptical_bonus(phi, inverse_covariance(phi.repeat(n, 1), 1e-3), 1.0, 10.0)) for n in visits]
    slope = np.polyfit(np.log(visits), np.log(bonus), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.01)
    other = elliptical_bonus(th.tensor([[0.0, 0.0, 1.0]]), inverse_covariance(phi.repeat(1024, 1), 1e-3), 1.0, 100.0)
    assert other > 100 * bonus[-1]  # what was not visited is still worth a visit


def test_one_hot_features_have_the_bonus_of_counts() -> None:
    visited = th.eye(3)[th.tensor([0, 0, 0, 1])]
    by_features = elliptical_bonus(th.eye(3), inverse_covariance(visited, 1.0), 2.0, 1.8)
    by_counts = count_bonus(th.tensor([3.0, 1.0, 0.0]), 1.0, 2.0, 1.8)
    np.testing.assert_allclose(by_features, by_counts, rtol=1e-6)
    np.testing.assert_allclose(by_counts, [1.0, math.sqrt(2), 1.8], rtol=1e-6)


def test_a_plan_of_two_backups_by_hand() -> None:
    # Outcome 0 leads to the support's states with chances 3/4 and 1/4, outcome 1 to the second alone, which ends.
    # At the first state action 0 has outcome 0 and action 1 outcome 1, which pays 2: V = 2 without the bonus. Then
    # w = (3/4 * 2, 0), and with gamma 1/2 action 0 is worth 0.75: V stays 2. A bonus of 2 for action 0 makes the first
    # V 2 (both are worth 2), w = (1.5, 0), and the second V = max(0.5 * 1.5 + 2, 2) = 2.75: w = (2.0625, 0).
    support = Support(
        log_psi=th.tensor([[3.0, 1e-12], [1.0, 1.0]]).log(),
        phi=th.eye(2).expand(2, 2, 2),
        going_on=th.tensor([1.0, 0.0]),
        bonus=th.tensor([[2.0, 0.0], [9.0, 9.0]]),
    )
    reward = th.tensor([0.0, 2.0])
    np.testing.assert_allclose(planned(support, reward, 0.5, 2, bonus=False), [1.5, 0.0], atol=1e-5)
    np.testing.assert_allclose(planned(support, reward, 0.5, 2, bonus=True), [2.0625, 0.0], atol=1e-5)


def test_alignment_by_hand() -> None:
    angle = 0.3
    true = th.tensor([[1.0], [0.0], [0.0]])
    learnt = th.tensor([[math.cos(angle)], [math.sin(angle)], [0.0]])
    assert subspace_alignment(learnt, true) == pytest.approx(math.cos(angle) ** 2)
    assert subspace_alignment(true @ th.tensor([[3.0, -2.0]]), true) == pytest.approx(1.0)
    both = th.eye(3)[:, :2]
    assert subspace_alignment(both @ th.tensor([[1.0, 2.0], [0.5, -1.0]]), both) == pytest.approx(1.0)
    assert subspace_alignment(th.eye(3)[:, 1:], both) == pytest.approx(0.5)


def test_only_the_leading_directions_count_in_alignment() -> None:
    true = th.tensor([[1.0], [0.0], [0.0]])
    learnt = th.tensor([[0.1, 0.0], [0.0, 5.0], [0.0, 0.0]])  # the true direction is there, and weak
    assert subspace_alignment(learnt, true) == pytest.approx(0.0)
    assert subspace_alignment(learnt, true, rank=2) == pytest.approx(1.0)


def test_alignment_is_of_the_same_pairs() -> None:
    with pytest.raises(ValueError, match="same pairs, got 3 and 2"):
        subspace_alignment(th.eye(3), th.eye(2))
