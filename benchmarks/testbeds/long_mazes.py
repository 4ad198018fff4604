"""Goals above 200 steps away in a winding corridor, learnt from short walks, against an oracle that knows the way.

The ball of PointMaze in a corridor of 23 cells with six bends, where straight lines say little of the way. The data are
walks of 100 steps between cells near each other, so that long ways have to be put together.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch as th

from ...agents.control.goal_data import GoalTransitions
from ...agents.control.ota import OTA, advantages
from ...envs.robotics.maze import DRAG, STIFFNESS, SUCCESS_RADIUS, PointMazeVectorEnv
from ..statistics import Floats

SETTINGS: dict[str, Any] = {
    "batch_size": 256,
    "tau": 0.02,
    "subgoal_steps": 25,
    "actor_random_goal_ratio": 0.5,  # OGBench's for short walks
    "buffer_size": 10,  # nothing is learnt online
    "policy_kwargs": {"net_arch": [64, 64], "activation_fn": th.nn.ReLU, "layer_norm": False},
}
CORRIDOR = (
    "#######",
    "#.....#",
    "#####.#",
    "#.....#",
    "#.#####",
    "#.....#",
    "#####.#",
    "#.....#",
    "#######",
)
HELD_OUT = 10**6
"""Added to a run's seed for the walks that signs are asked on, twice it for the problems."""


class Outcome(NamedTuple):
    """What a run scored."""

    signs: float  # share of pairs whose high-level advantage has the oracle's sign
    success: float  # share of problems solved
    steps: float  # of the scripted walker on these problems, mean


@dataclass(frozen=True)
class Learner:
    """A condition.

    Attributes:
        abstraction_factor: n of options; 1 is HIQL.
    """

    abstraction_factor: int


class Walker:
    """Walks towards one random cell nearby after the other, pushed about by noise.

    Args:
        env: of one walker each.
        reach: most cells to the next one.
        noise: standard deviation of what is added to each push.
        rng: of cells and noise.
    """

    def __init__(self, env: PointMazeVectorEnv, reach: int, noise: float, rng: np.random.Generator) -> None:
        self.maze, self.batched, self.noise, self.rng = env.batched.maze, env.batched, noise, rng
        self.near = self.maze.steps <= reach
        self.goals = self._cells(self.batched.place)

    def _cells(self, places: Floats) -> Floats:
        near = self.near[self.maze.cell(places)]
        drawn = (near * self.rng.random(near.shape)).argmax(axis=1)
        found: Floats = self.maze.centres[drawn]
        return found

    def actions(self) -> npt.NDArray[np.float32]:
        """``[n, 2]``."""
        place, speed = self.batched.place, self.batched.qvel[:, :2]  # type: ignore[attr-defined]
        there = np.linalg.norm(place - self.goals, axis=1) < SUCCESS_RADIUS
        self.goals = np.where(there[:, None], self._cells(place), self.goals)
        push = STIFFNESS * (self.maze.waypoint(place, self.goals) - place) - DRAG * speed
        return (push + self.noise * self.rng.normal(size=push.shape)).clip(-1, 1).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class LongMazes:
    """The testbed.

    Attributes:
        layout: of the maze.
        episodes: of the data.
        steps: of an episode.
        held_out: other episodes, of which signs are asked.
        reach: most cells from one cell that the walker heads for to the next.
        noise: of the walker's pushes.
        updates: of an agent.
        pairs: of states k steps apart, each with a goal: those for which ``far`` and ``told`` hold are asked.
        far: least metres from a pair's first state to its goal, and least cells from a problem's start to its goal.
        told: least metres that the second is nearer or farther.
        problems: that success is measured on.
        limit: steps of a problem.
        settings: of all agents.
    """

    layout: tuple[str, ...] = CORRIDOR
    episodes: int = 400
    steps: int = 100
    held_out: int = 100
    reach: int = 4
    noise: float = 1.0
    updates: int = 1500
    pairs: int = 20_000
    far: int = 12
    told: float = 0.5
    problems: int = 50
    limit: int = 600
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def env(self, n: int) -> PointMazeVectorEnv:
        """``n`` mazes whose episodes go on at the goal."""
        ways: dict[str, Any] = {"goal_conditioned": True, "continuing": True, "min_path": self.far}
        return PointMazeVectorEnv(n, layout=self.layout, nthread=1, **ways)

    def walks(self, seed: int, episodes: int = 0) -> GoalTransitions:
        """The data of a seed; ``episodes`` of them in place of the testbed's own number."""
        n = episodes or self.episodes
        rng, env = np.random.default_rng([2505, seed]), self.env(n)
        starts = env.batched.maze.centres[rng.integers(len(env.batched.maze.centres), size=n)]
        seen, actions = [env.reset(seed=seed, options={"start": starts})[0]], []
        walker = Walker(env, self.reach, self.noise, rng)
        for _ in range(self.steps):
            actions.append(walker.actions())
            seen.append(env.step(actions[-1])[0])
        env.close()
        return laid_out(seen, actions)

    def run(self, condition: Learner, rate: float, seed: int) -> Outcome:
        """Trains a condition and asks for signs and success."""
        agent = self.taught(condition, rate, seed)
        success, steps = self.solved(agent, seed)
        return Outcome(self.signs(agent, seed), success, steps)

    def taught(self, condition: Learner, rate: float, seed: int) -> OTA:
        """The agent."""
        settings = {**self.settings, "learning_rate": rate, "seed": seed, "device": "cpu"}
        agent = OTA("MultiInputPolicy", self.env(1), abstraction_factor=condition.abstraction_factor, **settings)
        return agent.learn_offline(self.walks(seed), self.updates, log_interval=0)

    def signs(self, agent: OTA, seed: int) -> float:
        """Share of pairs of the held-out walks whose advantage has the sign of the path's shortening."""
        maze, data = self.env(1).batched.maze, self.walks(HELD_OUT + seed, self.held_out)
        rng, k = np.random.default_rng([2506, seed]), min(agent.settings.subgoal_steps, self.steps - 1)
        at = rng.integers(len(data), size=self.pairs)
        at = at[at % self.steps < self.steps - k]
        goals = maze.centres[rng.integers(len(maze.centres), size=len(at))]
        before = maze.path_length(data.achieved[at].astype(float), goals)
        nearer = before - maze.path_length(data.achieved[at + k].astype(float), goals)
        asked = (before >= self.far) & (np.abs(nearer) >= self.told)
        states = th.from_numpy(np.concatenate([data.observations, data.achieved], axis=1))
        here, after = (states[place[asked]] for place in (at, at + k))
        wanted = th.from_numpy(goals[asked].astype(np.float32))
        found = advantages(agent.policy, agent.policy.high_value, here, after, wanted).numpy()
        return float(((found > 0) == (nearer[asked] > 0)).mean())

    def solved(self, agent: OTA, seed: int) -> tuple[float, float]:
        """Share of problems that the agent solves, and steps that the scripted walker needs for them, mean."""
        env = self.env(self.problems)

        def played(act: Any) -> npt.NDArray[np.int64]:
            seen, _ = env.reset(seed=2 * HELD_OUT + seed)
            first = np.full(self.problems, self.limit)
            for step in range(self.limit):
                seen, rewards, *_ = env.step(act(seen))
                first = np.where(rewards > 0, np.minimum(first, step + 1), first)
                if (first < self.limit).all():
                    break
            return first

        own = played(lambda seen: agent.predict(seen, deterministic=True)[0])
        walked = played(lambda _: env.batched.expert_actions())  # type: ignore[attr-defined]
        env.close()
        return float((own < self.limit).mean()), float(walked.mean())

    def smallest(self) -> Self:
        """A few short walks, hardly any updates."""
        few = {"batch_size": 8, "policy_kwargs": {"net_arch": [8]}}
        sizes: dict[str, Any] = {
            "episodes": 3,
            "held_out": 3,
            "steps": 60,
            "updates": 2,
            "pairs": 300,
            "far": 1,
            "told": 0.05,
        }
        return replace(self, **sizes, problems=2, limit=3, settings={**self.settings, **few})


def laid_out(seen: list[dict[str, Any]], actions: list[npt.NDArray[np.float32]]) -> GoalTransitions:
    """Episodes of T steps, all at once, one after the other.

    Args:
        seen: T + 1 observations of n environments.
        actions: T of them, ``[n, act]``.
    """
    steps, n = len(actions), len(actions[0])

    def flat(parts: list[Any]) -> npt.NDArray[np.float32]:
        stacked = np.stack(parts, axis=1).astype(np.float32)  # [n, T, size]
        return np.ascontiguousarray(stacked.reshape(n * steps, -1))

    whole = {name: [one[name] for one in seen] for name in ("observation", "achieved_goal")}
    return GoalTransitions(
        observations=flat(whole["observation"][:-1]),
        actions=flat(actions),
        rewards=np.zeros(n * steps, np.float32),
        next_observations=flat(whole["observation"][1:]),
        terminations=np.zeros(n * steps, np.float32),
        ends=np.arange(1, n * steps + 1) % steps == 0,
        episodes=np.repeat(np.arange(n), steps),
        episode_returns=np.zeros(n),
        achieved=flat(whole["achieved_goal"][:-1]),
        next_achieved=flat(whole["achieved_goal"][1:]),
    )
