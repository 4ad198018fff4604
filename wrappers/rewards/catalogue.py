"""One row a reward."""

from collections.abc import Sequence

from ..components import Choice, Reward, Row, choose

ROWS: tuple[Row, ...] = (
    Row("laser", "tiltyard.wrappers.rewards.laser:LASER"),
    Row("toolrl", "tiltyard.wrappers.rewards.toolrl:ToolRL"),
    Row("clip-and-delta", "tiltyard.wrappers.rewards.clip_and_delta:ClipAndDelta"),
    Row("implicitprm", "tiltyard.wrappers.rewards.implicitprm:ImplicitPRM"),
)

Choices = Choice | Reward | Sequence[Choice | Reward]
"""One reward or several in order, each by name, by name with parameters or as an object."""


def load(choice: Choice | Reward) -> Reward:
    """The reward that ``choice`` names; see :func:`tiltyard.wrappers.components.choose`."""
    return choose("reward", choice, ROWS, Reward)


def load_all(choices: Choices) -> tuple[Reward, ...]:
    """The rewards that ``choices`` name, in the order in which they shape; none for None."""
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return tuple(load(choice) for choice in choices)
    return () if choices is None else (load(choices),)
