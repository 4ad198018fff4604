"""SPO: a persistent value tracker of each problem's success in place of a group's baseline."""

from dataclasses import replace
from typing import Any

from ..context import Context
from ..rollouts import Rollouts
from ..tracker import Tracker
from .base import Provider


class ValueTracker(Provider):
    """``Rollouts.baseline``: the tracked success at each row's problem, read before this batch counts.

    Paper: Single-stream Policy Optimization (2025), sec. 3.
    """

    def start(self, context: Context) -> None:
        """Knows nothing yet."""
        self.tracker = Tracker()

    def supply(self, rollouts: Rollouts, context: Context) -> Rollouts:
        """With ``baseline``; the batch counts from now on."""
        rollouts = replace(rollouts, baseline=self.tracker.read(rollouts))
        self.tracker.update(rollouts, context.score)
        return rollouts

    def networks(self) -> dict[str, Any]:
        """What is known of each problem."""
        return {"tracker": self.tracker}
