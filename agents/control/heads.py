"""How a critic's outputs stand for a value, and how they learn one: a number's square error, or a distribution's loss.

A head turns an ensemble's outputs ``[n, B, n_out]`` into values ``[n, B]`` and into losses ``[n, B]`` against targets.
Any agent here takes any head: ``policy_kwargs={"critic_head": "mse"}``, and the categorical ones with the range that
returns can have, ``policy_kwargs={"critic_head": "hl-gauss", "critic_head_kwargs": {"v_min": -10.0, "v_max": 300.0}}``.

"c51" learns in most agents from one number a target, where its projection is that of "two-hot"; agents that hand it the
distribution of the next state's return, moved and scaled, are those of :mod:`.parallel`.
"""

import math
from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any

import torch as th
from torch import Tensor, nn
from torch.nn import functional as F

from ... import unknown


class Head(nn.Module, ABC):
    """Reads values out of a critic's outputs."""

    n_out: int
    """Outputs it needs a value."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    @abstractmethod
    def value(self, out: Tensor) -> Tensor:
        """Outputs ``[n, B, n_out]`` as values ``[n, B]``."""

    @abstractmethod
    def loss(self, out: Tensor, target: Tensor) -> Tensor:
        """The loss ``[n, B]`` of outputs ``[n, B, n_out]`` against targets ``[B]`` or ``[n, B]``."""

    @abstractmethod
    def value_slope(self, out: Tensor) -> Tensor:
        """The gradient of each value by its own outputs, ``[n, B, n_out]``."""

    @abstractmethod
    def loss_slope(self, out: Tensor, target: Tensor) -> Tensor:
        """The gradient of each loss by its own outputs, ``[n, B, n_out]``."""


class SquaredError(Head):
    """One output, which is the value; half its squared error."""

    n_out = 1

    def value(self, out: Tensor) -> Tensor:
        """The output itself."""
        return out.squeeze(-1)

    def loss(self, out: Tensor, target: Tensor) -> Tensor:
        """``(Q - y)^2 / 2``."""
        return 0.5 * (out.squeeze(-1) - target) ** 2

    def value_slope(self, out: Tensor) -> Tensor:
        """1."""
        return th.ones_like(out)

    def loss_slope(self, out: Tensor, target: Tensor) -> Tensor:
        """``Q - y``."""
        return out - target.unsqueeze(-1)


class Gaussian(Head):
    """Two outputs: a return's mean, which is the value, and its standard deviation through a softplus.

    It also keeps, a critic, the slowly moving E[sigma] that DSAC-T asks for.

    Args:
        n: critics.
    """

    n_out = 2
    mean_std: Tensor  # [n]

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.register_buffer("mean_std", th.zeros(n))

    def value(self, out: Tensor) -> Tensor:
        """The mean."""
        return out[..., 0]

    def loss(self, out: Tensor, target: Tensor) -> Tensor:
        """The negative log-likelihood, but for its constant: ``((Q - y) / sigma)^2 / 2 + log sigma``."""
        std = self.deviation(out)
        return 0.5 * ((self.value(out) - target) / std) ** 2 + std.log()

    def value_slope(self, out: Tensor) -> Tensor:
        """1 of the mean, 0 of the other output."""
        return self.by_outputs(out, th.ones_like(out[..., 0]), th.zeros_like(out[..., 0]))

    def loss_slope(self, out: Tensor, target: Tensor) -> Tensor:
        """``(Q - y) / sigma^2`` by the mean, ``(1 - ((Q - y) / sigma)^2) / sigma`` by the deviation."""
        std = self.deviation(out)
        unit = (self.value(out) - target) / std
        return self.by_outputs(out, unit / std, (1 - unit * unit) / std)

    def deviation(self, out: Tensor) -> Tensor:
        """The standard deviation ``[n, B]``."""
        return F.softplus(out[..., 1])

    def by_outputs(self, out: Tensor, by_mean: Tensor, by_deviation: Tensor) -> Tensor:
        """Gradients by mean and deviation, each ``[n, B]``, as one by the outputs ``[n, B, 2]``."""
        return th.stack([by_mean, by_deviation * out[..., 1].sigmoid()], dim=-1)


class Categorical(Head):
    r"""A distribution over evenly spaced values, as logits; its mean is the value, cross-entropy the loss.

    A target becomes a distribution by :meth:`encode`, and the loss is :math:`-\sum_i p_i(y) \log q_i`. Targets outside
    ``[v_min, v_max]`` count as its nearer end, so values never leave it by more than a few bins: choose it wide enough
    for all returns, and not much wider, since bins are as coarse as it is wide.

    Departure from the paper: logits are offsets from those of the flattest distribution whose mean is 0 (or the inner
    point of the range nearest to it), so that a new network says 0, as it does with other heads, and not the middle of
    the range, which may be far from any return.

    Args:
        n: critics.
        v_min: least return; None is not allowed but says what is missing.
        v_max: largest return.
        n_bins: outputs.

    Raises:
        ValueError: a missing or empty range, or fewer than two bins inside it.

    Paper: Farebrother et al., Stop Regressing: Training Value Functions via Classification for Scalable Deep RL (2024),
    sections 2.1 and 3.
    """

    margin = 0
    """Bins beyond each end of the range."""
    steps: Tensor  # [n_bins]: each bin's distance from v_min in widths of a bin
    values: Tensor  # [n_bins]: what each bin stands for
    prior: Tensor  # [n_bins]: logits that mean 0

    def __init__(self, n: int, *, v_min: float | None = None, v_max: float | None = None, n_bins: int = 101) -> None:
        super().__init__(n)
        if v_min is None or v_max is None:
            raise ValueError(
                "a categorical critic needs the range of returns: "
                'policy_kwargs={"critic_head_kwargs": {"v_min": ..., "v_max": ...}}'
            )
        if not (math.isfinite(v_min) and math.isfinite(v_max) and v_min < v_max):
            raise ValueError(f"v_min must be below v_max, both finite, got {v_min} and {v_max}")
        inside = n_bins - 2 * self.margin
        if inside < 2:
            raise ValueError(f"n_bins must be at least {2 + 2 * self.margin}, got {n_bins}")
        self.n_out = n_bins
        self.v_min, self.v_max = v_min, v_max
        self.width = (v_max - v_min) / (inside - 1)
        steps = th.arange(n_bins, dtype=th.float64) - self.margin
        values = v_min + self.width * steps
        self.register_buffer("steps", steps.float(), persistent=False)
        self.register_buffer("values", values.float(), persistent=False)
        self.register_buffer("prior", _flattest(values, v_min, v_max).float(), persistent=False)

    def probabilities(self, out: Tensor) -> Tensor:
        """Outputs ``[..., n_bins]`` as probabilities."""
        return (out + self.prior).softmax(-1)

    def value(self, out: Tensor) -> Tensor:
        """The mean of the distribution."""
        return self.probabilities(out) @ self.values

    def loss(self, out: Tensor, target: Tensor) -> Tensor:
        """The cross-entropy of the outputs' distribution to the target's."""
        return self.cross_entropy(out, self.encode(target))

    def cross_entropy(self, out: Tensor, wanted: Tensor) -> Tensor:
        """Of the outputs' distribution to ``wanted`` probabilities ``[..., n_bins]``: the loss ``[n, B]``."""
        return -(wanted * (out + self.prior).log_softmax(-1)).sum(-1)

    def value_slope(self, out: Tensor) -> Tensor:
        """``p_i (v_i - Q)``."""
        share = self.probabilities(out)
        return share * (self.values - (share @ self.values).unsqueeze(-1))

    def loss_slope(self, out: Tensor, target: Tensor) -> Tensor:
        """``q_i - p_i(y)``."""
        return self.cross_entropy_slope(out, self.encode(target))

    def cross_entropy_slope(self, out: Tensor, wanted: Tensor) -> Tensor:
        """The gradient of :meth:`cross_entropy` by the outputs, ``[n, B, n_bins]``."""
        return self.probabilities(out) - wanted

    @th.no_grad()
    def encode(self, target: Tensor) -> Tensor:
        """Targets ``[...]`` as probabilities ``[..., n_bins]`` with the target, cut to the range, as mean."""
        at = (target.clamp(self.v_min, self.v_max).unsqueeze(-1) - self.v_min) / self.width
        return self.spread(self.steps - at)

    @abstractmethod
    def spread(self, away: Tensor) -> Tensor:
        """The probability of bins that lie so many widths above the target, ``[..., n_bins]``."""


def _flattest(values: Tensor, low: float, high: float) -> Tensor:
    """Logits of the distribution of largest entropy with mean 0, or 5% inside the range's end nearest to 0."""
    mean = min(max(0.0, low + 0.05 * (high - low)), high - 0.05 * (high - low))
    unit = (values - values[0]) / (values[-1] - values[0])
    wanted = (mean - float(values[0])) / float(values[-1] - values[0])
    least, most = -1e3, 1e3  # of the slope of such logits, which are linear
    for _ in range(60):
        slope = (least + most) / 2
        too_low = float((slope * unit).softmax(0) @ unit) < wanted
        least, most = (slope, most) if too_low else (least, slope)
    return slope * (unit - wanted)


class TwoHot(Categorical):
    """Categorical; a target lies on the two bins next to it, nearer more (the paper's section 3.1)."""

    def spread(self, away: Tensor) -> Tensor:
        """See the class."""
        return (1 - away.abs()).clamp_min(0)


HEADS = {
    "mse": ".heads:SquaredError",
    "gaussian": ".heads:Gaussian",
    "two-hot": ".heads:TwoHot",
    "c51": ".c51:C51",
    "hl-gauss": ".hl_gauss:HLGauss",
    "quantile": ".quantiles:Quantiles",
}
"""``"module:Class"`` in this package, by the name that users type."""


def make_head(name: str, n: int, **settings: Any) -> Head:
    """The head called ``name`` for ``n`` critics.

    Raises:
        ValueError: no such head.
    """
    if name not in HEADS:
        raise ValueError(unknown("critic_head", name, HEADS))
    module, _, attribute = HEADS[name].partition(":")
    head: Head = getattr(import_module(module, __package__), attribute)(n, **settings)
    return head
