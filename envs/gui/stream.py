"""A stream of random numbers that interpreted and compiled code draw alike: SplitMix64 behind NumPy's method names.

Only what declarations draw with is there, each in a way that a few lines of compiled code can do again: an integer
below ``n`` is the high half of one draw times ``n``, divided by 2^32; a permutation is Fisher and Yates' from the end.

Source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (2014), sec. 5 (mix variant 13).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

_ALL = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def mixed(x: int) -> int:
    """SplitMix64's finaliser of a 64-bit word."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _ALL
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _ALL
    return x ^ (x >> 31)


class Stream:
    """Random numbers that a 64-bit key decides.

    >>> stream = Stream(7)
    >>> int(stream.integers(10)), stream.permutation(3).tolist()
    (3, [2, 1, 0])
    """

    def __init__(self, key: int) -> None:
        self.key = int(key) & _ALL

    def child(self, number: int) -> "Stream":
        """Another stream, by a number (of an app, say); drawing from either changes nothing in the other."""
        return Stream(mixed((self.key ^ mixed((number + 1) * GAMMA & _ALL)) & _ALL))

    def word(self) -> int:
        """The next 64 bits."""
        self.key = (self.key + GAMMA) & _ALL
        return mixed(self.key)

    def below(self, n: int) -> int:
        """An integer from 0 to ``n - 1``."""
        return (self.word() >> 32) * n >> 32

    def random(self, size: int | None = None) -> Any:
        """A number from 0 (included) to 1 (excluded), or ``[size]`` of them."""
        if size is None:
            return (self.word() >> 11) * 2.0**-53
        return np.array([self.random() for _ in range(size)])

    def integers(self, low: int, high: int | None = None, size: int | None = None) -> Any:
        """An integer from ``low`` (0 if it is given alone) to ``high - 1``, or ``[size]`` of them."""
        if high is None:
            low, high = 0, low
        if size is None:
            return low + self.below(high - low)
        return np.array([low + self.below(high - low) for _ in range(size)], np.int64)

    def permutation(self, items: int | npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The numbers below ``items``, or the entries of an array, in random order."""
        order = list(range(items if isinstance(items, int) else len(items)))
        for i in range(len(order) - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        return np.array(order, np.int64) if isinstance(items, int) else np.asarray(items)[order]

    def choice(self, items: Any, size: int | None = None) -> Any:
        """An entry, or ``[size]`` of them, with replacement."""
        if size is None:
            return items[self.below(len(items))]
        return np.asarray(items)[[self.below(len(items)) for _ in range(size)]]
