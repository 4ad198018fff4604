"""How a critic's outputs stand for a value, and how they learn one: a number's square error, or something better.

A head turns an ensemble's outputs ``[n, B, n_out]`` into values ``[n, B]`` and into losses ``[n, B]`` against targets.
Any agent here takes any head: ``policy_kwargs={"critic_head": "mse"}``.
"""

from typing import Any

import torch as th
from torch import Tensor, nn
from torch.nn import functional as F

from ... import unknown


class Head(nn.Module):
    """Reads values out of a critic's outputs."""

    n_out: int
    """Outputs it needs a value."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def value(self, out: Tensor) -> Tensor:
        """Outputs ``[n, B, n_out]`` as values ``[n, B]``."""
        raise NotImplementedError

    def loss(self, out: Tensor, target: Tensor) -> Tensor:
        """The loss ``[n, B]`` of outputs ``[n, B, n_out]`` against targets ``[B]`` or ``[n, B]``."""
        raise NotImplementedError


class SquaredError(Head):
    """One output, which is the value; half its squared error."""

    n_out = 1

    def value(self, out: Tensor) -> Tensor:
        """The output itself."""
        return out.squeeze(-1)

    def loss(self, out: Tensor, target: Tensor) -> Tensor:
        """``(Q - y)^2 / 2``."""
        return 0.5 * (out.squeeze(-1) - target) ** 2


class Gaussian(Head):
    """Two outputs: a return's mean, which is the value, and its standard deviation through a softplus.

    It also keeps, a critic, the slowly moving E[sigma] and E[sigma^2] that DSAC-T asks for.

    Args:
        n: critics.
    """

    n_out = 2
    mean_std: Tensor  # [n]
    mean_var: Tensor  # [n]

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.register_buffer("mean_std", th.zeros(n))
        self.register_buffer("mean_var", th.zeros(n))

    def value(self, out: Tensor) -> Tensor:
        """The mean."""
        return out[..., 0]

    def deviation(self, out: Tensor) -> Tensor:
        """The standard deviation ``[n, B]``."""
        return F.softplus(out[..., 1])


HEADS: dict[str, type[Head]] = {"mse": SquaredError, "gaussian": Gaussian}


def make_head(name: str, n: int, **settings: Any) -> Head:
    """The head called ``name`` for ``n`` critics.

    Raises:
        ValueError: no such head.
    """
    if name not in HEADS:
        raise ValueError(unknown("critic_head", name, HEADS))
    return HEADS[name](n, **settings)
