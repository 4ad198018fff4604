"""What callbacks see of a policy in rollouts that another one acts in."""

from collections.abc import Callable
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback


class Shown:
    """What a rollout calls of a callback, which sees, evaluates and saves the learnt policy, not the one that acts.

    Args:
        callback: SB3's.
        learnt: puts the learnt parameters into the policy.
        acting: puts back those that act.
    """

    def __init__(self, callback: BaseCallback, learnt: Callable[[], None], acting: Callable[[], None]) -> None:
        self.callback, self.learnt, self.acting = callback, learnt, acting

    def update_locals(self, scope: dict[str, Any]) -> None:
        """As in SB3, as are all that follow."""
        self.callback.update_locals(scope)

    def on_rollout_start(self) -> None:
        """See SB3."""
        self._shown(self.callback.on_rollout_start)

    def on_step(self) -> bool:
        """See SB3."""
        return bool(self._shown(self.callback.on_step))

    def on_rollout_end(self) -> None:
        """See SB3."""
        self._shown(self.callback.on_rollout_end)

    def _shown(self, call: Callable[[], Any]) -> Any:
        self.learnt()
        try:
            return call()
        finally:
            self.acting()
