"""Whether arguments are among the known ones and within their ranges; one sentence says which is not."""

import numpy as np

from .... import unknown


def check_choices(**given: tuple[str, tuple[str, ...]]) -> None:
    """Raises ``ValueError`` for the first argument whose value is none of the known ones, ``name=(value, known)``."""
    for name, (value, known) in given.items():
        if not (isinstance(value, str) and value in known):
            raise ValueError(unknown(name, value, known))


def check_flags(**given: bool) -> None:
    """Raises ``ValueError`` for the first argument that is neither True nor False."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {value!r:.200}")


def check_ranges(low: float, high: float, **given: float | None) -> None:
    """Raises ``ValueError`` for the first argument that is no number of a range, whole where its ends are ``int``.

    None is not looked at.
    """
    whole = isinstance(low, int) and isinstance(high, int)
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    for name, value in given.items():
        number = isinstance(value, kinds) and not isinstance(value, bool)
        if value is not None and not (number and low <= value <= high):  # so written that NaN is refused
            kind = ", a whole number" if whole else ""
            raise ValueError(f"{name} must be between {low:g} and {high:g}{kind}, got {value!r:.200}")
