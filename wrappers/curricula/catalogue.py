"""One row a curriculum."""

from ..seams import Choice, Curriculum, Row, choose

_FILTER = "tiltyard.wrappers.curricula.online_difficulty_filter:OnlineDifficultyFilter"

ROWS: tuple[Row, ...] = (
    Row(
        "online-difficulty-filter",
        "Online Difficulty Filtering for Reasoning Oriented Reinforcement Learning (2025)",
        _FILTER,
    ),
    Row(
        "dynamic-sampling",  # anything but all right and all wrong
        "DAPO: An Open-Source LLM Reinforcement Learning System at Scale (2025)",
        _FILTER,
        (("low", 1e-9), ("high", 1 - 1e-9)),
    ),
)


def load(choice: Choice | Curriculum) -> Curriculum:
    """The curriculum that ``choice`` names; see :func:`tiltyard.wrappers.seams.choose`."""
    return choose("curriculum", choice, ROWS, Curriculum)
