"""Search spaces of settings: where a search for hyperparameters looks, and on which scale.

One table by keyword, as :mod:`.settings` has one of what a number may be at all; a space lies within that range. The
ends are those of Eimer, Lindauer and Raileanu's experiments where these have the keyword (learning rate, batch size,
epochs, lambda, clip range, gradient steps, learning starts, exploration), else a decade or two around usual values.

Paper: Hyperparameters in Reinforcement Learning and How To Tune Them (2023), appendix on search spaces.
"""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import unknown
from .settings import check_settings, numbers_of, whole_signature

Number = int | float
DIGITS = 4
"""Significant ones of a number that a search proposes, so that a run's command can be read."""


@dataclass(frozen=True)
class Dimension:
    """One setting of a search space.

    Attributes:
        low: least value.
        high: largest value.
        log: whether the search is uniform in the logarithm.
        whole: whether values are whole numbers.
        choices: the only values, in order, where there are few; ``low`` and ``high`` are the first and the last then.
    """

    low: Number
    high: Number
    log: bool = False
    whole: bool = False
    choices: tuple[Number, ...] = ()

    def __post_init__(self) -> None:
        """Refuses ends that span nothing.

        Raises:
            ValueError: the lower end is not below the upper one, one is not finite, or a logarithm has none.
        """
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"a search space goes from a number to a larger one, got {self.low} to {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"a search space on a logarithmic scale begins above 0, got {self.low}")

    def value(self, share: float) -> Number:
        """The value at a share (0 to 1) of the way from the lower end to the upper one, on the dimension's scale."""
        if self.choices:
            return self.choices[min(int(share * len(self.choices)), len(self.choices) - 1)]
        if self.log:
            return self.clipped(math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low))))
        return self.clipped(self.low + share * (self.high - self.low))

    def share(self, value: Number) -> float:
        """Where a value lies, as a share of the way between the ends."""
        if self.choices:
            return self.choices.index(value) / (len(self.choices) - 1)
        if self.log:
            return (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return (value - self.low) / (self.high - self.low)

    def clipped(self, value: float) -> Number:
        """The nearest value of the space, of :data:`DIGITS` significant digits."""
        inside = min(max(value, self.low), self.high)
        if self.choices:
            return min(self.choices, key=lambda one: abs(one - inside))
        return round(inside) if self.whole else float(f"{inside:.{DIGITS}g}")

    def is_end(self, value: Number, near: float = 0.05) -> bool:
        """Whether a value lies within a twentieth of the space from one of its ends."""
        return not near < self.share(value) < 1 - near


Space = Mapping[str, Dimension]
"""Dimensions by keyword."""

SPACES: dict[str, Dimension] = {
    "learning_rate": Dimension(1e-6, 1e-2, log=True),
    "actor_learning_rate": Dimension(1e-6, 1e-2, log=True),
    "critic_learning_rate": Dimension(1e-6, 1e-2, log=True),
    "batch_size": Dimension(16, 512, whole=True, choices=(16, 32, 64, 128, 256, 512)),
    "n_epochs": Dimension(5, 20, whole=True),
    "gae_lambda": Dimension(0.8, 0.9999),
    "clip_range": Dimension(0.01, 0.5),
    "gradient_steps": Dimension(1, 10, whole=True),
    "learning_starts": Dimension(10, 10_000, log=True, whole=True),
    "exploration_fraction": Dimension(0.005, 0.5),
    "ent_coef": Dimension(1e-6, 0.5, log=True),
    "gamma": Dimension(0.9, 0.9999),
    "tau": Dimension(0.001, 0.1, log=True),
    "kl_coef": Dimension(1e-4, 1.0, log=True),
    "clip_low": Dimension(0.01, 0.5),
    "clip_high": Dimension(0.01, 0.5),
}
"""By keyword, where a search looks; the same for every agent that has the keyword."""


def space_of(agent: type[Any], names: Sequence[str] | None = None) -> dict[str, Dimension]:
    """The space of an agent: those of :data:`SPACES` that its constructor has, with a number for a default.

    Args:
        agent: its class.
        names: of settings, these alone; each may bring ends of its own, as in ``learning_rate=1e-5:1e-3``.

    Raises:
        KeyError: a setting without a space.
        TypeError: one that the agent's constructor does not have.
        ValueError: ends that cannot be read, or that the agent refuses.
    """
    if names is None:
        parameters = whole_signature(agent).parameters
        return {name: one for name, one in SPACES.items() if name in parameters and _is_number(parameters[name])}
    space = dict(_named(name) for name in names)
    for name, dimension in space.items():
        if name not in whole_signature(agent).parameters:
            raise TypeError(f"{agent.__name__} has no setting {name}: leave it out of the space, or the agent out")
        check_settings(agent, {name: dimension.low})
        check_settings(agent, {name: dimension.high})
    return space


def _named(text: str) -> tuple[str, Dimension]:
    name, _, ends = text.partition("=")
    if name not in SPACES:
        raise KeyError(unknown("search space", name, SPACES))
    if not ends:
        return name, SPACES[name]
    low, colon, high = ends.partition(":")
    kind = int if SPACES[name].whole else float
    try:
        return name, replace(SPACES[name], low=kind(low), high=kind(high), choices=())
    except ValueError as error:
        said = str(error) if colon and "search space" in str(error) else "ends are two numbers"
        raise ValueError(f"{said}, as in {name}=LOW:HIGH, got {text!r}") from None


def _is_number(parameter: inspect.Parameter) -> bool:
    usual = parameter.default
    return bool(numbers_of(parameter.annotation)) and isinstance(usual, int | float) and not isinstance(usual, bool)
