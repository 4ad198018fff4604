"""One row a guidance method."""

from ..components import Choice, Guidance, Row, choose

ROWS: tuple[Row, ...] = (
    Row("ghpo", "tiltyard.wrappers.guidance.ghpo:GHPO"),
    Row("scaf-grpo", "tiltyard.wrappers.guidance.scaf_grpo:ScafGRPO"),
    Row("guide", "tiltyard.wrappers.guidance.guide:Guide"),
)


def load(choice: Choice | Guidance) -> Guidance:
    """The guidance that ``choice`` names; see :func:`tiltyard.wrappers.components.choose`."""
    return choose("guidance", choice, ROWS, Guidance)
