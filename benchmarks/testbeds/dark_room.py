"""Dark-Room: a square of which nothing is seen but where one stands, with a goal somewhere that pays.

As in Laskin et al., In-context Reinforcement Learning with Algorithm Distillation (2022), and Lee et al., Supervised
Pretraining Can Learn In-Context Reinforcement Learning (2023): five actions, a reward of 1 in each step that ends at
the goal, and episodes of fixed length from a corner. Goals of the two splits are different squares.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from ...envs import InvalidAction
from ...envs.actions import numbers
from ...envs.core import BatchedEnv, BatchedVectorEnv, Bools, Floats, Info, Ints, SingleEnv
from ...envs.seeding import Split, check_split, problem_rng

MOVES = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]])
TEST_EVERY = 5
"""One square in so many is a goal of the test split."""


class DarkRooms(BatchedEnv):
    """The rooms, batched. ``info["goal"]`` at reset names the problem; observations are row and column.

    Args:
        num_envs: rooms.
        size: rows and columns.
        steps: of an episode.
        split: "train" or "test".
        render_mode: None.
    """

    metadata = {"render_modes": []}  # noqa: RUF012
    env_state = ("goal", "place", "taken")

    def __init__(
        self,
        num_envs: int,
        *,
        size: int = 10,
        steps: int = 100,
        split: Split = "train",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(num_envs, render_mode)
        if size < 3 or steps < 1:
            raise ValueError(f"a room has a size of at least 3 and at least 1 step, got {size} and {steps}")
        self.size, self.steps, self.split = size, steps, check_split(split)
        self.observation_space = Box(0.0, size - 1.0, (2,))
        self.action_space = Discrete(len(MOVES))
        order = np.random.default_rng(size).permutation(size**2)
        tested = len(order) // TEST_EVERY
        self.goals = np.sort(order[:tested] if self.split == "test" else order[tested:])
        self.goal, self.place = np.zeros((num_envs, 2), np.int64), np.zeros((num_envs, 2), np.int64)
        self.taken = np.zeros(num_envs, np.int64)

    def begin(self, indices: Ints, seeds: Ints, episodes: Ints) -> None:
        """Draws goals of the split."""
        for index, seed, one in zip(indices.tolist(), seeds.tolist(), episodes.tolist(), strict=True):
            goal = int(problem_rng(self.split, seed, one).choice(self.goals))
            self.goal[index] = divmod(goal, self.size)
            self.place[index], self.taken[index] = 0, 0

    def check(self, actions: Any) -> Ints:
        """Moves ``[n]``."""
        wanted = f"an action is a number from 0 to {len(MOVES) - 1}"
        moves = numbers(actions, (self.num_envs,), kinds="iu", wanted=wanted).astype(np.int64)
        if moves.min() < 0 or moves.max() >= len(MOVES):
            raise InvalidAction(f"{wanted}, got {moves.tolist()!r:.100}")
        return moves

    def advance(self, actions: Ints, active: Bools) -> tuple[Floats, Bools]:
        """Moves where there is room."""
        moved = np.clip(self.place + MOVES[actions], 0, self.size - 1)
        self.place = np.where(active[:, None], moved, self.place)
        self.taken = self.taken + active
        rewards = (self._there() & active).astype(np.float64)
        return rewards, active & (self.taken >= self.steps)

    def _there(self) -> Bools:
        found: Bools = (self.place == self.goal).all(axis=1)
        return found

    def observe(self) -> npt.NDArray[np.float32]:
        """Places ``[n, 2]``."""
        return self.place.astype(np.float32)

    def reset_info(self) -> Info:
        """The goals."""
        return {"goal": self.goal.copy()}

    def step_info(self) -> Info:
        """Whether the goal is where one stands."""
        there = self._there()
        return {"success": there, "reward_terms": {"goal": there.astype(np.float64)}}

    def expert_actions(self) -> Ints:
        """Rows first, then columns; then to stay."""
        rows, columns = (self.goal - self.place).T
        by_column = np.select([columns > 0, columns < 0], [2, 3], 4)
        found: Ints = np.select([rows > 0, rows < 0], [0, 1], by_column).astype(np.int64)
        return found


class DarkRoomEnv(SingleEnv):
    """One room; keywords as of :class:`DarkRooms`."""

    batched_class = DarkRooms


class DarkRoomVectorEnv(BatchedVectorEnv):
    """Several rooms; keywords as of :class:`DarkRooms`."""

    batched_class = DarkRooms
