"""An environment whose return is half the sum of its actions."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box

STEPS = 4


class Purse(gymnasium.Env[Any, Any]):
    """A step pays half of its action; what is seen counts steps. Episodes of four steps."""

    observation_space = Box(-10, 10, (1,))
    action_space = Box(-2, 2, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.step_count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.step_count += 1
        seen = np.full(1, self.step_count, np.float32)
        return seen, float(action[0]) / 2, False, self.step_count == STEPS, {}
