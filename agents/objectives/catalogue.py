"""One row a method. A variant (other numbers, same code) is a row alone; importing this imports nothing heavy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ... import unknown

_HERE = "tiltyard.agents.objectives."
_GROUP_RELATIVE = _HERE + "advantages.group_relative:group_relative"
_PPO_CLIP = _HERE + "losses.ppo_clip:ppo_clip"


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
    """

    handle: str
    paper_title: str
    advantage: str = _GROUP_RELATIVE
    loss: str = _PPO_CLIP
    aggregate: str = _HERE + "ops:sequence_mean"
    params: Mapping[str, Any] = field(default_factory=dict)
    silent_at_zero: bool = True


ROWS: tuple[Row, ...] = (
    Row(
        "grpo",
        "DeepSeekMath: Pushing the Limits of Mathematical Reasoning in Open Language Models (2024)",
        params={"kl_coef": 0.04},
    ),
    Row(
        "dr-grpo",
        "Understanding R1-Zero-Like Training: A Critical Perspective (2025)",
        aggregate=_HERE + "ops:constant_length",
        params={"scale": False},
    ),
    Row(
        "dapo",  # its objective; its dynamic sampling is curriculum="dynamic-sampling"
        "DAPO: An Open-Source LLM Reinforcement Learning System at Scale (2025)",
        aggregate=_HERE + "ops:token_mean",
        params={"clip_low": 0.2, "clip_high": 0.28},
    ),
    Row(
        "rloo",
        "Back to Basics: Revisiting REINFORCE Style Optimization for Learning from Human Feedback in LLMs (2024)",
        advantage=_HERE + "advantages.leave_one_out:leave_one_out",
        loss=_HERE + "losses.log_likelihood:log_likelihood",
        aggregate=_HERE + "ops:sequence_sum",
    ),
    Row(
        "reinforce",
        "Simple Statistical Gradient-Following Algorithms for Connectionist Reinforcement Learning (1992)",
        advantage=_HERE + "advantages.batch_mean:batch_mean",
        loss=_HERE + "losses.log_likelihood:log_likelihood",
        aggregate=_HERE + "ops:sequence_sum",
    ),
)


def find(handle: str) -> Row:
    """The row of ``handle``; ``KeyError`` with the nearest valid handles otherwise."""
    for row in ROWS:
        if row.handle == handle:
            return row
    raise KeyError(unknown("method", handle, [row.handle for row in ROWS]))
