"""What every testbed does: run one condition with one learning rate and one seed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from ...agents.objectives.registry import Objective, load


class Testbed(Protocol):
    """A frozen dataclass: its fields are the sizes of the experiment, the same for all conditions."""

    def run(self, condition: Any, rate: float, seed: int) -> Any:
        """What becomes of a condition; a testbed whose conditions bring their own rates ignores ``rate``."""

    def smallest(self) -> Self:
        """The same with the least budget that still measures everything: it runs within seconds and says nothing."""


@dataclass(frozen=True)
class Method:
    """A method of language agents, from the catalogue.

    Attributes:
        handle: of its row.
        params: that differ from the row's.
        parts: functions taken from other methods, such as ``{"aggregate": method("lite-ppo")}``.
    """

    handle: str
    params: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, "Method"] = field(default_factory=dict)

    def objective(self) -> Objective:
        """The method's functions."""
        functions = {name: getattr(part.objective(), name) for name, part in self.parts.items()}
        return replace(load(self.handle, **self.params), **functions)


def method(handle: str, **params: Any) -> Method:
    """A method with parameters that differ from its row's."""
    return Method(handle, params)
