"""One row a reward."""

from ..seams import Choice, Reward, Row, choose

_SHAPING = "tiltyard.wrappers.rewards"

ROWS: tuple[Row, ...] = (
    Row("laser", f"{_SHAPING}.laser:LASER"),
    Row("soft-overlong-punishment", f"{_SHAPING}.soft_overlong_punishment:SoftOverlongPunishment", paper="dapo"),
)


def load(choice: Choice | Reward) -> Reward:
    """The reward that ``choice`` names; see :func:`tiltyard.wrappers.seams.choose`."""
    return choose("reward", choice, ROWS, Reward)
