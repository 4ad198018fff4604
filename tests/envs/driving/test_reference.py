from typing import Any, NamedTuple

import numpy as np
from numba import njit

from tiltyard.envs.driving.reference import by_reference


@by_reference
class Pair(NamedTuple):
    first: Any
    second: Any


@njit
def add(pair: Pair, i: int) -> float:
    """Adds an entry of the first array to the second, and reads it back."""
    pair.second[i] += pair.first[i]
    return float(pair.second[i])


@njit
def add_all(pair: Pair, times: int) -> float:
    """As often as asked, for all entries; returns the last."""
    last = 0.0
    for _ in range(times):
        for i in range(len(pair.first)):
            last = add(pair, i)
    return last


def test_a_tuple_by_reference_is_read_anew_at_each_call_and_its_arrays_are_written_to():
    one = Pair(np.array([1.0, 2.0]), np.zeros(2))
    other = Pair(np.array([5.0, 7.0, 9.0]), np.zeros(3))
    assert add_all(one, 3) == 6.0
    assert add_all(other, 2) == 18.0
    assert add_all(one, 1) == 8.0
    assert (one.second.tolist(), other.second.tolist()) == ([4.0, 8.0], [10.0, 14.0, 18.0])
    name = str(add_all.signatures[0][0])  # type: ignore[attr-defined]
    assert name.startswith("Pair_")
    assert len(name) < 30
