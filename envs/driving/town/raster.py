"""What an agent sees from above, as a network takes it: ``uint8 [64, 64, 8]``, the agent heading up.

A pixel is 0.75 m wide; the agent is in the middle of column 31 and 32, at row 47, so that it sees 36 m ahead and 12 m
behind. The ground is looked up in a bitmap of its map; everything that moves is filled in, box by box.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from ..compiled import compiled, inlined
from ..maps.graph import AMBER, RED, SIGNAL
from ..reference import by_reference
from .atlas import Atlas
from .episode import Episode
from .observe import hidden
from .paint import Paint
from .sight import colour
from .state import ABSENT, BICYCLE, NONE, PERSON, Agent, World

PIXELS = 64
METRES = 0.75  # a pixel
ROW, COLUMN = 48.0, 32.0  # the agent's, at pixel edges
CHANNELS = (
    "road",
    "markings, stop lines and crossings",
    "route",
    "stop lines ahead on the route: red 255, amber or a sign 160, green 80",
    "vehicles; 128: the agent itself",
    "speed of vehicles / 20 m/s",
    "people and cyclists",
    "own speed / 20 m/s in the left half, limit / 20 m/s in the right half",
)
"""The last axis; where nothing else is said 255 is yes and 0 no."""
ROAD, MARKS, WAY, LINES, VEHICLES, SPEEDS, PEOPLE, OWN = range(8)
CELL = 0.5  # m, of the ground's bitmap
FINE_BITS = 16
FINE = float(1 << FINE_BITS)
FARTHEST = 48.0  # m
BELOW = (1 << FINE_BITS) - 1
ON_ROAD, ON_MARK = 1, 2
ROAD_BIT, ROAD_WORD, MARK_WORD = np.uint64(ON_ROAD), np.uint64(255 << (8 * ROAD)), np.uint64(255 << (8 * MARKS))


@by_reference
class Ground(NamedTuple):
    """Bitmaps of the ground of all maps, one after the other; cell (i, j) is at ``first + i * ny + j``.

    The first cell is off all maps.
    """

    bits: npt.NDArray[np.uint8]  # ON_ROAD + ON_MARK
    first: npt.NDArray[np.int64]  # [M + 1]
    shape: npt.NDArray[np.int32]  # [M, 2] nx, ny
    origin: npt.NDArray[np.float32]  # [M, 2] m


def bitmap(painted: Paint) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64]]:
    """The ground of a map, ``[nx, ny]``, and where it begins, ``[2]`` m."""
    everything = np.concatenate(painted.ground)
    low = np.floor(everything.min(axis=0)) - 2.0
    shape = np.ceil((everything.max(axis=0) + 2.0 - low) / CELL).astype(int)
    layers = []
    for outlines in (painted.ground, [*painted.marks, *painted.stripes, *painted.stops]):
        image = Image.new("1", (int(shape[1]), int(shape[0])))  # rows are x, columns are y
        brush = ImageDraw.Draw(image)
        for outline in outlines:
            at = (outline - low) / CELL - 0.5
            brush.polygon([(float(y), float(x)) for x, y in at], fill=1, outline=1)
        layers.append(np.asarray(image))
    return (layers[0] * ON_ROAD + layers[1] * ON_MARK).astype(np.uint8), low


def grounds(paints: list[Paint]) -> Ground:
    """The bitmaps of maps, as compiled code takes them."""
    drawn = [bitmap(painted) for painted in paints]
    sizes = [bits.size for bits, _ in drawn]
    return Ground(
        bits=np.concatenate([np.zeros(1, np.uint8), *(bits.ravel() for bits, _ in drawn)]),
        first=np.cumsum([1, *sizes]).astype(np.int64),
        shape=np.array([bits.shape for bits, _ in drawn], np.int32),
        origin=np.array([low for _, low in drawn], np.float32),
    )


@compiled
def lay_ground(ground: Ground, number: int, own: Agent, v: int, limit: int, cells: Any, out: Any) -> None:
    """Writes all that does not move into ``out`` ``[64, 64, 8]``: road, markings, own speed, limit; zeros elsewhere.

    A pixel's eight bytes are one word, and its place on the ground is counted in 65536ths of a cell. A row's cells are
    found all at once, in 32-bit integers as processors add many at a time, and then looked up.

    Args:
        ground: of all maps.
        number: of the map.
        own: who sees it.
        v: grey value of its speed.
        limit: grey value of the limit.
        cells: ``[64]`` uint32 scratch.
        out: see above.
    """
    nx, ny, first = ground.shape[number, 0], ground.shape[number, 1], ground.first[number]
    cos, sin = METRES / CELL * math.cos(own.heading), METRES / CELL * math.sin(own.heading)
    x0 = (own.x - ground.origin[number, 0]) / CELL
    y0 = (own.y - ground.origin[number, 1]) / CELL
    across, along = np.int32(sin * FINE), np.int32(-cos * FINE)
    words, bits = out.reshape(-1).view(np.uint64), ground.bits
    own_speed, own_limit = np.uint64(v) << np.uint64(8 * OWN), np.uint64(limit) << np.uint64(8 * OWN)
    left = COLUMN - 0.5
    for row in range(PIXELS):
        forward = ROW - 0.5 - row
        x = int(math.floor((x0 + forward * cos - left * sin) * FINE))
        y = int(math.floor((y0 + forward * sin + left * cos) * FINE))
        i0, j0 = np.int32(x >> FINE_BITS), np.int32(y >> FINE_BITS)
        find_cells(i0, j0, np.int32(x & BELOW), np.int32(y & BELOW), across, along, nx, ny, first, cells)
        for k in range(PIXELS):
            bit = np.uint64(bits[cells[k]])
            word = (bit & ROAD_BIT) * ROAD_WORD + (bit >> ROAD_BIT) * MARK_WORD
            words[row * PIXELS + k] = word | (own_speed if k < PIXELS // 2 else own_limit)


@inlined
def find_cells(
    i0: Any, j0: Any, x: Any, y: Any, across: Any, along: Any, nx: int, ny: int, first: int, cells: Any
) -> None:
    """Writes the places of a row's cells in :class:`Ground` into ``cells`` ``[64]``; 0 off the map.

    Args:
        i0: the first pixel's cell.
        j0: see there.
        x: its place in that cell, in 65536ths.
        y: see there.
        across: of a step to the next pixel, in 65536ths of a cell.
        along: see there.
        nx: cells of the map.
        ny: see there.
        first: of the map.
        cells: see above.
    """
    for k in range(PIXELS):
        i = np.int32(i0 + np.int32(np.int32(x + np.int32(np.int32(k) * across)) >> np.int32(FINE_BITS)))
        j = np.int32(j0 + np.int32(np.int32(y + np.int32(np.int32(k) * along)) >> np.int32(FINE_BITS)))
        inside = (np.uint32(i) < np.uint32(nx)) & (np.uint32(j) < np.uint32(ny))
        cells[k] = np.uint32(np.int32(np.int32(i * ny) + j) + first) if inside else np.uint32(0)


@compiled
def fill_box(
    out: Any,
    channel: int,
    value: int,
    forward: float,
    left: float,
    turn: float,
    length: float,
    width: float,
    speed: int = 0,
) -> None:
    """Fills a box in one channel with at least ``value``; one that is smaller than a pixel fills that pixel.

    Its middle is given in m before and left of the agent, its heading relative to the agent's, its size in m; where
    ``speed`` is not 0 the channel of speeds gets at least that.
    """
    row, column = ROW - forward / METRES, COLUMN - left / METRES
    a, b = 0.5 * length / METRES, 0.5 * width / METRES
    if row + a + b < 0.0 or row - a - b > PIXELS or column + a + b < 0.0 or column - a - b > PIXELS:
        return
    cos, sin = math.cos(turn), math.sin(turn)
    high, wide = a * abs(cos) + b * abs(sin), a * abs(sin) + b * abs(cos)
    if row + high < 0.0 or row - high > PIXELS or column + wide < 0.0 or column - wide > PIXELS:
        return
    for i in range(max(0, int(row - high)), min(PIXELS, int(row + high) + 1)):
        up = row - i - 0.5
        for j in range(max(0, int(column - wide)), min(PIXELS, int(column + wide) + 1)):
            beside = column - j - 0.5
            along, across = up * cos + beside * sin, beside * cos - up * sin
            if (abs(along) <= a and abs(across) <= b) or (abs(up) <= 0.5 and abs(beside) <= 0.5):
                out[i, j, channel] = max(out[i, j, channel], value)
                if speed > 0:
                    out[i, j, SPEEDS] = max(out[i, j, SPEEDS], speed)


@compiled
def rasterise(
    atlas: Atlas, ground: Ground, batch: Any, episode: Episode, occlusion: bool, cells: Any, out: Any
) -> None:
    """Writes what an episode's agent sees into ``out`` ``[64, 64, 8]``; ``cells`` ``[64]`` is scratch."""
    w, me = episode.world, episode.agent
    world, agents, route = batch.worlds[w], batch.agents[w], batch.routes[w, me]
    own = agents[me]
    limit = atlas.lanes[own.lane].limit if own.lane != NONE else 0.0
    lay_ground(ground, world.map, own, level(own.v), level(limit), cells, out)
    _route(atlas, world, route, own, out)
    cos, sin = math.cos(own.heading), math.sin(own.heading)
    for k in range(world.agents):
        other = agents[k]
        dx, dy = other.x - own.x, other.y - own.y
        if other.controller == ABSENT or dx * dx + dy * dy > FARTHEST * FARTHEST:
            continue
        if occlusion and k != me and hidden(world, agents, me, k):
            continue
        forward, left, turn = dx * cos + dy * sin, dy * cos - dx * sin, other.heading - own.heading
        slow = other.kind == PERSON or other.kind == BICYCLE
        value = 128 if k == me else 255
        speed = 0 if slow else level(other.v)
        fill_box(out, PEOPLE if slow else VEHICLES, value, forward, left, turn, other.length, other.width, speed)


@compiled
def level(v: float) -> int:
    """A speed as a grey value: 255 is 20 m/s or more."""
    return int(min(max(v, 0.0) / 20.0, 1.0) * 255.0)


@compiled
def _route(atlas: Atlas, world: World, route: Any, own: Agent, out: Any) -> None:
    """Fills in the route, segment by segment, and the stop lines on it."""
    cos, sin = math.cos(own.heading), math.sin(own.heading)
    base = -own.s
    for index in range(len(route)):
        if route[index] == NONE or base > FARTHEST:
            break
        lane = atlas.lanes[route[index]]
        for k in range(own.point if index == 0 else lane.point, lane.final):
            one, two = atlas.points[k], atlas.points[k + 1]
            if base + one.s > FARTHEST:
                break
            dx, dy = 0.5 * (one.x + two.x) - own.x, 0.5 * (one.y + two.y) - own.y
            forward, left, turn = dx * cos + dy * sin, dy * cos - dx * sin, one.heading - own.heading
            fill_box(out, WAY, 255, forward, left, turn, two.s - one.s + METRES, 0.7 * one.width)
            for j in range(lane.stop, lane.stop_end):
                if one.s <= atlas.stops[j].s < two.s or (k == lane.final - 1 and atlas.stops[j].s >= two.s):
                    fill_box(out, LINES, shade(atlas, world, j), forward, left, turn, 2.0 * METRES, one.width)
        base += lane.length


@compiled
def shade(atlas: Atlas, world: World, stop: int) -> int:
    """Grey value of a stop line."""
    if atlas.stops[stop].kind != SIGNAL:
        return 160
    shown = colour(atlas.signals, atlas.phases, world, atlas.stops[stop].signal)
    return 255 if shown == RED else 160 if shown == AMBER else 80
