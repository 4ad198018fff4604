import numpy as np
import pytest
from numba import njit, types

from tiltyard.envs.driving.compiled import borrows, uniform, wide
from tiltyard.envs.driving.town.lists import agent_of


def test_uniform_starts_with_the_published_first_word_of_splitmix64():
    stream = np.zeros(1, np.uint64)
    assert uniform(stream, 0.0, 1.0) == (0xE220A8397B1DCDAF >> 11) / 2**53  # the word for state 0


def test_uniform_fills_its_range_evenly():
    stream = np.array([123], np.uint64)
    draws = np.array([uniform(stream, -2.0, 6.0) for _ in range(4000)])
    assert -2.0 <= draws.min() < draws.max() < 6.0
    assert abs(draws.mean() - 2.0) < 5 * 8 / np.sqrt(12 * 4000)
    assert np.histogram(draws, 8, (-2.0, 6.0))[0].min() > 400


def makes(x: float) -> float:
    return float(np.empty(1)[0]) + x


def returns(row: np.ndarray) -> np.ndarray:
    return row[1:]


def reads(row: np.ndarray, at: int) -> tuple[float, bool]:
    return row[at], at > 0


def test_only_functions_that_neither_make_nor_return_arrays_borrow_them():
    assert (borrows(makes), borrows(returns), borrows(reads)) == (False, False, True)
    assert borrows(uniform.py_func)


@pytest.mark.parametrize(
    ("given", "compiled_for"),
    [
        (types.int16, types.int64),
        (types.literal(-1), types.int64),
        (types.literal(True), types.boolean),
        (types.uint64, types.uint64),
        (types.float32, types.float32),
    ],
    ids=str,
)
def test_integers_are_compiled_for_at_their_widest(given: types.Type, compiled_for: types.Type):
    assert wide(given) == compiled_for


def test_narrow_integers_and_constants_share_one_compiled_function():
    @njit
    def three(entries: np.ndarray, narrow: np.ndarray) -> int:
        return agent_of(entries[0]) + 1000 * agent_of(narrow[0]) + 1_000_000 * agent_of(5)

    assert three(np.array([130]), np.array([-127], np.int16)) == 2 + 1000 * 1 + 1_000_000 * 5
    assert agent_of.nopython_signatures == [types.int64(types.int64)]
