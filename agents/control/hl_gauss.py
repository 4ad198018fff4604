"""HL-Gauss: critics as classifiers, trained by cross-entropy on histograms of Gaussian-smoothed targets.

Paper: Stop Regressing: Training Value Functions via Classification for Scalable Deep RL (2024), section 3.1.
"""

import math

import torch as th
from torch import Tensor

from .heads import Categorical


class HLGauss(Categorical):
    r"""Categorical; a target becomes a Gaussian around it, each bin the part of it that falls there.

    .. math::
        p_i(y) \propto \Phi((b_{i+1} - y) / \sigma) - \Phi((b_i - y) / \sigma)

    with the bins' edges b, normalised over all bins (the paper's section 3.1). Neighbours learn with every bin.

    Departure: some of the bins, four sigmas' worth, lie beyond each end of the range, so that a target near the end
    keeps its mean, which the cut-off Gaussian would pull inwards.

    Args:
        n: critics.
        v_min: least return.
        v_max: largest return.
        n_bins: outputs.
        sigma: of the Gaussian, in widths of a bin.

    Raises:
        ValueError: as :class:`Categorical`, or sigma below 0.3, which is narrower than bins can show.
    """

    def __init__(
        self,
        n: int,
        *,
        v_min: float | None = None,
        v_max: float | None = None,
        n_bins: int = 101,
        sigma: float = 0.75,
    ) -> None:
        if not 0.3 <= sigma < math.inf:
            raise ValueError(f"sigma, in widths of a bin, must be at least 0.3, got {sigma}")
        self.margin = math.ceil(4 * sigma)
        super().__init__(n, v_min=v_min, v_max=v_max, n_bins=n_bins)
        self.sigma = sigma

    def spread(self, away: Tensor) -> Tensor:
        """See the class."""
        scale = 1 / (self.sigma * math.sqrt(2))
        share = th.erf((away + 0.5) * scale) - th.erf((away - 0.5) * scale)
        return share / share.sum(-1, keepdim=True)
