"""What a row of the objectives' catalogue says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

NEEDS = {
    "logp_ref": "log-probabilities under a reference policy, Rollouts.logp_ref",
    "logp_mean": "mean log-probabilities over the vocabulary, Rollouts.logp_mean_old and PolicyOut.logp_mean",
    "values": "a critic, Rollouts.values",
    "greedy": "the reward of the greedy answer to each row's problem, Rollouts.baseline",
    "tracker": "a running estimate of the success at each row's problem, Rollouts.baseline",
    "steps": "a reward for each turn, Rollouts.step_reward",
    "states": "the state in which each turn began, Rollouts.state",
    "expert": "an expert's answer among each problem's, Rollouts.info['expert']",
    "groups": "all answers to a problem in one gradient step and one piece of it, for a loss that pairs them",
}
"""What a method may ask a trainer for, in words."""


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
        silent_at_zero: an answer of advantage 0 has no gradient (but for a KL penalty), and so need not be computed.
        dead_groups: what the paper says of a group whose answers all earned the same: its gradient is 0 ("silent"), or
            it teaches something ("learns"), or only where all failed ("failures").
        needs: what it reads besides answers and rewards, names of :data:`NEEDS`; a trainer supplies them or refuses.
        paper: handle of its paper in :mod:`tiltyard.papers`, where that is not its own.
    """

    handle: str
    advantage: str = ".parts.group_relative:group_relative"
    loss: str = ".parts.ppo_clip:ppo_clip"
    aggregate: str = ".parts.aggregates:sequence_mean"
    params: Mapping[str, Any] = field(default_factory=dict)
    silent_at_zero: bool = True
    dead_groups: Literal["silent", "learns", "failures"] = "silent"
    needs: tuple[str, ...] = ()
    paper: str = ""

    @property
    def functions(self) -> tuple[str, str, str]:
        """Advantage, loss and aggregate, as ``"module:function"`` with whole module names."""
        return _whole(self.advantage), _whole(self.loss), _whole(self.aggregate)


def _whole(entry: str) -> str:
    return f"{__package__}{entry}" if entry.startswith(".") else entry
