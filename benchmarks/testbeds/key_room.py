"""A key, a door and a goal in small rooms, seen as categories; and what learns in them from samples of one size.

Beside it stands CartPole, whose observations are four numbers.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from ..statistics import Floats

FLOOR, WALL, KEY, DOOR, GOAL = range(5)
SIZE, REACH, LONGEST = 7, 2, 50
"""Rows and columns with the walls around, how far is seen each way, and steps of an episode."""
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
TASKS = ("rooms", "CartPole-v1")
BEST = {"rooms": 1.0, "CartPole-v1": 500.0}


class KeyRoom(gymnasium.Env[npt.NDArray[np.int64], np.int64]):
    """Two rooms of 5 x 2 squares, a locked door between them: take the key on one side, reach the goal on the other.

    Every episode has other places. The agent moves by one square in one of four directions; stepping on the key takes
    it, and with it the door opens to a step. It sees 5 x 5 squares around itself, each of five kinds, and whether it
    has the key. The goal pays ``1 - 0.9 t / 50``, all else nothing, as in MiniGrid's DoorKey (Chevalier-Boisvert et
    al., 2023), of which this is a simple relative: without turning, and without actions to take and to open.
    """

    def __init__(self) -> None:
        side = 2 * REACH + 1
        self.observation_space = MultiDiscrete([5] * side**2 + [2])
        self.action_space = Discrete(len(MOVES))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Draws places."""
        super().reset(seed=seed)
        rng = self.np_random
        self.grid = np.full((SIZE + 2 * REACH, SIZE + 2 * REACH), WALL)
        self.room = self.grid[REACH:-REACH, REACH:-REACH]
        self.room[1:-1, 1:-1] = FLOOR
        self.room[1:-1, SIZE // 2] = WALL
        self.room[rng.integers(1, SIZE - 1), SIZE // 2] = DOOR
        here, key = rng.permutation(10)[:2]
        self.at = [1 + int(here) // 2, 1 + int(here) % 2]
        self.room[1 + key // 2, 1 + key % 2] = KEY
        self.room[rng.integers(1, SIZE - 1), SIZE // 2 + 1 + rng.integers(2)] = GOAL
        self.has_key, self.steps = 0, 0
        return self._seen(), {}

    def step(self, action: np.int64) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Moves where there is room."""
        self.steps += 1
        to = [self.at[0] + MOVES[int(action)][0], self.at[1] + MOVES[int(action)][1]]
        there = self.room[to[0], to[1]]
        if there != WALL and (there != DOOR or self.has_key):
            self.at = to
            self.has_key |= int(there == KEY)
            self.room[to[0], to[1]] = FLOOR
        arrived = bool(there == GOAL)
        return self._seen(), arrived * (1 - 0.9 * self.steps / LONGEST), arrived, self.steps >= LONGEST, {}

    def _seen(self) -> npt.NDArray[np.int64]:
        row, column = self.at
        view = self.grid[row : row + 2 * REACH + 1, column : column + 2 * REACH + 1]
        return np.append(view.ravel(), self.has_key)


def made(task: str, count: int) -> SyncVectorEnv:
    """Environments of one of :data:`TASKS`, side by side."""
    make = KeyRoom if task == "rooms" else lambda: gymnasium.make(task)
    return SyncVectorEnv([make] * count, autoreset_mode=AutoresetMode.SAME_STEP)


@dataclass(frozen=True, kw_only=True)
class Learner:
    """A condition.

    Attributes:
        agent: of the catalogue.
        task: of :data:`TASKS`.
        epochs: passes over each rollout.
        value_share: learning rate of a critic that has its own, as a share of the actor's.
    """

    agent: str
    task: str
    epochs: int = 4
    value_share: float | None = None

    @property
    def params(self) -> dict[str, Any]:
        """What is tried besides learning rates."""
        return {"n_epochs": self.epochs} | ({} if self.value_share is None else {"value_share": self.value_share})


@dataclass(frozen=True, kw_only=True)
class KeyRooms:
    """The testbed.

    Attributes:
        steps: of training.
        moments: at which is scored, evenly spaced.
        episodes: of a score.
        n_envs: that experience comes from.
        settings: of all agents.
    """

    steps: int = 51_200
    moments: int = 5
    episodes: int = 100
    n_envs: int = 32
    settings: tuple[tuple[str, Any], ...] = (
        ("n_steps", 64),
        ("batch_size", 512),
        ("gamma", 0.99),
        ("gae_lambda", 0.95),
        ("ent_coef", 0.01),
    )

    def run(self, condition: Learner, rate: float, seed: int) -> Floats:
        """Mean scores ``[moments]`` of sampled actions: the task's returns as shares of the greatest."""
        from ...agents import make

        settings: dict[str, Any] = {**dict(self.settings), "n_epochs": condition.epochs, "learning_rate": rate}
        if condition.value_share is not None:
            settings["value_learning_rate"] = condition.value_share * rate
        agent: Any = make(condition.agent, made(condition.task, self.n_envs), seed=seed, device="cpu", **settings)
        agent.env.seed(seed)
        scores = []
        for _ in range(self.moments):
            agent.learn(self.steps // self.moments, reset_num_timesteps=False)
            scores.append(self._score(agent, condition.task))
        return np.array(scores)

    def _score(self, agent: Any, task: str) -> float:
        """Mean return of episodes that all agents are scored on."""
        envs = made(task, self.episodes)
        seen, _ = envs.reset(seed=list(range(10**6, 10**6 + self.episodes)))
        returns, open_ = np.zeros(self.episodes), np.ones(self.episodes, np.bool_)
        while open_.any():
            actions, _ = agent.predict(seen, deterministic=False)
            seen, rewards, terminated, truncated, _ = envs.step(actions)
            returns += rewards * open_
            open_ &= ~(terminated | truncated)
        return float(returns.mean()) / BEST[task]

    def smallest(self) -> Self:
        """Two rollouts, two episodes."""
        return replace(self, steps=512, moments=1, episodes=2, n_envs=4)
