"""Learning from play, and then from experience: an arm at a cabinet, by the recipes of the catalogue of datasets.

Play has the arm at drawer and door by goals of its own, in episodes that mostly end before anything is solved. Agents
learn from it, from demonstrations or from nothing; then a second part follows, in the environment or on the data again,
equally many updates for all; and each is tested after both on the same problems, with the environment's own time limit.
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


@dataclass(frozen=True)
class Learner:
    """A condition.

    Attributes:
        agent: for :func:`tiltyard.agents.make`.
        data: what it learns from at first, the last part of the dataset's name ("play"); "" for nothing at all.
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
    """Of one agent: the share of test problems that it solves after the first part and after the second."""

    before: float
    after: float


@lru_cache(maxsize=64)
def transitions(dataset: str, seed: int, episodes: int | None) -> Transitions:
    """Recorded by the recipe of the catalogue with another seed: the same data for all conditions of a run's seed."""
    return as_transitions(find(dataset).record(seed, episodes))


@dataclass(frozen=True, kw_only=True)
class PlayData:
    """The testbed.

    Attributes:
        family: the first part of the datasets' ids: ``{family}-play-v0``.
        recorded: episodes of a dataset; None for as many as the catalogue's have.
        updates: of the first part.
        steps: of the second, in the environment, with one update each; or as many updates.
        problems: in a test.
        settings: of all conditions.
    """

    family: str = "tiltyard/d5rl/drawer-door"
    recorded: int | None = None
    updates: int = 8000
    steps: int = 4000
    problems: int = 50
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    @property
    def task(self) -> str:
        """The environment."""
        return find(f"{self.family}-play-v0").env_id

    def run(self, condition: Learner, rate: float, seed: int) -> Learned:
        """Trains an agent at a learning rate in both parts."""
        online = ONLINE if condition.online else {}
        settings = {**self.settings, **online, **condition.settings, "learning_rate": rate, "device": "cpu"}
        agent: Any = make(condition.agent, self.task, seed=seed, **settings)
        data: Any = None
        if condition.data:
            data = transitions(f"{self.family}-{condition.data}-v0", seed, self.recorded)
            agent.learn_offline(data, self.updates)
        before = self.solved(agent, seed)
        if condition.online:
            agent.learn(self.steps, reset_num_timesteps=False)
        else:
            agent.learn_offline(data, self.steps)
        return Learned(before, self.solved(agent, seed))

    def solved(self, agent: Any, seed: int) -> float:
        """The share of problems that a policy solves, deterministic, each tried once; for ``None`` a random one."""
        env = gymnasium.make_vec(self.task, self.problems, "vector_entry_point", split="test")
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
        return replace(self, recorded=4, updates=8, steps=8, problems=2)
