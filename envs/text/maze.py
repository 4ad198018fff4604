"""Mazes in characters: the grid is the question, a walk from S to G is the answer, and any walk that gets there counts.

=====  ====  =============
level  grid  shortest walk
=====  ====  =============
1      4x4   4 or more
2      5x5   6 or more
3      6x6   8 or more
4      7x7   11 or more
5      9x9   15 or more
=====  ====  =============

Two of five squares are walls, drawn at random; the goal is drawn among the squares that the start reaches in at least
as many moves as the level says. A maze belongs to one split for ever, and it is the same maze turned, mirrored, walked
from G to S, or with other squares where no walk gets to (:func:`canonical`).
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import BatchedVectorEnv, Bools, Info, SingleEnv
from ..seeding import Split
from .base import CLOSE, OPEN, BatchedText, draw_problems, last_answer, level_of

WALLS = 0.4
RULES = (
    "\nWalk from S to G through '.', by U (up), D (down), L (left) and R (right), never into '#' or off the grid. "
    "Think as long as you need, then give the moves alone, as in <answer>RRDL</answer>."
)
MOVES: dict[str, tuple[int, int]] = {"R": (0, 1), "D": (1, 0), "L": (0, -1), "U": (-1, 0)}
"""Rows and columns that a move adds."""

_WALK = re.compile(r"[ \n]*([UDLR]([ ,]{0,2}[UDLR]){0,999})[ \n]*")

Square = tuple[int, int]


class Level(NamedTuple):
    """How hard: rows and columns of the grid, and how far the goal is at least."""

    size: int
    shortest: int


LEVELS: dict[int, Level] = {1: Level(4, 4), 2: Level(5, 6), 3: Level(6, 8), 4: Level(7, 11), 5: Level(9, 15)}


class Problem(NamedTuple):
    """One maze: its rows in characters, and where S and G stand in them (row, column, from 0)."""

    rows: tuple[str, ...]
    start: Square
    goal: Square

    def is_open(self, square: Square) -> bool:
        """Whether a square is on the grid and no wall."""
        row, column = square
        return 0 <= row < len(self.rows) and 0 <= column < len(self.rows) and self.rows[row][column] != "#"


@cache
def _neighbours(size: int) -> tuple[tuple[int, ...], ...]:
    """Of every square of a grid, numbered row by row, those beside it, in the order of MOVES."""
    return tuple(
        tuple(
            (i + down) * size + j + right
            for down, right in MOVES.values()
            if 0 <= i + down < size and 0 <= j + right < size
        )
        for i in range(size)
        for j in range(size)
    )


@cache
def _views(size: int) -> tuple[Callable[[Sequence[str]], tuple[str, ...]], ...]:
    """What makes of a grid's squares, row by row, those of it turned by quarters, and of the mirror images of these."""
    turns = [np.rot90(np.arange(size * size).reshape(size, size), quarter) for quarter in range(4)]
    return tuple(itemgetter(*way.ravel().tolist()) for turn in turns for way in (turn, turn.T))


def _flood(squares: Sequence[str], size: int, start: int) -> dict[int, int]:
    """:func:`reach` by numbers of squares."""
    neighbours, before, queue = _neighbours(size), {start: start}, [start]
    for square in queue:  # the queue grows while it is walked through
        for neighbour in neighbours[square]:
            if neighbour not in before and squares[neighbour] != "#":
                before[neighbour] = square
                queue.append(neighbour)
    return before


def reach(problem: Problem, start: Square) -> dict[Square, Square]:
    """The squares that can be reached from ``start``, nearest first, each with the one before it on a shortest walk."""
    size = len(problem.rows)
    found = _flood("".join(problem.rows), size, start[0] * size + start[1])
    return {divmod(square, size): divmod(before, size) for square, before in found.items()}


def shortest_walk(problem: Problem) -> list[Square]:
    """The squares of a shortest walk, S and G included."""
    size, ((i, j), (row, column)) = len(problem.rows), (problem.start, problem.goal)
    goal, walk = row * size + column, [i * size + j]
    before = _flood("".join(problem.rows), size, goal)
    while walk[-1] != goal:
        walk.append(before[walk[-1]])
    return [divmod(square, size) for square in walk]


def follow(problem: Problem, moves: str) -> Square | None:
    """Where ``moves`` lead from S; None if one of them hits a wall or leaves the grid."""
    square = problem.start
    for move in moves:
        down, right = MOVES[move]
        square = square[0] + down, square[1] + right
        if not problem.is_open(square):
            return None
    return square


def draw(rng: np.random.Generator, level: Level) -> Problem:
    """A maze of a level, of either split."""
    size = level.size
    while True:
        walls = rng.random((size, size)) < WALLS
        start = int(rng.integers(size)), int(rng.integers(size))
        walls[start] = False
        squares = [".#"[wall] for wall in walls.ravel().tolist()]
        begin = start[0] * size + start[1]
        far = _at_least(_flood(squares, size, begin), level.shortest)
        if far:
            goal = far[int(rng.integers(len(far)))]
            squares[begin], squares[goal] = "S", "G"
            text = "".join(squares)
            rows = tuple(text[first : first + size] for first in range(0, size * size, size))
            return Problem(rows, start, divmod(goal, size))


def canonical(problem: Problem) -> str:
    """Alike for mazes that are the same turned, mirrored or walked backwards, and for no others.

    Squares that cannot be reached count as walls: no right walk hangs on them.
    """
    size, text = len(problem.rows), "".join(problem.rows)
    start, goal = (row * size + column for row, column in (problem.start, problem.goal))
    reached = _flood(text, size, start)
    marks = ["." if square in reached else "#" for square in range(size * size)]
    marks[start] = marks[goal] = "O"
    return min("".join(view(marks)) for view in _views(size))


def _at_least(before: dict[int, int], distance: int) -> list[int]:
    """The squares at least so far from where the search began."""
    steps: dict[int, int] = {}
    for square, previous in before.items():
        steps[square] = steps[previous] + 1 if previous in steps else 0
    return [square for square, count in steps.items() if count >= distance]


def _told(walk: Sequence[Square]) -> str:
    """The squares of a walk, row and column from 1 as one number each, and the moves between them."""
    names = {step: move for move, step in MOVES.items()}
    moves = [names[b[0] - a[0], b[1] - a[1]] for a, b in zip(walk, walk[1:], strict=False)]
    return f"{' '.join(f'{row + 1}{column + 1}' for row, column in walk)}{OPEN}{''.join(moves)}{CLOSE}"


class Maze(BatchedText[Problem]):
    """The environments of text mazes. ``info["maze"]`` and ``info["shortest"]`` at reset name the problem.

    The expert names the squares of a shortest walk (row and column in one number), then says the moves::

        S..#
        .#..
        ...#
        #.G.
        11 21 31 32 33 43<answer>DDRRD</answer>

    The corrupted texts of :meth:`demonstrations` walk straight at the goal and through a wall; where no straight walk
    meets one, they stop one square short.

    Args:
        num_envs: number of environments.
        level: 1 (4x4) to 5 (9x9), see the table above.
        instructions: the question also states the rules, for language models that have not been trained on the task.
        split: "train" or "test".
        render_mode: None or "rgb_array".
    """

    def __init__(
        self,
        num_envs: int,
        *,
        level: int = 1,
        instructions: bool = False,
        split: Split = "train",
        render_mode: str | None = None,
    ) -> None:
        self._shape = level_of(level, LEVELS)
        super().__init__(num_envs, split=split, render_mode=render_mode, question_length=384, answer_length=384)
        self.level = level
        self._rules = RULES if instructions else ""

    def problems(self, seeds: npt.ArrayLike, episodes: npt.ArrayLike) -> list[Problem]:
        """Mazes of the level, of this split."""
        return draw_problems(self.split, seeds, episodes, lambda rng: draw(rng, self._shape), canonical)

    def canonical(self, problem: Problem) -> str:
        """See :func:`canonical`."""
        return canonical(problem)

    def prompt(self, problem: Problem) -> str:
        """The grid, one line a row."""
        return "\n".join(problem.rows) + self._rules

    def grade(self, texts: Sequence[str], problems: Sequence[Problem]) -> tuple[Bools, Bools]:
        """Moves that lead from S to G and end there; letters with up to two spaces or commas between them can be read.

        No walk needs more moves than twice the number of squares, so longer ones are not right.
        """
        found = [_WALK.fullmatch(last_answer(text) or "") for text in texts]
        right = [
            match is not None and self._is_right(re.sub("[ ,]", "", match[1]), problem)
            for match, problem in zip(found, problems, strict=True)
        ]
        return np.array(right, np.bool_), np.array([match is not None for match in found], np.bool_)

    def _is_right(self, moves: str, problem: Problem) -> bool:
        return len(moves) <= 2 * self._shape.size**2 and follow(problem, moves) == problem.goal

    def solve(self, problem: Problem) -> str:
        """A shortest walk."""
        return _told(shortest_walk(problem))

    def corrupt(self, problem: Problem, rng: np.random.Generator) -> str:
        """A straight walk through a wall, or one that stops too soon."""
        rows, columns = problem.goal[0] - problem.start[0], problem.goal[1] - problem.start[1]
        steps = [(int(np.sign(rows)), 0)] * abs(rows) + [(0, int(np.sign(columns)))] * abs(columns)
        walk = [problem.start]
        for i in rng.permutation(len(steps)).tolist():
            walk.append((walk[-1][0] + steps[i][0], walk[-1][1] + steps[i][1]))
        through_a_wall = not all(problem.is_open(square) for square in walk)
        return _told(walk if through_a_wall else shortest_walk(problem)[:-1])

    def describe(self, problems: Sequence[Problem]) -> Info:
        """``maze`` (the grid as text) and ``shortest`` (moves of a shortest walk)."""
        return {
            "maze": ["\n".join(problem.rows) for problem in problems],
            "shortest": [len(shortest_walk(problem)) - 1 for problem in problems],
        }


class MazeEnv(SingleEnv):
    """``tiltyard/Maze-v0``; keywords as :class:`Maze`."""

    batched_class = Maze


class MazeVectorEnv(BatchedVectorEnv):
    """``tiltyard/Maze-v0`` as a native vector; keywords as :class:`Maze`."""

    batched_class = Maze
