"""Learning from play, and then from experience: a ball in a maze, by recipes of the catalogue of datasets.

Play is the expert that follows goals of its own, in the smallest maze and in episodes that mostly end before the goal
is reached. Agents learn from it, from demonstrations or from nothing; then a second part follows, in the environment or
on the data again, equally many updates for all. Tests are on the same problems for all, with the environment's own
distances from start to goal and its time limit; pushing at random reaches such goals once in 200 episodes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np

from ...agents import make
from ...agents.control.datasets import Transitions
from ..datasets.catalogue import find
from ..evaluation import evaluation_seeds
from .peg import as_transitions

SETTINGS: dict[str, Any] = {"batch_size": 128, "policy_kwargs": {"net_arch": [64, 64]}}
ONLINE: dict[str, Any] = {"buffer_size": 20_000, "learning_starts": 500}
"""Of agents that step the environment."""
MAZE, RECIPES = "tiltyard/PointMaze-v0", "tiltyard/d5rl/point-maze-{}-v0"
PLAYED: dict[str, Any] = {"min_path": 1, "max_episode_steps": 40}
"""While playing: any start and goal, and episodes that are too short for most ways to a goal."""
TESTS = 4
"""In the second part, evenly spaced; the last two are told."""


@dataclass(frozen=True)
class Learner:
    """A condition.

    Attributes:
        agent: for :func:`tiltyard.agents.make`.
        data: what it learns from at first, "play" or "expert"; "" for nothing at all.
        online: whether it steps the environment in the second part, where others learn from their data again.
        settings: that differ from the testbed's.
    """

    agent: str
    data: str = ""
    online: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)

    def given(self, **settings: Any) -> Self:
        """This condition with other settings beside its own."""
        return replace(self, settings={**self.settings, **settings})


class Learned(NamedTuple):
    """Of one agent: the share of test problems that it solves.

    Attributes:
        before: after the first part.
        after: in the last quarter of the second, the mean of its beginning and end.
    """

    before: float
    after: float


@lru_cache(maxsize=64)
def transitions(data: str, seed: int, episodes: int) -> Transitions:
    """Recorded in the smallest maze by a recipe of the catalogue: the same data for all conditions of a run's seed."""
    recipe = replace(find(RECIPES.format(data)), env_id=MAZE)
    return as_transitions(replace(recipe, recording=PLAYED if data == "play" else {}).record(seed, episodes))


@dataclass(frozen=True, kw_only=True)
class PlayData:
    """The testbed.

    Attributes:
        recorded: episodes of a dataset.
        updates: of the first part.
        steps: of the second, in the environment, with one update each; or as many updates.
        problems: in a test.
        settings: of all conditions.
    """

    recorded: int = 60
    updates: int = 5000
    steps: int = 8000
    problems: int = 100
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def run(self, condition: Learner, rate: float, seed: int) -> Learned:
        """Trains an agent at a learning rate in both parts."""
        online = ONLINE if condition.online else {}
        settings = {**self.settings, **online, **condition.settings, "learning_rate": rate, "device": "cpu"}
        agent: Any = make(condition.agent, MAZE, seed=seed, **settings)
        data: Any = None
        if condition.data:
            data = transitions(condition.data, seed, self.recorded)
            agent.learn_offline(data, self.updates)
        shares = [self.solved(agent, seed)]
        for _ in range(TESTS):
            if condition.online:
                agent.learn(self.steps // TESTS, reset_num_timesteps=False)
            else:
                agent.learn_offline(data, self.steps // TESTS)
            shares.append(self.solved(agent, seed))
        return Learned(shares[0], (shares[-2] + shares[-1]) / 2)

    def solved(self, agent: Any, seed: int) -> float:
        """The share of problems that a policy solves, deterministic, each tried once; for ``None`` a random one."""
        env = gymnasium.make_vec(MAZE, self.problems, "vector_entry_point", split="test")
        several: Any = evaluation_seeds(seed, self.problems)  # Gymnasium's types know one seed alone
        observations, _ = env.reset(seed=several)
        env.action_space.seed(seed)
        solved, running = np.zeros(self.problems, np.bool_), np.ones(self.problems, np.bool_)
        while running.any():
            actions = env.action_space.sample() if agent is None else agent.predict(observations, deterministic=True)[0]
            observations, rewards, terminated, truncated, _ = env.step(actions)
            solved |= running & (rewards > 0)
            running &= ~(terminated | truncated)
        env.close()
        return float(solved.mean())

    def smallest(self) -> Self:
        """A few episodes, updates and steps, and two problems."""
        return replace(self, recorded=4, updates=8, steps=16, problems=2)
