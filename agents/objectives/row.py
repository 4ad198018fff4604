"""What a row of the objectives' catalogue says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ... import unknown
from ..language.choices import check_row
from ..language.providers.catalogue import check_needs

Uniform = Literal["silent", "learns", "failures"]


@dataclass(frozen=True)
class Row:
    """One objective.

    Attributes:
        handle: what users type (``method="grpo"``).
        advantage: ``"module:function"``, ``(rollouts, **params) -> [B] or [B, T]``; a module that begins with a dot is
            of this package.
        loss: ``"module:function"``, ``(rollouts, advantage, policy_out, **params) -> (per-token [B, T], metrics)``.
        aggregate: ``"module:function"``, ``(mask, **params) -> weights [B, T]``.
        params: the paper's values; each goes to whichever of the three functions takes it.
        silent_at_zero: a completion of advantage 0 has no gradient (but for a KL penalty), and so need not be computed.
        uniform_groups: what the paper says of a group whose completions all earned the same: its gradient is 0
            ("silent"), or it teaches something ("learns"), or only where all failed ("failures").
        smallest_group: completions of a problem below which it has nothing to learn from (methods that need "groups",
            which compare completions to each other, have 2 anyway).
        needs: what it reads besides completions and rewards, names of
            :data:`tiltyard.agents.language.providers.catalogue.PROVIDERS`.
        components: of a paper that acts through several, keywords of
            :class:`~tiltyard.agents.language.trainer.PolicyGradient` (``{"curriculum": "spo"}``); the user's own win.
        paper: handle of its paper in :mod:`tiltyard.papers`, where that is not its own.

    Raises:
        ValueError: a function that is not written ``"module:function"``, parameters without names, or a component, a
            need or a kind of uniform groups that there is not.
    """

    handle: str
    advantage: str = ".parts.group_relative:group_relative"
    loss: str = ".parts.ppo_clip:ppo_clip"
    aggregate: str = ".parts.aggregates:sequence_mean"
    params: Mapping[str, Any] = field(default_factory=dict)
    silent_at_zero: bool = True
    uniform_groups: Uniform = "silent"
    smallest_group: int = 1
    needs: tuple[str, ...] = ()
    components: Mapping[str, Any] = field(default_factory=dict)
    paper: str = ""

    def __post_init__(self) -> None:
        """Refuses a row that names what there is not, which would fail later or be passed over."""
        of = f"method {self.handle!r:.200}"
        if not isinstance(self.handle, str) or not self.handle:
            raise ValueError(f"a method is named by a word, such as grpo, got {self.handle!r:.200}")
        for entry in (self.advantage, self.loss, self.aggregate):
            if not isinstance(entry, str) or not all(entry.partition(":")):
                raise ValueError(f'{of}: a function is written "module:function", got {entry!r:.200}')
        for name in ("params", "components"):
            if not isinstance(given := getattr(self, name), Mapping):
                raise ValueError(f"{of}: {name} are keywords by name, got {given!r:.200}")
        if not isinstance(self.needs, tuple):
            raise ValueError(f'{of}: needs are a tuple, such as ("values",), got {self.needs!r:.200}')
        if self.uniform_groups not in get_args(Uniform):
            raise ValueError(f"{of}: {unknown('kind of uniform_groups', self.uniform_groups, get_args(Uniform))}")
        check_needs(self.needs, of=of)
        check_row(self.components, of)

    @property
    def functions(self) -> tuple[str, str, str]:
        """Advantage, loss and aggregate, as ``"module:function"`` with whole module names."""
        return _whole(self.advantage), _whole(self.loss), _whole(self.aggregate)


def _whole(entry: str) -> str:
    return f"{__package__}{entry}" if entry.startswith(".") else entry
