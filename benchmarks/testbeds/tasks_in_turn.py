"""Tasks that come one after the other, without labels: what is forgotten, and how well the new ones are learnt.

A point on a line goes to a task's goal. Each task lies in a stretch of its own, so that what is seen tells which it is,
as pictures of different games do, and has its own answer to a push: forwards, backwards, and forwards at half strength.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ..statistics import Floats
from .control import Agent, Control, evenly
from .distracted import SETTINGS, STARTS

GAINS, GOALS, APART = (1.0, -1.0, 0.5), (0.5, -0.5, 0.0), 3.0
"""Of each task: the answer to a push, and the goal from the middle of its stretch; and from one middle to the next."""
TASKS = len(GAINS)
MODEL: dict[str, Any] = {"model_net_arch": [32, 32], "model_learning_rate": 0.02}


def pushed(task: int, points: Floats, action: Floats) -> tuple[Floats, Floats]:
    """Place and speed ``[n, 2]``, from the middle of the stretch, a step later, and rewards ``[n]``."""
    place, speed = points.T
    speed = 0.8 * speed + 0.25 * GAINS[task] * np.clip(action, -1, 1)
    place = np.clip(place + 0.2 * speed, -1.2, 1.2)
    return np.stack([place, speed], axis=1), -np.abs(place - GOALS[task])


def seen(task: int, points: Floats) -> npt.NDArray[np.float32]:
    """Observations ``[n, 2]``: place on the whole line, and speed."""
    found: npt.NDArray[np.float32] = (points + np.array([APART * (task - 1), 0.0])).astype(np.float32)
    return found


def starts(n: int, rng: np.random.Generator) -> Floats:
    """Points ``[n, 2]`` at rest."""
    return np.stack([rng.uniform(-1, 1, n), np.zeros(n)], axis=1)


class TasksInTurn(gymnasium.Env[Any, Any]):
    """The next task begins when ``each`` steps have been taken in the present one.

    Args:
        each: steps of a task, whole episodes.
        steps: of an episode.
    """

    action_space = Box(-1, 1, (1,), np.float32)
    observation_space = Box(-np.inf, np.inf, (2,), np.float32)

    def __init__(self, each: int, steps: int = 30) -> None:
        if each % steps:
            raise ValueError(f"a task has whole episodes of {steps} steps: {each} steps are not")
        self.each, self.steps, self.taken = each, steps, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """A point of the present task."""
        super().reset(seed=seed)
        self.task = min(self.taken // self.each, TASKS - 1)
        self.point, self.step_count = starts(1, self.np_random), 0
        return seen(self.task, self.point)[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Pushes."""
        self.point, reward = pushed(self.task, self.point, np.asarray(action, float))
        self.step_count, self.taken = self.step_count + 1, self.taken + 1
        return seen(self.task, self.point)[0], float(reward[0]), False, self.step_count >= self.steps, {}


def mean_return(act: Any, task: int, episodes: int, steps: int) -> float:
    """Of test episodes; ``act`` takes observations ``[n, 2]`` and gives pushes ``[n, 1]``."""
    points = starts(episodes, np.random.default_rng([STARTS, task]))
    total = np.zeros(episodes)
    for _ in range(steps):
        points, rewards = pushed(task, points, np.asarray(act(seen(task, points)), float)[:, 0])
        total += rewards
    return float(total.mean())


def expert(task: int) -> Any:
    """Pushes towards the goal, with damping."""

    def act(observations: Floats) -> Floats:
        place = observations[:, :1] - APART * (task - 1)
        pushes: Floats = np.clip((8 * (GOALS[task] - place) - 5 * observations[:, 1:]) * np.sign(GAINS[task]), -1, 1)
        return pushes

    return act


class Turns(NamedTuple):
    """Normalised returns ``[after task, of task]``: 0 is doing nothing, 1 the scripted expert."""

    scores: Floats

    @property
    def forgotten(self) -> float:
        """By how much the earlier tasks' scores fell from the end of their own training to the end, mean over them."""
        fell = np.diag(self.scores)[:-1] - self.scores[-1, :-1]
        return float(fell.mean())

    @property
    def new(self) -> float:
        """The score on a task after its own training, mean over tasks."""
        return float(np.diag(self.scores).mean())

    @property
    def end(self) -> float:
        """The score after the last task, mean over all tasks."""
        return float(self.scores[-1].mean())


@dataclass(frozen=True, kw_only=True)
class InTurn:
    """The testbed.

    Attributes:
        settings: of all agents; a condition's ``buffer_size`` and others come on top.
        each: steps of a task.
        steps: of an episode.
        episodes: of a score.
    """

    settings: Mapping[str, Any] = field(default_factory=lambda: {**SETTINGS, **MODEL})
    each: int = 1_500
    steps: int = 30
    episodes: int = 50

    def score(self, agent: Any, _: int) -> list[float]:
        """The normalised return on each task."""
        found = []
        for task in range(TASKS):
            policies = (
                lambda observations: agent.predict(observations, deterministic=True)[0],
                lambda observations: np.zeros((len(observations), 1)),
                expert(task),
            )
            own, idle, best = (mean_return(policy, task, self.episodes, self.steps) for policy in policies)
            found.append((own - idle) / (best - idle))
        return found

    def run(self, condition: Agent, rate: float, seed: int) -> Turns:
        """Trains a condition on all tasks, actor and critics at ``rate``."""
        bed = Control(
            env=lambda: TasksInTurn(self.each, self.steps),
            settings=self.settings,
            phases=evenly(TASKS * self.each, TASKS),
            score=self.score,
        )
        return Turns(np.array(bed.run(condition, rate, seed).scores))

    def smallest(self) -> Self:
        """Hardly any steps and updates."""
        few = {"learning_starts": 8, "model_updates": 2, "model_train_freq": 16, "rollouts_per_step": 2}
        return replace(self, settings={**self.settings, **few}, each=30, episodes=2)
