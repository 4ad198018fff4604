"""Hints that are parts of an expert's worked solution, and how they stand in a question."""

from collections.abc import Sequence
from string import Formatter


def without_answer(solution: str) -> str:
    """A worked solution up to its ``<answer>``."""
    return solution.partition("<answer>")[0]


def beginnings(solution: str, shares: Sequence[float]) -> list[str]:
    """The first parts of a solution, by shares of its characters; none that is empty, and none twice."""
    return list(dict.fromkeys(part for share in shares if (part := solution[: int(share * len(solution))])))


def check_phrase(phrase: str) -> None:
    """Refuses a phrase now that could not be filled in when the first problem is failed."""
    try:
        fields = {field for _, field, _, _ in Formatter().parse(phrase) if field is not None}
    except ValueError:  # a brace that stands alone
        fields = set()
    if fields != {"question", "hint"}:
        raise ValueError(
            f"phrase needs {{question}} and {{hint}} and no other braces (write a brace twice), got {phrase!r}"
        )
