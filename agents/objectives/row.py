"""What a row of the objectives' catalogue says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

HERE = "tiltyard.agents.objectives."
"""Begins the entry point of a function of this package."""

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
        paper_title: title (year).
        advantage: ``"module:function"``, ``(rollouts, **params) -> [B] or [B, T]``.
        loss: ``"module:function"``, ``(rollouts, advantage, policy_out, **params) -> (per-token [B, T], metrics)``.
        aggregate: ``"module:function"``, ``(mask, **params) -> weights [B, T]``.
        params: the paper's values; each goes to whichever of the three functions takes it.
        silent_at_zero: an answer of advantage 0 has no gradient (but for a KL penalty), and so need not be computed.
        dead_groups: what the paper says of a group whose answers all earned the same: its gradient is 0 ("silent"), or
            it teaches something ("learns"), or only where all failed ("failures").
        needs: what it reads besides answers and rewards, names of :data:`NEEDS`; a trainer supplies them or refuses.
    """

    handle: str
    paper_title: str
    advantage: str = HERE + "advantages.group_relative:group_relative"
    loss: str = HERE + "losses.ppo_clip:ppo_clip"
    aggregate: str = HERE + "ops:sequence_mean"
    params: Mapping[str, Any] = field(default_factory=dict)
    silent_at_zero: bool = True
    dead_groups: Literal["silent", "learns", "failures"] = "silent"
    needs: tuple[str, ...] = ()
