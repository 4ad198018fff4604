"""A phone so small that agents learn on it in seconds: one screen, and the goal's last word names what to tap."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv

from tiltyard.agents.control.trajectories import Running, Trajectory
from tiltyard.envs.gui.elements import NUMERIC_VERBS, spaces

DONE = NUMERIC_VERBS.index("done")
SMALL: dict[str, Any] = {
    "policy": "ElementsPolicy",
    "policy_kwargs": {"width": 16, "layers": 1, "heads": 2, "token_width": 8},
    "batch_size": 32,
    "learning_rate": 3e-3,
    "seed": 0,
    "device": "cpu",
}


class TinyPhone(gymnasium.Env[Any, Any]):
    """Three elements of one word each; an episode is one tap. ``hard`` of ten goals can be fulfilled by nothing."""

    def __init__(self, hard: int = 0) -> None:
        self.observation_space, self.action_space = spaces()
        self.hard = hard

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        words = 1 + self.np_random.permutation(50)[:3]
        self.elements, self.goal = np.zeros((64, 24), np.int16), np.zeros(48, np.int16)
        self.elements[:3, 0], self.elements[:3, 8], self.elements[:3, 12] = 2, 1, words
        self.wanted = int(self.np_random.integers(3))
        self.lost = bool(self.np_random.integers(10) < self.hard)
        self.goal[:2] = 100 + self.lost, words[self.wanted]
        return self.seen(), {}

    def seen(self) -> dict[str, Any]:
        return {"elements": self.elements.copy(), "goal": self.goal.copy()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        won = bool(action[0] == 0 and action[1] == self.wanted and not self.lost)
        return self.seen(), float(won), True, False, {"success": won}


def tiny(n: int = 8, hard: int = 0) -> Any:
    """Several of them, as SB3 takes them."""
    same_step = gymnasium.vector.AutoresetMode.SAME_STEP
    return SyncVectorEnv([lambda: TinyPhone(hard)] * n, autoreset_mode=same_step)


def episodes(n: int, *, right: float, hard: int = 0, seed: int = 0) -> list[Trajectory]:
    """What hands do that tap the right element this often, and else another or press home."""
    env, rng, found = TinyPhone(hard), np.random.default_rng(seed), []
    env.reset(seed=seed)
    for _ in range(n):
        seen, _ = env.reset()
        action = np.array([0, env.wanted, 0, 0, 0])
        if rng.random() >= right:
            action[:2] = (0, (env.wanted + 1) % 3) if rng.random() < 0.5 else (9, 0)
        running = Running(seen)
        after, reward, *_, info = env.step(action)
        running.add(action, reward, after)
        found.append(running.ended(terminated=True, success=info["success"]))
    return found


def success(agent: Any, n: int = 100) -> float:
    """How often the agent's likeliest action is right, on problems of its own."""
    env = TinyPhone()
    env.reset(seed=99)
    won = []
    for _ in range(n):
        seen, _ = env.reset()
        action, _ = agent.predict(seen, deterministic=True)
        won.append(env.step(action)[1])
    return float(np.mean(won))
