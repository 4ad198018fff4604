"""Slowly moving copies of networks, as agents with replay have them."""

from collections.abc import Iterable

import torch as th
from torch import Tensor, nn

from .updates import polyak


class Targets:
    r"""Pairs of networks, of which the second follows: :math:`\theta' \leftarrow (1-\tau)\theta' + \tau\theta`.

    What networks only measure, the running statistics of batch normalisation, is copied as it is, as in SB3: moved by
    ``tau`` it would be late.

    Args:
        pairs: (network, target); a tensor that several targets share moves once.
    """

    def __init__(self, pairs: Iterable[tuple[nn.Module, nn.Module]]) -> None:
        moved: dict[int, tuple[Tensor, Tensor]] = {}
        self._copied: list[tuple[Tensor, Tensor]] = []
        for network, target in pairs:
            for one, follower in zip(network.parameters(), target.parameters(), strict=True):
                moved.setdefault(id(follower), (one.detach(), follower))
            own = dict(network.named_buffers())
            self._copied += [(own[name], other) for name, other in target.named_buffers() if "running_" in name]
        self._online = [one for one, _ in moved.values()]
        self._followers = [follower for _, follower in moved.values()]

    @th.no_grad()
    def move(self, tau: float) -> None:
        """One step of ``tau``."""
        polyak(self._followers, self._online, tau)

    @th.no_grad()
    def copy_statistics(self) -> None:
        """Gives the targets the running statistics of the networks, where there are any."""
        for measured, follower in self._copied:
            follower.copy_(measured)
