"""Where a published method can plug into the training of a language agent, besides its advantage and its loss.

Three small classes, each doing nothing by default; a method subclasses one and overrides what it changes. Methods
live in :mod:`.curricula`, :mod:`.guidance` and :mod:`.rewards`, named by the rows of each room's ``catalogue``.

A method is chosen by name (``"laser"``), by name with parameters (``{"name": "laser", "target": 60}``) or as an object.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from .. import unknown

if TYPE_CHECKING:
    from torch import Tensor  # only a type here: listing methods must not wait for torch


class Answers(Protocol):
    """What methods may read of a batch of B answers (``tiltyard.agents.language.rollouts.Rollouts`` has it all)."""

    @property
    def reward(self) -> "Tensor":
        """``[B]``."""

    @property
    def group(self) -> "Tensor":
        """``[B]`` int64: rows with equal numbers answered the same problem."""

    @property
    def seed(self) -> "Tensor":
        """``[B]`` int64: the problem."""

    @property
    def length(self) -> "Tensor":
        """``[B]`` int64: tokens written."""

    @property
    def info(self) -> dict[str, Any]:
        """Columns ``[B]``; ``success`` is always there (bool)."""


class Seam:
    """What all three have: a memory that checkpoints keep. This one remembers nothing."""

    def state_dict(self) -> dict[str, Any]:
        """What has been learnt, as plain data: numbers, strings, NumPy arrays, and lists or dicts (by strings) of them.

        With it, and with :meth:`load_state_dict`, an agent that was saved trains on as if it had not been.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""


class Curriculum(Seam):
    """Chooses problems. This one draws training seeds uniformly and keeps every answer."""

    def sample(self, n: int, rng: np.random.Generator) -> list[int]:
        """Seeds of the next ``n`` problems, of the train split."""
        return [int(seed) for seed in rng.integers(0, 2**31, size=n)]

    def keep(self, rollouts: Answers) -> "Tensor":
        """Which answers ``[B]`` (bool) to learn from; sampling goes on until a batch is full. Whole groups, please."""
        return rollouts.reward == rollouts.reward

    def update(self, rollouts: Answers) -> None:
        """Learns from a batch of answers, kept or not."""


class Prompt(NamedTuple):
    """What the policy is given: a question and, as a hint, how its answer begins."""

    question: str
    answer_start: str = ""


@dataclass(frozen=True)
class Problem:
    """One problem of a batch.

    Attributes:
        seed: ``reset(seed=...)`` brings it back.
        question: the environment's observation.
        solve: calls the environment's expert for its worked answer; the slow part, so only guidance asks.
    """

    seed: int
    question: str
    solve: Callable[[], str]


class Guidance(Seam):
    """Changes prompts. This one leaves them as the environment wrote them."""

    def prompts(self, problems: Sequence[Problem], history: Sequence[Sequence[float]]) -> list[Prompt]:
        """The prompt of each problem, given what came of the earlier ones in this batch.

        Called before each round of sampling. A problem is sampled in the first round, and in a later one only if its
        prompt has changed; its last round is what is learnt from.

        Args:
            problems: of the batch, P of them.
            history: of each problem, the share of its group that succeeded, a number for each round so far.
        """
        return [Prompt(problem.question) for problem in problems]


class Reward(Seam):
    """Shapes rewards where the group or the batch is needed (else: ``gymnasium.RewardWrapper``). This one does not."""

    def shape(self, rollouts: Answers) -> "Tensor":
        """The rewards ``[B]`` to learn from."""
        return rollouts.reward


@dataclass(frozen=True)
class Row:
    """One named method of a room.

    Attributes:
        handle: what users type.
        entry_point: ``"module:Class"``; the class's keyword-only arguments are the method's parameters.
        params: values that differ from the class's defaults.
        paper: handle of its paper in :mod:`tiltyard.papers`, where that is not its own.
    """

    handle: str
    entry_point: str
    params: tuple[tuple[str, Any], ...] = ()
    paper: str = ""


Choice = str | Mapping[str, Any] | None
"""A method by name, or by name with parameters; None for the default, which does nothing."""

Chosen = TypeVar("Chosen", bound=Seam)


def choose(kind: str, choice: Choice | Chosen, rows: Sequence[Row], default: type[Chosen]) -> Chosen:
    """The object that ``choice`` names among ``rows``; an object of the seam is returned as it is.

    Raises:
        KeyError: no such name.
        TypeError: an unknown parameter, or something that is neither a name nor an object of the seam.
    """
    if choice is None:
        return default()
    if isinstance(choice, default):
        return choice
    if isinstance(choice, Mapping):
        params = dict(choice)
        name = params.pop("name", None)
    else:
        name, params = choice, {}
    if not isinstance(name, str):
        raise TypeError(f'a {kind} is a name, {{"name": ..., parameters}} or a {default.__name__}; got {choice!r}')
    by_name = {row.handle: row for row in rows}
    if name not in by_name:
        raise KeyError(unknown(kind, name, by_name))
    row = by_name[name]
    module, _, attribute = row.entry_point.partition(":")
    built: type[Chosen] = getattr(import_module(module), attribute)
    valid = list(inspect.signature(built).parameters)
    for key in params:
        if key not in valid:
            raise TypeError(f"{kind} {name!r}: {unknown('parameter', key, valid)}")
    return built(**{**dict(row.params), **params})
