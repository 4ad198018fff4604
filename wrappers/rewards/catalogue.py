"""One row a reward."""

from ..seams import Choice, Reward, Row, choose

ROWS: tuple[Row, ...] = (Row("laser", "tiltyard.wrappers.rewards.laser:LASER"),)


def load(choice: Choice | Reward) -> Reward:
    """The reward that ``choice`` names; see :func:`tiltyard.wrappers.seams.choose`."""
    return choose("reward", choice, ROWS, Reward)
