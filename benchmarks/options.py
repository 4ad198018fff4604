"""What options of the command line count: whole numbers as people write them, and how much a run is evaluated."""

from decimal import Decimal, InvalidOperation
from typing import Annotated

import tyro

from ..envs.catalogue import resolve


def parse_whole(text: str) -> int:
    """``"20000"``, ``"20_000"``, ``"2e4"`` as a number.

    Raises:
        ValueError: anything that is no whole number.
    """
    try:
        value = Decimal(text)
        if value.adjusted() < 18 and value == int(value):  # beyond, "1e999999999" would fill the memory with digits
            return int(value)
    except (InvalidOperation, ValueError, OverflowError):
        pass
    raise ValueError(f"a whole number such as 20000, 20_000 or 2e4 is wanted, got {text!r}")


Whole = Annotated[
    int,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="N",
        instance_from_str=lambda words: parse_whole(words[0]),
        is_instance=lambda value: isinstance(value, int),
        str_from_instance=lambda value: [str(value)],
    ),
]
"""The type of an option that counts something."""

EVALUATED, ANSWERED = 50, 0.5
"""Steps of evaluation to one of training, at most, in whole episodes; and answers of language agents likewise."""


def evaluation_size(env_id: str, length: int, episodes: int | None, points: int | None) -> tuple[int, int]:
    """Episodes an evaluation, and evaluations, of a run of ``length`` steps, where they are not given.

    100 and 10, or fewer where so many whole episodes would take more than :data:`EVALUATED` steps to each of training:
    with SAC on HalfCheetah, whose step in an evaluation of 100 environments costs a 200th of one in training, that is a
    fifth of the run's time; with agents that learn less from each step (PPO) it is more. Answers of language agents
    cost about as much in both, and of them it is :data:`ANSWERED` to one. At least 10 episodes, once.

    >>> evaluation_size("tiltyard/HalfCheetah-v5", 20_000, None, None), evaluation_size("Pendulum-v1", 100, None, None)
    ((100, 10), (12, 2))
    """
    row = resolve(env_id)
    share = ANSWERED if row.domain == "text" else EVALUATED
    most = share * length / (row.max_episode_steps or 1000)  # whole episodes in all
    number = points or max(1, min(10, round((most / 10) ** 0.5)))
    fitting = 100 if points else max(10, min(100, int(most / number)))
    return episodes or fitting, number
