"""Quantiles of the return: the loss by hand, and against the sum over all pairs."""

import pytest
import torch as th
from sb3_contrib.common.utils import quantile_huber_loss

from tiltyard.agents.control.heads import make_head
from tiltyard.agents.control.quantiles import Quantiles


def test_the_loss_by_hand() -> None:
    # One quantile (level 1/2) at 0 against atoms -3, -0.5, 0.5, 2: Huber's losses 2.5, 0.125, 0.125 and 1.5, each
    # times 1/2: (4.25 / 2) / 4 = 0.53125. The slopes are 1, 0.5, -0.5 and -1: none in sum.
    loss, slope = Quantiles(1, n_quantiles=1).fit(th.zeros(1, 1, 1), th.tensor([[[-3.0, -0.5, 0.5, 2.0]]]))
    assert loss.item() == pytest.approx(0.53125)
    assert slope.item() == pytest.approx(0)


def test_levels_pull_apart() -> None:
    # Levels 1/4 and 3/4 at 0, atoms -4 and 4: of the lower (3/4 - 1/4) / 2 = 1/4, of the upper -1/4; halves, as the
    # loss is the mean over both.
    _, slope = Quantiles(1, n_quantiles=2).fit(th.zeros(1, 1, 2), th.tensor([[[-4.0, 4.0]]]))
    assert slope.flatten().tolist() == pytest.approx([0.125, -0.125])


@pytest.mark.parametrize("scale", [0.1, 1.0, 300.0])
def test_it_is_the_sum_over_all_pairs(scale: float) -> None:
    th.manual_seed(0)
    head = Quantiles(3, n_quantiles=7).double()
    out = (scale * th.randn(3, 11, 7, dtype=th.float64)).requires_grad_()
    atoms = (scale * th.randn(11, 17, dtype=th.float64)).sort(-1).values
    expected = quantile_huber_loss(out.transpose(0, 1), atoms[:, None], sum_over_quantiles=False)
    loss, slope = head.fit_all(out, atoms)
    th.testing.assert_close(loss.mean(), expected, rtol=1e-6, atol=1e-9)  # their levels are of float32
    (wanted,) = th.autograd.grad(expected, out)
    th.testing.assert_close(slope / loss.numel(), wanted, rtol=1e-6, atol=1e-9)
    (found,) = th.autograd.grad(loss.mean(), out)
    th.testing.assert_close(found, slope / loss.numel(), rtol=1e-9, atol=1e-12)
    own, slopes = head.fit(out, atoms.expand(3, 11, 17).contiguous())
    th.testing.assert_close(own, loss)
    th.testing.assert_close(slopes, slope)


def test_large_returns_lose_nothing() -> None:
    """Cumulative sums of squares are of 1e10 here, and the loss is of 1."""
    th.manual_seed(0)
    head, near = Quantiles(2, n_quantiles=25), 1e4 + th.randn(2, 64, 25)
    atoms = (1e4 + th.randn(64, 46)).sort(-1).values
    expected = quantile_huber_loss(near.transpose(0, 1).double(), atoms[:, None].double(), sum_over_quantiles=False)
    assert head.fit_all(near, atoms).loss.mean().item() == pytest.approx(expected.item(), rel=1e-6)


def test_atoms_on_the_joints_of_the_loss() -> None:
    out = th.zeros(1, 1, 3)
    atoms = th.tensor([[-1.0, -1.0, 0.0, 1.0, 1.0]])
    expected = quantile_huber_loss(out.transpose(0, 1), atoms[:, None], sum_over_quantiles=False)
    assert Quantiles(1, n_quantiles=3).fit_all(out, atoms).loss.item() == pytest.approx(expected.item())


def test_no_quantile_is_refused() -> None:
    with pytest.raises(ValueError, match="n_quantiles must be at least 1, got 0"):
        make_head("quantile", 2, n_quantiles=0)
