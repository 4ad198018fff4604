"""Maps by name: procedural ones, each a function of a seed."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from .... import unknown
from ... import seeding
from ...seeding import Split
from .graph import LaneGraph
from .procedural.highway import highway, merge
from .procedural.intersection import intersection
from .procedural.racetrack import racetrack
from .procedural.roundabout import roundabout
from .procedural.town import town

GENERATORS: dict[str, Callable[..., LaneGraph]] = {
    "highway": highway,
    "merge": merge,
    "intersection": intersection,
    "stop-intersection": partial(intersection, control="stop"),
    "roundabout": roundabout,
    "racetrack": racetrack,
    "town": town,
}
NAMES = tuple(GENERATORS)
CLOSED = ("racetrack", "town")
"""Those that no lane leads out of."""


def make(name: str, seed: int, *, split: Split = "train", **options: object) -> LaneGraph:
    """The map of a name and a seed, the same bit for bit each time.

    Args:
        name: one of :data:`NAMES`.
        seed: 0 or more. Maps of the two splits differ at every seed.
        split: of the maps.
        options: of the generator, such as ``rows`` and ``columns`` of a town.

    Raises:
        ValueError: an unknown name or split, or an option that the generator cannot draw.
        TypeError: an option that the generator does not have.
    """
    if name not in GENERATORS:
        raise ValueError(unknown("map", name, NAMES))
    rng = seeding.problem_rng(seeding.check_split(split), seed)
    return replace(GENERATORS[name](rng, **options), name=name)
