"""The maps of a scene and split: built once a process, shared by all environments on them."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...seeding import SPLITS, Split, generator
from ..maps import catalogue
from ..maps.graph import DRIVING, LaneGraph
from ..reference import by_reference
from ..town.atlas import Atlas, atlas
from ..town.paint import Paint, paint
from ..town.raster import Ground, grounds
from ..town.staging import Stages, no_stages
from ..town.state import MOST_AGENTS
from .scenes import SCENES, Scene, places
from .stages import most_actors, stages

TEST_MAPS = 20
GOALS = 12
"""Lanes of a map to which routes lead, at most."""


@by_reference
class Places(NamedTuple):
    """What problems are drawn from, as compiled code takes it; M maps."""

    begin: npt.NDArray[np.int32]  # lanes on which routes begin, begin[begin_first[m]:begin_first[m + 1]]
    begin_first: npt.NDArray[np.int32]  # [M + 1]
    goal_first: npt.NDArray[np.int32]  # [M + 1]: goals of a map, as Atlas.goal_lane numbers them
    kilometres: npt.NDArray[np.float64]  # [M] of lanes
    stages: Stages  # places of triggers
    numbers: npt.NDArray[np.float64]  # of the scene, see Scene: density, people, route (2 each), pace, ...


class Library:
    """Maps and all that is derived from them.

    Args:
        scene: name of a :class:`~.scenes.Scene`.
        split: of maps.
        maps: how many there are in the train split.
        triggers: names of those that are played, of :data:`.triggers.TRIGGERS`.

    Raises:
        ValueError: none of the triggers fits anywhere on the maps.
    """

    def __init__(self, scene: str, split: Split, maps: int, triggers: tuple[str, ...] = ()) -> None:
        self.made_by = (scene, split, maps, triggers)
        self.triggers = triggers
        self.scene: Scene = SCENES[scene]
        count = maps if split == "train" else TEST_MAPS
        self.graphs = [
            catalogue.make(self.scene.map, number, split=split, **self.scene.options) for number in range(count)
        ]
        self.names = [f"{self.scene.map}-{split}-{number}" for number in range(count)]
        found = [places(self.scene, graph) for graph in self.graphs]
        goals = [
            sorted(generator(SPLITS.index(split), number).permutation(ends)[:GOALS].tolist())
            for number, (_, ends) in enumerate(found)
        ]
        self.atlas: Atlas = atlas(self.graphs, goals)
        self.places = self._places([begins for begins, _ in found], goals)
        self.crossings = max(len(graph.columns.crossing) for graph in self.graphs)

    def _places(self, begins: list[list[int]], goals: list[list[int]]) -> Places:
        scene, base = self.scene, self.atlas.maps["lane"]
        return Places(
            begin=np.concatenate([np.add(one, base[m]) for m, one in enumerate(begins)]).astype(np.int32),
            begin_first=np.cumsum([0, *map(len, begins)]).astype(np.int32),
            goal_first=np.cumsum([0, *map(len, goals)]).astype(np.int32),
            stages=stages(self.graphs, base.tolist(), self.triggers) if self.triggers else no_stages(),
            kilometres=np.array([_kilometres(graph) for graph in self.graphs]),
            numbers=np.array(
                [
                    *(*scene.density, *scene.people, *scene.route),
                    *(scene.pace, scene.wait, scene.start, scene.patience, scene.warm_up),
                ],
                np.float64,
            ),
        )

    def most(self, density: float, people: int, policies: int = 1, kerbside: Sequence[float] = ()) -> int:
        """Agents for which worlds need room; ``kerbside`` are densities of parked cars and jaywalkers.

        Raises:
            ValueError: more than a world holds.
        """
        highest = self.scene.density[1] if density < 0.0 else density
        vehicles = int(highest * float(self.places.kilometres.max()) + 0.5)
        vehicles += sum(int(one * float(self.places.kilometres.max()) + 0.5) for one in kerbside)
        needed = policies + vehicles + (self.scene.people[1] if people < 0 else people) + self.actors
        if needed > MOST_AGENTS:
            raise ValueError(
                f"a world holds {MOST_AGENTS} road users, and the largest map of the scene {self.made_by[0]!r} would "
                f"have {needed}: lower density, pedestrians, parked, jaywalkers or agents"
            )
        return needed

    @property
    def actors(self) -> int:
        """The most road users that a trigger needs."""
        return most_actors(self.triggers)

    @cached_property
    def paints(self) -> list[Paint]:
        """What is painted on each map."""
        return [paint(graph) for graph in self.graphs]

    @cached_property
    def ground(self) -> Ground:
        """The bitmaps of all maps."""
        return grounds(self.paints)

    def __reduce__(self) -> Any:
        """Copies, also those in other processes, are made from the same seeds, or are the same."""
        return library, self.made_by


def library(scene: str, split: Split, maps: int, triggers: tuple[str, ...] = ()) -> Library:
    """The maps of a scene and split; the same object for the same arguments."""
    return _library(scene, split, maps, triggers)


_library = lru_cache(maxsize=16)(Library)


def _kilometres(graph: LaneGraph) -> float:
    return float(graph.columns.length[graph.columns.kind == DRIVING].sum()) / 1000.0
