"""Stitching in a maze: half of the data go a long way round to the goal, and half leave the short way half-way.

The maze, the kinds of trajectories, the horizon and the reward are those of PointMaze in Zhou et al., Free from Bellman
Completeness (2023), in the authors' code: ``envs/pointmaze/config/maze_default.json`` and
``samplers/maze_sampler.py`` (github.com/zhaoyizhou1123/mbrcsl). From its start S the ball goes either down to the cell
M and stays there, or round by A and B, by M and on to the goal G, where half of these episodes go on at random. The
best return puts both together, S to M to G, as no trajectory of the data does. Departures: an action lasts 20 ms and an
episode 100 of them, where theirs has 200 of 10 ms; pushes are noisy; the goal is seen; and there are fewer episodes.

::

    ######
    #AS###
    #BM.G#
    ######
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from ...agents import make
from ...agents.control.datasets import Transitions
from ...envs.robotics.maze import DRAG, STIFFNESS, SUCCESS_RADIUS, PointMazeVectorEnv
from ..statistics import Floats

Bools = npt.NDArray[np.bool_]
Rng = np.random.Generator
LAYOUT = ("######", "#..###", "#....#", "######")
S, A, B, M, C, G = (-0.5, 0.5), (-1.5, 0.5), (-1.5, -0.5), (-0.5, -0.5), (0.5, -0.5), (1.5, -0.5)
"""Middles of the cells, metres; C lies between M and G."""
ROUND = np.array([A, B, M, C, G])
STOPS = np.array([True, True, False, False, True])
"""Of the way round: where walkers stop; other cells they pass."""
NOISE = 0.25  # metres, each way, of where a walker stops
NEAR, SLOW, PASSED = 0.5, 0.5, 0.1  # metres and metres a second along each axis of a stop, metres of a cell passed
TEST = 10**6
"""Added to a run's seed for the problems that agents are scored on."""
SETTINGS: dict[str, Any] = {
    "batch_size": 128,
    "gamma": 0.98,
    "tau": 0.02,
    "buffer_size": 10,  # nothing is learnt online
    "policy_kwargs": {"net_arch": [64, 64]},
}


class Scored(NamedTuple):
    """What a run scored."""

    score: float  # normalised return: 0 staying at the start, 1 the scripted walker on the short way
    short: float  # share of problems in which the goal was reached without a visit to A or B
    best: float  # normalised return of the best episode of the data
    kept: float  # rollouts that were kept, of all that were tried; NaN of agents without a model


@dataclass(frozen=True)
class Learner:
    """A condition.

    Attributes:
        agent: for :func:`tiltyard.agents.make`.
        settings: that differ from the testbed's.
    """

    agent: str
    settings: Mapping[str, Any] = field(default_factory=dict)


class Walker:
    """Heads for one place after the other by a spring with drag, pushed about by noise, and stays at the last.

    Args:
        env: of one walker each.
        ways: places ``[n, k, 2]``.
        stops: ``[n, k]``, whether it heads on from a place once it is slow there, or once it is very near.
        noise: standard deviation of what is added to each push.
        random_end: ``[n]``, whether pushes are random once the last place is reached.
        rng: of the noise.
    """

    def __init__(self, env: PointMazeVectorEnv, ways: Floats, stops: Bools, noise: float, random_end: Bools, rng: Rng):
        self.batched, self.ways, self.stops, self.noise = env.batched, ways, stops, noise
        self.random_end, self.rng, self.at = random_end, rng, np.zeros(len(ways), np.int64)
        self.done = np.zeros(len(ways), bool)

    def actions(self) -> npt.NDArray[np.float32]:
        """``[n, 2]``."""
        place, speed = self.batched.place, self.batched.qvel[:, :2]  # type: ignore[attr-defined]
        every, last = np.arange(len(place)), self.ways.shape[1] - 1
        gap = np.linalg.norm(self.ways[every, self.at] - place, axis=1)
        at_last = self.at == last
        slow = (np.abs(speed) <= SLOW).all(axis=1) | (self.random_end & at_last)
        reached = np.where(self.stops[every, self.at], (gap <= NEAR) & slow, gap <= PASSED)
        self.done |= reached & at_last
        self.at = np.minimum(self.at + reached, last)
        push = STIFFNESS * (self.ways[every, self.at] - place) - DRAG * speed
        push += self.noise * self.rng.normal(size=place.shape)
        anything = self.rng.uniform(-1, 1, place.shape)
        push = np.where((self.done & self.random_end)[:, None], anything, push)
        return push.clip(-1, 1).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class MazeStitching:
    """The testbed.

    Attributes:
        episodes: of the data; half of them to M, half round to G.
        steps: of an episode.
        noise: of the walkers' pushes.
        updates: of an agent.
        problems: that agents are scored on.
        settings: of all agents.
        instead: of the conditions' settings, in the smallest size.
    """

    episodes: int = 200
    steps: int = 100
    noise: float = 0.5
    updates: int = 3000
    problems: int = 50
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)
    instead: Mapping[str, Any] = field(default_factory=dict)

    def env(self, n: int) -> PointMazeVectorEnv:
        """``n`` mazes whose episodes go on at the goal."""
        return PointMazeVectorEnv(n, layout=LAYOUT, nthread=1, continuing=True, min_path=1, frame_skip=2)

    def play(self, n: int, seed: int, act: Any) -> tuple[Floats, Floats, Floats]:
        """Observations ``[n, T + 1, 6]``, actions ``[n, T, 2]`` and rewards ``[n, T]``: exp(-distance to the goal).

        Args:
            n: episodes, all at once.
            seed: of starts and goals around S and G.
            act: of the environment and what is seen ``[n, 6]``; actions ``[n, 2]``.
        """
        rng, env = np.random.default_rng([2310, seed]), self.env(n)
        start, goal = (np.array(cell) + rng.uniform(-NOISE, NOISE, (n, 2)) for cell in (S, G))
        seen, actions, rewards = [env.reset(seed=seed, options={"start": start, "goal": goal})[0].copy()], [], []
        for _ in range(self.steps):
            actions.append(act(env, seen[-1]))
            seen.append(env.step(actions[-1])[0].copy())
            rewards.append(np.exp(-np.linalg.norm(seen[-1][:, :2] - goal, axis=1)))
        env.close()
        return np.stack(seen, axis=1), np.stack(actions, axis=1), np.stack(rewards, axis=1)

    def dataset(self, seed: int) -> Transitions:
        """Trajectories to M, then those round by A and B to G, of which every second ends at random; one for all."""
        return _dataset(self.episodes, self.steps, self.noise, seed)

    def references(self, seed: int) -> tuple[float, float]:
        """Mean returns on a seed's problems of staying at the start, and of the scripted walker on the short way."""
        return _references(self.problems, self.steps, seed)

    def normalised(self, value: float, seed: int) -> float:
        """A mean return as a score: 0 staying at the start, 1 the scripted walker."""
        still, walked = self.references(seed)
        return (value - still) / (walked - still)

    def run(self, condition: Learner, rate: float, seed: int) -> Scored:
        """Trains a condition and scores it."""
        data = self.dataset(seed)
        own = {name: self.instead.get(name, value) for name, value in condition.settings.items()}
        settings = {**self.settings, **own, "learning_rate": rate, "seed": seed, "device": "cpu"}
        agent: Any = make(condition.agent, self.env(1), **settings)
        agent.learn_offline(data, self.updates, log_interval=0)
        kept = agent.rollouts_kept / agent.rollouts_tried if hasattr(agent, "rollouts_tried") else np.nan
        return Scored(*self.scored(agent, seed), self.normalised(float(data.episode_returns.max()), seed), kept)

    def scored(self, agent: Any, seed: int) -> tuple[float, float]:
        """Normalised return of an agent, and in which share of the problems it went the short way to the goal."""
        state: Any = None

        def act(_: Any, seen: Floats) -> npt.NDArray[np.float32]:
            nonlocal state
            actions, state = agent.predict(seen, state=state, deterministic=True)
            return np.asarray(actions)

        seen, _, rewards = self.play(self.problems, TEST + seed, act)
        return self.normalised(float(rewards.sum(axis=1).mean()), seed), float(went_short(seen).mean())

    def smallest(self) -> Self:
        """A few short walks, hardly any updates."""
        few = {**self.settings, "batch_size": 8, "policy_kwargs": {"net_arch": [8]}}
        instead = {
            "model_updates": 2,
            "behaviour_updates": 2,
            "rollouts": 2,
            "rollout_batch_size": 4,
            "max_rollouts": 8,
        }
        return replace(self, episodes=4, steps=20, updates=2, problems=2, settings=few, instead=instead)


def went_short(seen: Floats) -> npt.NDArray[np.bool_]:
    """Which episodes ``[n, T + 1, 6]`` reached the goal without having been in A or B before."""
    near = np.linalg.norm(seen[..., :2] - seen[..., 4:], axis=-1) <= SUCCESS_RADIUS
    left = (seen[..., 0] < -1).cumsum(axis=1) > 0  # S and M lie to the right
    found: npt.NDArray[np.bool_] = (near & ~left).any(axis=1)
    return found


@lru_cache(maxsize=4)
def _dataset(episodes: int, steps: int, noise: float, seed: int) -> Transitions:
    bed, rng = MazeStitching(episodes=episodes, steps=steps, noise=noise), np.random.default_rng([2311, seed])
    far = np.arange(episodes) >= episodes // 2
    ways = np.where(far[:, None, None], ROUND, np.array(M))
    stops = np.where(far[:, None], STOPS, True)
    ways = ways + stops[..., None] * rng.uniform(-NOISE, NOISE, ways.shape)
    ways[~far] = ways[~far, :1]
    random_end = far & (np.arange(episodes) % 2 == 1)
    walkers: list[Walker] = []

    def act(env: PointMazeVectorEnv, _: Floats) -> npt.NDArray[np.float32]:
        if not walkers:
            walkers.append(Walker(env, ways, stops, noise, random_end, rng))
        return walkers[0].actions()

    seen, actions, rewards = bed.play(episodes, seed, act)
    n = episodes * steps
    return Transitions(
        observations=seen[:, :-1].reshape(n, -1).astype(np.float32),
        actions=actions.reshape(n, -1).astype(np.float32),
        rewards=rewards.reshape(n).astype(np.float32),
        next_observations=seen[:, 1:].reshape(n, -1).astype(np.float32),
        terminations=np.zeros(n, np.float32),
        ends=np.arange(1, n + 1) % steps == 0,
        episodes=np.repeat(np.arange(episodes), steps),
        episode_returns=rewards.sum(axis=1),
    )


@lru_cache(maxsize=64)
def _references(problems: int, steps: int, seed: int) -> tuple[float, float]:
    bed = MazeStitching(steps=steps)
    still, walked = (
        float(bed.play(problems, TEST + seed, act)[2].sum(axis=1).mean())
        for act in (lambda env, seen: np.zeros((len(seen), 2)), lambda env, _: env.batched.expert_actions())
    )
    return still, walked
