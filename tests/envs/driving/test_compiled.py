import numpy as np

from tiltyard.envs.driving.compiled import borrows, uniform


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
