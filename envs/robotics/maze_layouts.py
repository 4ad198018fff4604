"""Mazes of square cells: the layouts of D4RL, the paths through them, and their walls.

A layout is drawn in rows of characters from above, ``#`` a wall and ``.`` free. The maze is centred on (0, 0), x to the
right and y up, as in Gymnasium-Robotics (``gymnasium_robotics/envs/maze/maze_v4.py``).
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

from ... import unknown
from ..core import Bools, Floats, Ints

WALL, FREE = "#", "."
WALL_COLOUR = "0.36 0.42 0.52 1"

LAYOUTS: Mapping[str, tuple[str, ...]] = {
    # U_MAZE, MEDIUM_MAZE and LARGE_MAZE of D4RL (Fu et al. 2020), d4rl/pointmaze/maze_model.py
    "umaze": ("#####", "#...#", "###.#", "#...#", "#####"),
    "medium": ("########", "#..##..#", "#..#...#", "##...###", "#..#...#", "#.#..#.#", "#...#..#", "########"),
    "large": (
        "############",
        "#....#.....#",
        "#.##.#.#.#.#",
        "#......#...#",
        "#.####.###.#",
        "#..#.#.....#",
        "##.#.#.#.###",
        "#..#...#...#",
        "############",
    ),
}


def rows_of(layout: str | Sequence[str]) -> tuple[str, ...]:
    """The rows of a layout given by name, or as a list of rows of one's own.

    Raises:
        ValueError: on an unknown name, or rows that are no closed maze with somewhere to go.
    """
    if isinstance(layout, str):
        if layout not in LAYOUTS:
            raise ValueError(unknown("layout", layout, LAYOUTS))
        return LAYOUTS[layout]
    if not isinstance(layout, Sequence) or not layout or not all(isinstance(row, str) for row in layout):
        raise ValueError(f"a layout is a name ({', '.join(LAYOUTS)}) or a list of strings, got {layout!r}")
    rows = tuple(layout)
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"the rows of a layout must be equally long, got lengths {[len(row) for row in rows]}")
    strange = sorted(set("".join(rows)) - {WALL, FREE})
    if strange:
        raise ValueError(f"a layout is drawn with {WALL!r} (wall) and {FREE!r} (free), got {strange[0]!r}")
    border = rows[0] + rows[-1] + "".join(row[:1] + row[-1:] for row in rows)
    if set(border) != {WALL}:
        raise ValueError(f"the border of a layout must be closed: {WALL!r} in the first and last row and column")
    return rows


class Maze:
    """A layout's geometry; points are ``[..., 2]`` arrays of x and y in metres.

    Args:
        layout: a name or rows; see :func:`rows_of`.
        scale: metres a cell is wide.
        body: metres that the middle of the body in the maze keeps from walls; less than half a cell.
        success: metres between body and goal that count as reached.

    Attributes:
        rows: the layout.
        width: of the whole, walls included, in metres.
        height: likewise.
        cells: row and column of each free cell ``[k, 2]``.
        centres: of the free cells ``[k, 2]``.
        steps: length in cells of the shortest path from one free cell to another ``[k, k]``; -1 where there is none.
        onward: the first cell of that path ``[k, k]``; the cell itself where there is none.

    Raises:
        ValueError: see :func:`rows_of`; or no two free cells side by side.
    """

    def __init__(self, layout: str | Sequence[str], *, scale: float, body: float, success: float) -> None:
        self.rows, self.scale, self.success = rows_of(layout), scale, success
        free = np.array([[character == FREE for character in row] for row in self.rows])
        self.height, self.width = scale * free.shape[0], scale * free.shape[1]
        self.cells: Ints = np.argwhere(free)
        self.centres = self._centre(self.cells)
        self._index: Ints = np.full(free.shape, -1)
        self._index[free] = np.arange(len(self.cells))
        self.steps, self.onward = _shortest_paths(self._index, self.cells)
        self.longest = int(self.steps.max(initial=0))
        if self.longest == 0:
            raise ValueError(f"a layout needs at least two free cells ({FREE!r}) side by side")
        around = [_shifted(free, way)[free] for way in ((0, -1), (1, 0), (0, 1), (-1, 0))]  # west, south, east, north
        room = scale / 2 - body * ~np.stack(around, axis=1)  # metres from a cell's centre that the body's may go
        self._low, self._high = self.centres - room[:, :2], self.centres + room[:, 2:]

    def _centre(self, cells: Ints) -> Floats:
        rows, columns = cells.T
        x, y = (columns + 0.5) * self.scale - self.width / 2, self.height / 2 - (rows + 0.5) * self.scale
        return np.stack((x, y), axis=1)

    def _cell_or_wall(self, points: Floats) -> Ints:
        """Which free cell points are in ``[...]``, -1 in a wall and outside, which the border's walls stand for."""
        down, right = (size - 1 for size in self._index.shape)
        columns = np.floor((points[..., 0] + self.width / 2) / self.scale).clip(0, right).astype(np.int64)
        rows = np.floor((self.height / 2 - points[..., 1]) / self.scale).clip(0, down).astype(np.int64)
        return np.array(self._index[rows, columns])

    def outside(self, points: Floats) -> Bools:
        """Whether points ``[...]`` are in or over a wall, or out of the maze."""
        return np.asarray(self._cell_or_wall(points) < 0)

    def cell(self, points: Floats) -> Ints:
        """Which free cell points are in ``[...]``; for a point in a wall or outside, the one to come nearest from."""
        cells = self._cell_or_wall(points)
        walled = cells < 0
        if walled.any():
            cells[walled] = self._gaps(points[walled]).argmin(axis=-1)
        return cells

    def waypoint(self, points: Floats, goals: Floats, share: float = 1.0) -> Floats:
        """Where to head next ``[..., 2]``: the goal from its own cell and those beside it, else towards the next cell.

        That is the point at ``share`` of the line from this cell's middle to the next one's: less than 1 turns later.
        The way there is free: two cells side by side are convex.
        """
        here, there = self.cell(points), self.cell(goals)
        close = (self.steps[here, there] < 2)[..., None]
        middle = self.centres[here]
        ahead: Floats = np.where(close, goals, middle + share * (self.centres[self.onward[here, there]] - middle))
        return ahead

    def path_length(self, points: Floats, goals: Floats) -> Floats:
        """Metres ``[...]`` to the goal around the walls, through the middles of the cells between the two ends'.

        From the goal's own cell and those beside it, and where no path leads to it, the straight line.
        """
        here, there = self.cell(points), self.cell(goals)
        steps, straight = self.steps[here, there], np.linalg.norm(points - goals, axis=-1)
        first = np.linalg.norm(points - self.centres[self.onward[here, there]], axis=-1)
        last = np.linalg.norm(goals - self.centres[self.onward[there, here]], axis=-1)
        metres: Floats = np.where(steps < 2, straight, first + (steps - 2) * self.scale + last)
        return metres

    def _gaps(self, points: Floats) -> Floats:
        """Metres ``[..., k]`` from points to where the body's middle can be in each cell."""
        points = points[..., None, :]
        beyond = np.maximum(0, np.maximum(self._low - points, points - self._high))
        return np.asarray(np.linalg.norm(beyond, axis=-1))

    def has_room(self, point: Floats) -> bool:
        """Whether the body can be at a point without touching a wall."""
        return bool(self._gaps(point).min() == 0)

    def reachable(self, starts: Floats, goals: Floats) -> Bools:
        """Whether the body can come from each start within the success radius of its goal, which may lie in a wall."""
        gaps = np.where(self.steps[self.cell(starts)] >= 0, self._gaps(goals), np.inf)
        return np.asarray(gaps.min(axis=-1) <= self.success)

    def far_from(self, point: Floats, steps: int) -> Ints:
        """The cells at least ``steps`` away on a path from that of ``point``, or where there are none, the farthest."""
        row = self.steps[self.cell(point)]
        return np.flatnonzero(row >= min(steps, row.max()))

    def add_walls(self, body: ElementTree.Element, *, middle: float, half: float) -> None:
        """Gives a body of a MuJoCo model the walls as geoms, ``half`` metres up and down from the height ``middle``."""
        for row, column in np.argwhere([[character == WALL for character in line] for line in self.rows]):
            x, y = self._centre(np.array([[row, column]]))[0]
            where = {"pos": f"{x} {y} {middle}", "size": f"{self.scale / 2} {self.scale / 2} {half}"}
            felt = {"contype": "1", "conaffinity": "1", "rgba": WALL_COLOUR}
            ElementTree.SubElement(body, "geom", {"name": f"wall_{row}_{column}", "type": "box", **where, **felt})


def _shifted(free: Bools, way: tuple[int, int]) -> Bools:
    """Whether the neighbour of each cell, ``way`` rows and columns on, is free; the border is never asked."""
    return np.roll(free, (-way[0], -way[1]), axis=(0, 1))


def _neighbours(index: npt.NDArray[np.int64], cell: Ints) -> Iterator[int]:
    for down, right in ((0, -1), (0, 1), (-1, 0), (1, 0)):
        neighbour = int(index[cell[0] + down, cell[1] + right])
        if neighbour >= 0:
            yield neighbour


def _shortest_paths(index: Ints, cells: Ints) -> tuple[Ints, Ints]:
    """Breadth first from every cell: ``steps`` and ``onward`` of :class:`Maze`."""
    count = len(cells)
    beside = [list(_neighbours(index, cell)) for cell in cells]
    steps = np.full((count, count), -1)
    onward = np.tile(np.arange(count)[:, None], (1, count))
    for goal in range(count):
        steps[goal, goal] = 0
        queue = deque([goal])
        while queue:
            cell = queue.popleft()
            for other in beside[cell]:
                if steps[other, goal] < 0:
                    steps[other, goal] = steps[cell, goal] + 1
                    onward[other, goal] = cell
                    queue.append(other)
    return steps, onward
