"""A point maze that is seen from above, with rewards in three places alone; and searches for policies in it.

The maze is our own: a square room with two walls that leave gaps at opposite sides, so that the way to the farthest
place bends twice. Paolo et al. (2021) use a maze of this kind, seen as an image from above.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import gymnasium
import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from ...agents.control.stax import STAX
from ...agents.control.stax_search import Search
from ..statistics import Floats

START = (0.5, 0.1)
EXITS = ((0.1, 0.25), (0.9, 0.5), (0.1, 0.9))
"""Centres of the places with a reward, near, farther, and behind both walls."""
RADIUS = 0.1
WALLS = ((0.35, 0.0, 0.7), (0.65, 0.3, 1.0))
"""Walls along x: their y, and from where to where they go."""
SPEED, STEPS = 0.05, 40
"""Of a step along each axis, and of an episode; the farthest exit is 17 steps away at full speed."""
PIXELS = 12
CELLS = 20
"""Of the grid on which coverage is measured, each way."""


class SparseExits(VectorEnv[Any, Any, Any]):
    """Many points at once; an episode's last step pays by where the point is, all others nothing.

    Observations are images ``[12, 12, 1]`` of a bright spot; an action ``[2]`` in [-1, 1] moves by a share of the
    speed. Walls stop the part of a move that crosses them. At the end of an episode the info holds the ``place``.

    Args:
        num_envs: points.
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.SAME_STEP}  # type: ignore[misc]

    def __init__(self, num_envs: int = 1) -> None:
        self.num_envs = num_envs
        self.single_observation_space = Box(0, 255, (PIXELS, PIXELS, 1), np.uint8)
        self.single_action_space = Box(-1, 1, (2,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.stepped = 0  # steps of all points so far

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """All points at the start; nothing is random."""
        self.at = np.tile(np.array(START), (self.num_envs, 1))
        self.step_count = 0
        return images(self.at), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Moves all points."""
        self.at = moved(self.at, SPEED * np.clip(np.asarray(actions, np.float64), -1, 1))
        self.step_count += 1
        self.stepped += self.num_envs
        none, over = np.zeros(self.num_envs, np.bool_), self.step_count == STEPS
        if not over:
            return images(self.at), np.zeros(self.num_envs), none, none, {}
        rewards, every = payments(self.at).max(axis=1), ~none
        final, info = images(self.at), {"place": self.at.astype(np.float32), "_place": every}
        ended: dict[str, Any] = {"final_obs": final, "_final_obs": every, "final_info": info, "_final_info": every}
        seen, _ = self.reset()
        return seen, rewards, none, every, ended


def moved(at: Floats, by: Floats) -> Floats:
    """Places ``[N, 2]`` after moves ``[N, 2]``: first along x, then along y as far as the next wall."""
    x = np.clip(at[:, 0] + by[:, 0], 0, 1)
    y = np.clip(at[:, 1] + by[:, 1], 0, 1)
    for height, left, right in WALLS:
        inside = (x >= left) & (x <= right)
        crosses = inside & ((at[:, 1] < height) != (y < height))
        y = np.where(crosses, at[:, 1], y)
    return np.stack([x, y], axis=1)


def payments(at: Floats) -> Floats:
    """Of places ``[N, 2]`` at each exit, ``[N, 3]``: 1 at its centre, less in proportion to the distance, 0 outside."""
    distances = np.linalg.norm(at[:, None] - np.array(EXITS), axis=2)
    found: Floats = np.maximum(0.0, 1 - distances / RADIUS)
    return found


def images(at: Floats) -> npt.NDArray[np.uint8]:
    """A bright spot at each place ``[N, 2]``, ``[N, 12, 12, 1]``."""
    pixels = (np.arange(PIXELS) + 0.5) / PIXELS
    x, y = (np.exp(-(((at[:, axis, None] - pixels) / 0.1) ** 2)) for axis in (0, 1))
    return (255 * y[:, :, None, None] * x[:, None, :, None]).astype(np.uint8)


class RandomSearch(Search):
    """Draws every genome anew: normal, with so many times the deviation of mutations that is ``genome_limit``."""

    def ask(self) -> th.Tensor:
        """A generation."""
        settings = self.settings
        shape = (2 * settings.population_size, settings.genome_size)
        return th.as_tensor(self.rng.normal(0, settings.genome_limit * settings.mutation_std, shape), dtype=th.float32)

    def tell(self, genomes: th.Tensor, rewards: th.Tensor, views: th.Tensor) -> None:
        """Nothing follows from it."""
        found = self.individuals(th.cat([genomes, rewards[:, None], views], dim=1))
        self.best = (self.best + found)[[int((self.best + found).rewards.argmax())]]
        self.progress.evaluations += len(found)


class RandomPolicies(STAX):
    """Random search."""

    search_class = RandomSearch


@dataclass(frozen=True)
class Form:
    """A condition: what a search is given.

    Attributes:
        random: whether it is random search.
        true: whether its behaviour space is the true one, where an episode ends.
        emitters: whether it has emitters.
        limit: of genomes.
    """

    random: bool = False
    true: bool = False
    emitters: bool = False
    limit: float = 5.0

    @property
    def params(self) -> dict[str, Any]:
        """What is tried besides deviations of mutations."""
        return {"genome_limit": self.limit}


@dataclass(frozen=True)
class Searched:
    """What a search found.

    Attributes:
        coverage: share of the grid's cells that some policy ends in.
        areas: share of the exits that some policy ends in.
        best: the highest reward.
        best_of_each: the highest reward at each exit, mean over the three.
        exploited: share of evaluations by emitters.
        timesteps: of training.
    """

    coverage: float
    areas: float
    best: float
    best_of_each: float
    exploited: float
    timesteps: int

    @property
    def score(self) -> float:
        """The mean of coverage, areas and the best reward."""
        return (self.coverage + self.areas + self.best) / 3


class Recorded(gymnasium.vector.VectorWrapper[Any, Any, Any]):
    """Keeps where all episodes end."""

    def __init__(self, env: SparseExits) -> None:
        super().__init__(env)
        self.places: list[Floats] = []

    def step(self, actions: Any) -> Any:
        """As of the maze."""
        found = self.env.step(actions)
        if "final_info" in found[-1]:
            self.places.append(found[-1]["final_info"]["place"])
        return found


@dataclass(frozen=True, kw_only=True)
class ExitSearch:
    """The testbed.

    Attributes:
        evaluations: of policies, the budget of all; the last generation may exceed it.
        population: of novelty search, and environments side by side. Those that wait for others are not charged: they
            repeat an episode, which ends where it did.
        chunk: evaluations until it is the other search's turn.
        neighbours: of novelty.
    """

    evaluations: int = 4000
    population: int = 50
    chunk: int = 400
    neighbours: int = 15

    def run(self, condition: Form, rate: float, seed: int) -> Searched:
        """Searches with mutations of deviation ``rate``."""
        env: Any = Recorded(SparseExits(self.population))
        kind = RandomPolicies if condition.random else STAX
        agent = kind(
            "MlpPolicy",
            env,
            population_size=self.population,
            chunk_size=self.chunk,
            mutation_std=rate,
            genome_limit=condition.limit,
            n_neighbors=self.neighbours,
            emitter_size=6 if condition.emitters else 0,
            descriptor_key="place" if condition.true else None,
            descriptor_size=2 if condition.true else 10,
            autoencoder_width=64,
            n_epochs=20,
            policy_kwargs={"net_arch": []},
            seed=seed,
        )
        while agent.search.progress.evaluations < self.evaluations:
            agent.learn(STEPS * self.population, log_interval=None, reset_num_timesteps=False)
        return self.measured(np.concatenate(env.places), agent)

    def measured(self, places: Floats, agent: STAX) -> Searched:
        """Of where all episodes ended, ``[N, 2]``."""
        cells = np.minimum((places * CELLS).astype(int), CELLS - 1)
        paid = payments(places).max(axis=0)
        progress = agent.search.progress
        return Searched(
            coverage=len(np.unique(cells, axis=0)) / CELLS**2,
            areas=float((paid > 0).mean()),
            best=float(paid.max()),
            best_of_each=float(paid.mean()),
            exploited=progress.exploited / progress.evaluations if progress.evaluations else 0.0,
            timesteps=agent.num_timesteps,
        )

    def smallest(self) -> Self:
        """Hardly a generation."""
        return replace(self, evaluations=60, population=12, chunk=24)
