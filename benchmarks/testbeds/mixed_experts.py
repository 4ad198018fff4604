"""Episodes of a scripted expert whose actions are mixed with noise, more in each episode than in the one before."""

from typing import Any

import gymnasium
import numpy as np

from ...agents.control.datasets import Transitions
from .bandit import SETTINGS
from .control import Control, Phase, first_reward, normalised_return

TASK, STEPS = "tiltyard/Hopper-v5", 1500
HOPPER_SETTINGS: dict[str, Any] = {"buffer_size": STEPS, "gamma": 0.97, "tau": 0.02}


def noisy_expert(task: str, seed: int, *, episodes: int = 24, noise: tuple[float, float] = (0.3, 1.0)) -> Transitions:
    """``episodes`` of a task's expert, from ``noise[0]`` to ``noise[1]`` of whose actions is uniform noise."""
    env: Any = gymnasium.make(task)
    expert, rng, parts = env.unwrapped.expert(), np.random.default_rng([2503, seed]), []
    for number, share in enumerate(np.linspace(*noise, episodes)):
        seen, _ = env.reset(seed=int(rng.integers(2**31)))
        ended = False
        while not ended:
            action = (1 - share) * expert.predict(seen)[0] + share * rng.uniform(-1, 1, env.action_space.shape)
            after, earned, terminated, truncated, _ = env.step(action.astype(np.float32))
            ended = terminated or truncated
            parts.append((seen, action, earned, after, terminated, ended, number))
            seen = after
    env.close()
    columns = [np.array(column) for column in zip(*parts, strict=True)]
    observations, actions, rewards, after, terminated = (column.astype(np.float32) for column in columns[:5])
    ends, numbers = columns[5:]
    returns = np.bincount(numbers, rewards).astype(np.float64)
    return Transitions(observations, actions, rewards, after, terminated, ends, numbers, returns)


HOPPER = Control(
    env=TASK,
    settings={**SETTINGS, **HOPPER_SETTINGS, "n_envs": 1},
    data=lambda seed: noisy_expert(TASK, seed),
    phases=(Phase("data", STEPS), Phase("steps", STEPS)),
    score=normalised_return(TASK, 10),
    small={"data": lambda seed: noisy_expert(TASK, seed, episodes=2), "score": first_reward(TASK)},
)
"""The bandit's agents and schedule on Hopper; the discount lets values grow to their size within a small budget."""
