"""G-RA: rewards of steps count only in episodes whose long-term reward meets a threshold."""

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from ... import unknown
from ..components import Choice, Context, Episodes, Reward
from .catalogue import Choices, load, load_all

MODES = ("gated", "direct")


class GRA(Reward):
    """R = R_1 + 1[R_1 >= tau_1] (R_2 + 1[R_2 >= tau_2] (R_3 + ...)): each level opens the one below it.

    R_1 is the episode's long-term reward; the others are immediate rewards in order of priority, each the sum of an
    episode. A level counts where all above it meet their thresholds. Added as they are ("direct"), immediate rewards
    that are easier to earn than the outcome are what is learnt: repeating a step that pays is worth more than
    finishing. Gated, an episode that does not reach the outcome earns its long-term reward alone.

    Immediate rewards stay on the tokens on which they are paid, which methods with a critic or rewards of turns read;
    the long-term reward stands on the last token.

    Departures: the paper has this for software engineering, R_1 being the outcome of a patch, with a threshold that
    asks for one that is submitted and not empty, and R_2 the format and the choice of commands in each turn. Here R_1
    is any reward, success by default, and R_2 by default whatever else the environment paid.

    Args:
        long_term: the reward that opens the others: a name, a name with parameters or an object.
        immediate: rewards in order of priority, of which each level is what it adds (None: one level, the rewards so
            far without ``long_term``).
        thresholds: tau, one number a level of ``immediate``, or one number alone for all of them, which open together.
        mode: "gated", or "direct" for no gates.

    Raises:
        TypeError: thresholds that are no numbers.
        ValueError: an unknown mode; not as many thresholds as levels.

    Paper: Stabilizing Long-term Multi-turn Reinforcement Learning with Gated Rewards (2025), gated against direct
    reward accumulation, by its abstract ("only when high-level rewards meet a predefined threshold") and two summaries:
    its equations were not at hand, and whether a reward that equals its threshold passes is read from the abstract.
    """

    def __init__(
        self,
        *,
        long_term: Choice | Reward = "outcome",
        immediate: Choices = None,
        thresholds: float | Sequence[float] = 1.0,
        mode: str = "gated",
    ) -> None:
        if mode not in MODES:
            raise ValueError(unknown("mode", mode, MODES))
        self.long_term, self.levels = load(long_term), load_all(immediate)
        self.thresholds = _thresholds(thresholds, max(len(self.levels), 1))
        self.mode = mode
        self.parts = {f"level{i or ''}": part for i, part in enumerate((self.long_term, *self.levels))}
        needs = (need for part in self.parts.values() for need in part.needs)
        self.needs = tuple(dict.fromkeys(needs))  # type: ignore[misc]  # those of the class are none

    def shape(self, episodes: Episodes, context: Context) -> Tensor:
        """Rewards ``[B, T]``; what was there before is read by the levels alone."""
        end = episodes.last_token()
        top = _by_tokens(self.long_term.shape(episodes, context), end)
        total, open_ = top, torch.ones_like(end[:, 0])
        above = (top * episodes.mask).sum(1)
        for level, threshold in zip(self._immediate(episodes, context, top, end), self.thresholds, strict=True):
            open_ = open_ & (above >= threshold)
            total = total + (level if self.mode == "direct" else level * open_[:, None])
            above = (level * episodes.mask).sum(1)
        return total

    def _immediate(self, episodes: Episodes, context: Context, top: Tensor, end: Tensor) -> Iterable[Tensor]:
        """Each level's rewards by tokens, ``[B, T]``."""
        if not self.levels:
            return [episodes.token_reward - top]
        before = episodes.token_reward
        return [_added(part.shape(episodes, context), episodes, before, end) for part in self.levels]

    def start(self, context: Context) -> None:
        """As the levels do."""
        for part in self.parts.values():
            part.start(context)

    def begin(self, context: Context) -> None:
        """As the levels do."""
        for part in self.parts.values():
            part.begin(context)

    def fit(self, episodes: Episodes, context: Context) -> dict[str, float]:
        """Trains what levels have learnt."""
        fitted = {name: part.fit(episodes, context) for name, part in self.parts.items()}
        return {f"{name}_{key}": value for name, metrics in fitted.items() for key, value in metrics.items()}

    def state_dict(self) -> dict[str, Any]:
        """What the levels remember."""
        return {name: part.state_dict() for name, part in self.parts.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Becomes what :meth:`state_dict` described."""
        for name, part in self.parts.items():
            part.load_state_dict(state[name])

    def networks(self) -> dict[str, Any]:
        """The levels', by name."""
        found = {name: part.networks() for name, part in self.parts.items()}
        return {f"{name}_{key}": network for name, networks in found.items() for key, network in networks.items()}


def _thresholds(given: float | Sequence[float], levels: int) -> tuple[float, ...]:
    """One a level: a single number opens the first, and those below it open with it."""
    listed = (given, *[float("-inf")] * (levels - 1)) if isinstance(given, Real) else given
    if not isinstance(listed, Sequence) or not all(isinstance(one, Real) and one == one for one in listed):
        raise TypeError(f"thresholds are numbers, one a level of immediate rewards or one for all, got {given!r:.100}")
    if len(listed) != levels:
        raise ValueError(f"{levels} levels of immediate rewards take as many thresholds, or one, got {len(listed)}")
    return tuple(float(one) for one in listed)


def _by_tokens(reward: Tensor, end: Tensor) -> Tensor:
    """``[B, T]``, a reward of the whole episode on its last token."""
    return reward if reward.dim() == 2 else end * reward[:, None]


def _added(reward: Tensor, episodes: Episodes, before: Tensor, end: Tensor) -> Tensor:
    """What a reward adds to those before it, ``[B, T]``."""
    return reward - before if reward.dim() == 2 else end * (reward - episodes.reward)[:, None]
