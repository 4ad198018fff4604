"""Seeded faults of a device: packets that are lost, late, garbage or half written, and a device that is gone."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from .... import unknown

KINDS = ("drop", "delay", "garbage", "half", "gone")


@dataclass
class Faults:
    """What goes wrong with packets that the device sends, each with a probability of its own.

    Attributes:
        drop: the packet is not sent.
        delay: it is sent up to ``delay_s`` seconds later.
        garbage: random bytes are sent in its place.
        half: its first half is sent, then the connection is closed.
        gone: all connections are closed, and none is taken for ``gone_s`` seconds.
        delay_s, gone_s: seconds.
        seed: of the draws.
        counts: how often each has happened.
    """

    drop: float = 0.0
    delay: float = 0.0
    garbage: float = 0.0
    half: float = 0.0
    gone: float = 0.0
    delay_s: float = 0.2
    gone_s: float = 0.5
    seed: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def __post_init__(self) -> None:
        chances = [getattr(self, kind) for kind in KINDS]
        if not all(0.0 <= one <= 1.0 for one in chances) or sum(chances) > 1.0:
            raise ValueError(f"chances of faults are from 0 to 1 and add up to 1 at most, got {chances}")
        self._chances = np.cumsum(chances)
        self._rng = np.random.default_rng(self.seed)

    def draw(self) -> str:
        """What happens to the next packet: one of :data:`KINDS`, or "" for nothing."""
        at = int(np.searchsorted(self._chances, self._rng.random(), side="right"))
        if at == len(KINDS):
            return ""
        self.counts[KINDS[at]] += 1
        return KINDS[at]

    def noise(self, length: int) -> bytes:
        """Random bytes."""
        return self._rng.bytes(min(max(length, 24), 4096))

    def lateness(self) -> float:
        """Seconds by which a packet is late."""
        return float(self._rng.random()) * self.delay_s


def made(keywords: Mapping[str, Any]) -> Faults:
    """Faults of these keywords.

    Raises:
        ValueError: one that there is not, or see :class:`Faults`.
    """
    known = [one.name for one in fields(Faults) if one.name != "counts"]
    for name in keywords:
        if name not in known:
            raise ValueError(unknown("fault", name, known))
    return Faults(**keywords)
