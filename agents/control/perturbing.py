"""Perturbing networks that have lost their plasticity: towards fresh weights, or towards those of the best episodes.

Paper: Huang et al., MENTOR: Mixture-of-Experts Network with Task-Oriented Perturbation for Visual Reinforcement
Learning (2024), section "Task-oriented perturbation", and github.com/suninghuang19/mentor, ``utils.py``.
"""

from collections.abc import Callable, Sequence

import torch as th
from torch import Tensor, nn

from .updates import Mlp


def linear_parameters(module: nn.Module) -> dict[str, Tensor]:
    """Weights and biases of all linear layers in a module, by name; what normalises layers is left out."""
    found: dict[str, Tensor] = {}
    for name, part in module.named_modules():
        if isinstance(part, Mlp):
            step = 4 if part.plan.layer_norm else 2
            found |= {f"{name}.{i}": param for i, param in enumerate(part.params) if i % step < 2}
        elif isinstance(part, nn.Linear):
            found |= {f"{name}.{key}": param for key, param in part.named_parameters()}
    return found


@th.no_grad()
def perturb(params: Sequence[Tensor], towards: Sequence[Tensor], kept: float) -> None:
    r""":math:`\theta \leftarrow \alpha \theta + (1 - \alpha) \phi`, in place.

    Args:
        params: theta.
        towards: phi, of the same shapes.
        kept: alpha, from 0 to 1.
    """
    th._foreach_lerp_(list(params), list(towards), 1 - kept)


def forget(optimizer: th.optim.Optimizer) -> None:
    """Drops what an optimiser remembers of past gradients."""
    optimizer.load_state_dict({**optimizer.state_dict(), "state": {}})


class BestEpisodes:
    """The parameters that an agent had at the ends of the episodes that earned most.

    Args:
        size: how many episodes; a better one takes the place of the worst of them.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.totals: list[float] = []
        self._params: list[list[Tensor]] = []

    def __len__(self) -> int:
        return len(self.totals)

    def offer(self, total: float, params: Callable[[], Sequence[Tensor]]) -> None:
        """Takes an episode's return and, if it is among the best, a copy of what ``params`` gives."""
        place = len(self)
        if place == self.size:
            place = self.totals.index(min(self.totals))
            if total <= self.totals[place]:
                return
            del self.totals[place], self._params[place]
        self.totals.insert(place, total)
        self._params.insert(place, [param.detach().clone() for param in params()])

    def sample(self) -> list[Tensor]:
        """Parameters drawn one by one from Gaussians of the episodes' mean and deviation (0 where there is but one).

        Raises:
            ValueError: there is no episode yet.
        """
        if not self._params:
            raise ValueError("no episode has ended yet whose parameters could be drawn")
        drawn = []
        for of_all in zip(*self._params, strict=True):
            stacked = th.stack(of_all)
            spread = stacked.std(dim=0) if len(stacked) > 1 else th.zeros_like(stacked[0])
            drawn.append(stacked.mean(dim=0) + spread * th.randn_like(spread))
        return drawn
