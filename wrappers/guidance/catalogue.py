"""One row a guidance method."""

from ..seams import Choice, Guidance, Row, choose

ROWS: tuple[Row, ...] = (
    Row(
        "ghpo",
        "GHPO: Adaptive Guidance for Stable and Efficient LLM Reinforcement Learning (2025)",
        "tiltyard.wrappers.guidance.ghpo:GHPO",
    ),
)


def load(choice: Choice | Guidance) -> Guidance:
    """The guidance that ``choice`` names; see :func:`tiltyard.wrappers.seams.choose`."""
    return choose("guidance", choice, ROWS, Guidance)
