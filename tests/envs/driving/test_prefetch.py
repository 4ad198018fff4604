import numpy as np
import pytest
from numba import njit

from tiltyard.envs.driving.prefetch import fetch


@pytest.mark.parametrize(("first", "last"), [(0, 1), (3, 9), (99, 100), (5, 5)])
def test_what_is_asked_for_stays_as_it_is(first, last):
    array = np.arange(700, dtype=np.int32).reshape(100, 7)
    before = array.copy()
    fetch(array, first, last)
    assert (array == before).all()


def test_the_processor_is_asked_for_whole_lines():
    made = njit(fetch.py_func)
    made(np.zeros((4, 200), np.float32), 1, 2)
    assert all("prefetcht1" in text or "prfm" in text for text in made.inspect_asm().values())  # on x86, on ARM
