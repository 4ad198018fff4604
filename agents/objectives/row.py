"""What a row of the objectives' catalogue says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


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
    """

    handle: str
    advantage: str = ".parts.group_relative:group_relative"
    loss: str = ".parts.ppo_clip:ppo_clip"
    aggregate: str = ".parts.aggregates:sequence_mean"
    params: Mapping[str, Any] = field(default_factory=dict)
    silent_at_zero: bool = True
    uniform_groups: Literal["silent", "learns", "failures"] = "silent"
    smallest_group: int = 1
    needs: tuple[str, ...] = ()
    components: Mapping[str, Any] = field(default_factory=dict)
    paper: str = ""

    @property
    def functions(self) -> tuple[str, str, str]:
        """Advantage, loss and aggregate, as ``"module:function"`` with whole module names."""
        return _whole(self.advantage), _whole(self.loss), _whole(self.aggregate)


def _whole(entry: str) -> str:
    return f"{__package__}{entry}" if entry.startswith(".") else entry
