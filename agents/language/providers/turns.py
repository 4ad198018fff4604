"""Rewards and states of turns."""

from ..collect import by_turns
from ..context import Context
from ..rollouts import Rollouts
from .base import Provider


class Turns(Provider):
    """``Rollouts.step_reward`` and ``Rollouts.state``, which episodes of one turn do not have of their own."""

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With both columns."""
        return by_turns(rollouts)
