"""Whether arguments are among the known ones and within their ranges; one sentence says which is not."""

from .... import unknown


def check_choices(**given: tuple[str, tuple[str, ...]]) -> None:
    """Raises ``ValueError`` for the first argument whose value is none of the known ones, ``name=(value, known)``."""
    for name, (value, known) in given.items():
        if value not in known:
            raise ValueError(unknown(name, value, known))


def check_ranges(low: float, high: float, **given: float | None) -> None:
    """Raises ``ValueError`` for the first argument outside a range; None is not looked at."""
    for name, value in given.items():
        if value is not None and not low <= value <= high:  # so written that NaN is refused
            raise ValueError(f"{name} must be between {low:g} and {high:g}, got {value!r}")
