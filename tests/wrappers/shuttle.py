"""A pair of tasks that keeps the contract of reset-free practice, small enough to work out by hand."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box


class Shuttle(gymnasium.Env[Any, Any]):
    """A point on a table from -0.6 to 0.6: push it beyond 0.4 (forward), or back beyond -0.4; off the table it is lost.

    Actions move it by up to 0.2; ``starts`` counts how often it was truly reset.
    """

    def __init__(self, task: str = "forward", safe: bool = False) -> None:
        self.observation_space, self.action_space = Box(-2, 2, (1,), np.float32), Box(-1, 1, (1,), np.float32)
        self.task, self.first_task, self.safe = task, task, safe
        self.place, self.starts, self.threads = 0.0, 0, set()

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        options = options or {}
        self.task = options.get("task", self.first_task)
        if not options.get("keep_state"):
            self.starts += 1
            side = -1 if self.task == "forward" else 1
            self.place = side * float(self.np_random.uniform(0.4, 0.6))
        return self._seen(), self._info()

    def step(self, action: Any) -> Any:
        self.place += 0.2 * float(action[0])
        if self.safe:
            self.place = min(max(self.place, -0.6), 0.6)
        info = self._info()
        return self._seen(), float(info["success"]), info["success"], False, info

    def _seen(self) -> Any:
        return np.array([self.place], np.float32)

    def _info(self) -> dict[str, Any]:
        way = self.place if self.task == "forward" else -self.place
        recoverable = abs(self.place) <= 0.65
        return {"task": self.task, "recoverable": recoverable, "success": bool(way >= 0.4 and recoverable)}
