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

EVALUATED = {"text": 0.5, "gui": 1.0, "driving": 5.0, "robotics": 10.0}
"""Steps of evaluation (of language agents: answers) to one of training, at most, in whole episodes, by domain.

On one core, 100 environments at once, so many took at most about half the time of the step of training: 2 steps of an
evaluation cost one of training in Phone (DQN), 12 in Highway (DQN), 11 (PPO) and 127 (SAC) in HalfCheetah, 21 in
AntMaze (SAC), 47 in PegInsertion (SAC).
"""


def evaluation_size(env_id: str, length: int, episodes: int | None, points: int | None) -> tuple[int, int]:
    """Episodes an evaluation, and evaluations, of a run of ``length`` steps, where they are not given.

    100 and 10, or fewer of both where so many whole episodes would be more than :data:`EVALUATED` allows, so that
    evaluations take at most about a third of the run's time; but at least 10 episodes, once. Where ``points`` are
    given, each has 100 episodes however long that takes. :class:`.Run` checks the rest of what is given.

    Raises:
        ValueError: more evaluations than steps.

    >>> evaluation_size("tiltyard/HalfCheetah-v5", 10**5, None, None), evaluation_size("Pendulum-v1", 400, None, None)
    ((100, 10), (20, 1))
    """
    row = resolve(env_id)
    if points is not None and points > max(length, 1):
        raise ValueError(f"--eval-points {points} asks for more evaluations than the run has steps, {length}")
    allowed = EVALUATED.get(row.domain, EVALUATED["robotics"]) * max(length, 0)
    most = allowed / (row.max_episode_steps or 1000)  # whole episodes in all
    number = max(1, min(10, round((most / 10) ** 0.5))) if points is None else points
    fitting = max(10, min(100, int(most / number))) if points is None else 100
    return fitting if episodes is None else episodes, number
