"""A phone's pixels and goal as fixed-size spaces for Stable-Baselines3: nothing of the accessibility tree is read.

The policy that goes with it is SB3's ``MultiInputPolicy``, best with the features extractor of
:mod:`tiltyard.agents.models.screens`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Dict, Discrete, Space

from ..envs.gui.commands import VERBS, parse
from .elements import PLAIN, candidates, hashed

GOAL_BITS = 256


class Pixels:
    """The adapter of phones seen by pixels alone (see :class:`tiltyard.wrappers.spaces.Adapter`).

    Observation: ``Dict(screen: uint8 [H, W, 3], goal: float32 [256])``: the screen as it is, and the words of the goal
    hashed into buckets.

    Action: ``Discrete``: tap the middle of cell 0 ... ``rows * columns - 1`` of a grid over the screen (row by row from
    the top), type candidate 0 ... ``strings - 1`` of the goal (its names, numbers and addresses, in order; a candidate
    that is not there types nothing), then swipe up, swipe down, back, home, enter, done.

    Args:
        observation_space: of the environment, with ``screen`` and ``goal``.
        action_space: of the environment (action strings).
        rows: of the grid.
        columns: of the grid.
        strings: candidate strings offered.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        *,
        rows: int = 24,
        columns: int = 12,
        strings: int = 6,
    ) -> None:
        if rows < 1 or columns < 1 or strings < 0:
            raise ValueError(f"rows and columns must be at least 1, strings 0, got {rows}, {columns} and {strings}")
        assert isinstance(observation_space, Dict)
        self.rows, self.columns, self.strings = rows, columns, strings
        goal = Box(-1.0, 1.0, (GOAL_BITS,), np.float32)
        self.observation_space: Space[Any] = Dict(screen=observation_space["screen"], goal=goal)
        self.action_space: Space[Any] = Discrete(rows * columns + strings + len(PLAIN))

    def encode(self, observation: Mapping[str, Any]) -> dict[str, npt.NDArray[Any]]:
        """One observation: ``screen`` and ``goal``."""
        return {"goal": hashed(observation["goal"], GOAL_BITS), "screen": observation["screen"]}

    def decode(self, action: Any, observation: Mapping[str, Any]) -> str:
        """The action string of an index."""
        index, cells = int(action), self.rows * self.columns
        if index < cells:
            row, column = divmod(index, self.columns)
            return f"tap {(column + 0.5) / self.columns:.3f} {(row + 0.5) / self.rows:.3f}"
        if index >= cells + self.strings:
            return PLAIN[index - cells - self.strings]
        offered = candidates(observation["goal"])
        return f"type {offered[index - cells]}" if index - cells < len(offered) else "wait"

    def index(self, action: str, observation: Mapping[str, Any]) -> int | None:
        """The index of an action string, for learning from demonstrations; ``None`` where none says it.

        A tap has that of the cell in which it lies.
        """
        command, cells = parse(action, VERBS), self.rows * self.columns
        if command.verb == "tap":
            x, y = (float(word) for word in action.split()[1:3])
            row, column = (min(int(share * n), n - 1) for share, n in ((y, self.rows), (x, self.columns)))
            return row * self.columns + column
        if command.verb == "type":
            typed, offered = action.removeprefix("type "), candidates(observation["goal"])[: self.strings]
            return cells + offered.index(typed) if typed in offered else None
        return cells + self.strings + PLAIN.index(action) if action in PLAIN else None
