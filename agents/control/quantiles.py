"""Critics that learn quantiles of the return by the quantile Huber loss.

Papers: Dabney et al., Distributional Reinforcement Learning with Quantile Regression (2018), eq. 9 and 10; Kuznetsov et
al., Controlling Overestimation Bias with Truncated Mixture of Continuous Distributional Quantile Critics (2020), eq. 5.
"""

from typing import NamedTuple

import torch as th
from torch import Tensor

from .heads import Head


class Fit(NamedTuple):
    """How well quantiles fit atoms."""

    loss: Tensor  # [n, B]
    slope: Tensor  # [n, B, n_out], the gradient of each loss by its own outputs


class Quantiles(Head):
    r"""``n_quantiles`` outputs, the quantiles of the return at the levels :math:`\tau_m = (m - 1/2) / M`.

    Their mean is the value. Against K equally likely atoms y the loss is

    .. math::
        \frac{1}{M K} \sum_{m, k} |\tau_m - 1\{y_k < \theta_m\}| L(y_k - \theta_m)

    with Huber's loss L of threshold 1. The sum over pairs is not written out: where atoms are sorted, each of the four
    parts of L holds for a range of them, whose sums are differences of cumulative ones (in float64, as large numbers
    cancel there). So a loss takes time in M log K, not in M K.

    Args:
        n: critics.
        n_quantiles: M.

    Raises:
        ValueError: no quantile.
    """

    levels: Tensor  # [n_quantiles]

    def __init__(self, n: int, *, n_quantiles: int = 25) -> None:
        super().__init__(n)
        if n_quantiles < 1:
            raise ValueError(f"n_quantiles must be at least 1, got {n_quantiles}")
        self.n_out = n_quantiles
        self.register_buffer("levels", (th.arange(n_quantiles) + 0.5) / n_quantiles, persistent=False)

    def value(self, out: Tensor) -> Tensor:
        """The mean of the quantiles."""
        return out.mean(-1)

    def loss(self, out: Tensor, target: Tensor) -> Tensor:
        """See the class; a target is one atom."""
        return self.fit(out, target.expand(out.shape[:-1]).unsqueeze(-1)).loss

    def value_slope(self, out: Tensor) -> Tensor:
        """``1 / M``."""
        return th.full_like(out, 1 / self.n_out)

    def loss_slope(self, out: Tensor, target: Tensor) -> Tensor:
        """See the class."""
        return self.fit(out, target.expand(out.shape[:-1]).unsqueeze(-1)).slope

    def fit_all(self, out: Tensor, atoms: Tensor) -> Fit:
        """All critics' outputs ``[n, B, n_quantiles]`` against the same atoms ``[B, K]``, in ascending order."""
        side_by_side = out.transpose(0, 1).flatten(1)
        loss, slope = self._fit(side_by_side, atoms, self.levels.repeat(len(out)))
        shape = (len(atoms), len(out), self.n_out)
        return Fit(loss.reshape(shape).mean(-1).T, slope.reshape(shape).transpose(0, 1) / self.n_out)

    def fit(self, out: Tensor, atoms: Tensor) -> Fit:
        """Outputs ``[n, B, n_quantiles]`` against atoms ``[n, B, K]``, in ascending order."""
        loss, slope = self._fit(out, atoms, self.levels)
        return Fit(loss.mean(-1), slope / self.n_out)

    @staticmethod
    def _fit(out: Tensor, atoms: Tensor, levels: Tensor) -> tuple[Tensor, Tensor]:
        """The mean loss against atoms ``[..., K]`` of each output ``[..., M]``, and its gradient."""
        x, y = out.double(), atoms.detach().double().contiguous()
        zero = th.zeros_like(y[..., :1])
        sums, squares = (th.cat([zero, part.cumsum(-1)], -1) for part in (y, y * y))
        points = x.detach().contiguous()
        ends = [th.searchsorted(y, points + joint) for joint in (-1, 0, 1)]
        s1, s2, s3 = (sums.gather(-1, end) for end in ends)
        q1, q2, q3 = (squares.gather(-1, end) for end in ends)
        n1, n2, n3 = (end.to(x.dtype) for end in ends)
        above = y.shape[-1] - n3
        # Atoms from far below to far above: of the first two ranges outputs are too large, of the last two too small.
        over = n1 + (n2 - n1) * x - (s2 - s1)
        under = (n3 - n2) * x - (s3 - s2) - above
        loss_over = n1 * (x - 0.5) - s1 + ((q2 - q1) + x * ((n2 - n1) * x - 2 * (s2 - s1))) / 2
        loss_under = sums[..., -1:] - s3 - above * (x + 0.5) + ((q3 - q2) + x * ((n3 - n2) * x - 2 * (s3 - s2))) / 2
        scale = 1 / y.shape[-1]
        loss = scale * ((1 - levels) * loss_over + levels * loss_under)
        slope = scale * ((1 - levels) * over + levels * under)
        return loss.to(out.dtype), slope.detach().to(out.dtype)
