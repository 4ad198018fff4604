"""Mazes: as far as the level says, any walk to the goal counts, and none through walls."""

import numpy as np
import pytest

from tiltyard.envs.text.maze import LEVELS, Maze, MazeEnv, Problem, follow, reach, shortest_walk

EXAMPLE = Problem(("S..#", ".#..", "...#", "#.G."), (0, 0), (3, 2))


def verdict(moves: str) -> tuple[bool, bool]:
    correct, readable = Maze(1).grade([f"<answer>{moves}</answer>"], [EXAMPLE])
    return bool(correct[0]), bool(readable[0])


def test_a_walk_by_hand() -> None:
    # S..#   the way down: D D to the third row, R R along it, D into the goal
    # .#..
    # ...#
    # #.G.
    assert verdict("DDRRD") == (True, True)
    assert len(shortest_walk(EXAMPLE)) - 1 == 5
    assert Maze(1).solve(EXAMPLE).count(" ") == 5  # six squares
    assert follow(EXAMPLE, "RR") == (0, 2)
    assert follow(EXAMPLE, "RD") is None  # the wall in the second row


@pytest.mark.parametrize(
    ("moves", "correct", "readable"),
    [
        ("D, D, R, R, D", True, True),
        ("D D R R D", True, True),
        ("DDRDR", True, True),
        ("RRDDD", True, True),
        ("RLDDRRD", True, True),  # a detour is a walk as well
        ("DDRRDR", False, True),  # through the goal and beyond
        ("DDRR", False, True),
        ("DRDRD", False, True),  # into a wall
        ("UDDRRD", False, True),  # off the grid
        ("LDDRRD", False, True),
        ("UL", False, True),
        ("ddrrd", False, False),
        ("DDRRD or RRDDD", False, False),
        ("right", False, False),
        ("S..G", False, False),
        ("DDRRD\u2003", False, False),
        ("DDRRD\n", True, True),
        ("RL" * 16 + "DDRRD", False, True),  # 37 moves: more than twice the 16 squares
        ("RL" * 13 + "DDRRD", True, True),  # 31
        ("R" * 100_000, False, False),
    ],
)
def test_any_walk_that_ends_at_the_goal_counts(moves: str, correct: bool, readable: bool) -> None:
    assert verdict(moves) == (correct, readable)


@pytest.mark.parametrize("level", LEVELS)
def test_mazes_are_as_large_and_as_long_as_the_level_says(level: int) -> None:
    size, shortest = LEVELS[level]
    seeds = np.arange(40)
    for problem in Maze(1, level=level, split="test").problems(seeds, seeds):
        text = "".join(problem.rows)
        assert [len(row) for row in problem.rows] == [size] * size
        assert (text.count("S"), text.count("G"), set(text) <= set(".#SG")) == (1, 1, True)
        assert (problem.rows[problem.start[0]][problem.start[1]], problem.goal in reach(problem, problem.start)) == (
            "S",
            True,
        )
        walk = shortest_walk(problem)
        assert len(walk) - 1 >= shortest
        assert all(problem.is_open(square) for square in walk)
        assert all(abs(a[0] - b[0]) + abs(a[1] - b[1]) == 1 for a, b in zip(walk, walk[1:], strict=False))


def test_one_walk_for_all_mazes_does_not_exist() -> None:
    seeds = np.arange(200)
    lanes = Maze(1, split="test")
    problems = lanes.problems(seeds, seeds)
    sweep = "RRRDLLLDRRRDLLL"  # every square of an empty grid, row by row
    for moves in (sweep, "RRRDDD", "DDDRRR", "RDRDRD"):
        assert lanes.grade([f"<answer>{moves}</answer>"] * 200, problems)[0].mean() < 0.05


def test_the_reset_names_the_maze() -> None:
    question, info = MazeEnv().reset(seed=2)
    assert question == info["maze"]
    assert info["shortest"] >= 4
