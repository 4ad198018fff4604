"""A room with a wall and a goal, and recorded walks through it, few of which reach the goal: agents that learn offline.

A walker begins to the left of a wall with one gap, and the goal lies to the right, at another height in each episode,
which is observed. The reward is 1 at the goal, where the episode ends, and 0 everywhere else. Data are of three kinds
of walks in turn: one to the goal, one to another height there, and three without aim, all with noise. Conditions are
agents that learn from the same walks; each is tested after few and after many of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate, cycle, islice
from typing import Any, Literal, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box

from ...agents import make
from ...agents.control.datasets import Transitions
from ...envs.seeding import generator
from ..statistics import Floats

Seen = npt.NDArray[np.float32]
STEPS, STRIDE, GAP, NEAR, GOAL = 24, 0.15, 0.2, 0.15, 0.8
"""Of an episode; of a step in each direction; half of the gap's height; how near is at the goal; where its x is."""
KINDS = ("aimed", "astray", "aimless", "aimless", "aimless")
NOISE, CHANGES = 0.6, 6
"""Of recorded actions; steps after which an aimless walk chooses another place to go to."""
DATA, TEST = 0, 1  # streams of seeds


def moved(places: npt.ArrayLike, actions: npt.ArrayLike) -> Floats:
    """Places ``[..., 2]`` after actions ``[..., 2]``: who would pass the wall beside its gap keeps the old x."""
    before = np.asarray(places, np.float64)
    after = np.clip(before + STRIDE * np.clip(actions, -1, 1), -1, 1)
    step = after - before
    crosses = (before[..., 0] < 0) != (after[..., 0] < 0)
    share = np.divide(-before[..., 0], step[..., 0], out=np.zeros(crosses.shape), where=crosses)
    blocked = crosses & (np.abs(before[..., 1] + share * step[..., 1]) > GAP)
    after[..., 0] = np.where(blocked, before[..., 0], after[..., 0])
    return after


def arrived(places: Floats, goals: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Whether places ``[..., 2]`` are at goals of these heights ``[...]``."""
    found: npt.NDArray[np.bool_] = np.hypot(places[..., 0] - GOAL, places[..., 1] - np.asarray(goals)) < NEAR
    return found


def began(rng: np.random.Generator) -> tuple[Floats, float]:
    """A place ``[2]`` to the left and the height of a goal."""
    return np.array([rng.uniform(-0.9, -0.6), rng.uniform(-0.9, 0.9)]), float(rng.uniform(-0.8, 0.8))


class Walks(gymnasium.Env[Seen, Seen]):
    """The room: observations ``[3]`` are place and the goal's height, actions ``[2]`` the step, in [-1, 1]."""

    observation_space = Box(-1, 1, (3,), np.float32)
    action_space = Box(-1, 1, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Seen, dict[str, Any]]:
        """Another place and goal."""
        super().reset(seed=seed)
        self.place, self.goal = began(self.np_random)
        self.count = 0
        return self._seen(), {}

    def step(self, action: Seen) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Moves the walker."""
        self.place, self.count = moved(self.place, action), self.count + 1
        there = bool(arrived(self.place, self.goal))
        cut = not there and self.count == STEPS
        return self._seen(), float(there), there, cut, {"is_success": there} if there or cut else {}

    def _seen(self) -> Seen:
        return np.array([*self.place, self.goal], np.float32)


def behaviour(place: Floats, towards: Floats, rng: np.random.Generator) -> Seen:
    """A noisy step towards a place, through the gap if it lies beyond the wall."""
    if (place[0] < 0) != (towards[0] < 0):
        beyond = STRIDE if abs(place[1]) < GAP / 2 else -0.1  # first it goes before the gap, then straight through
        towards = np.array([np.sign(towards[0]) * beyond, 0.0])
    step = (towards - place) / STRIDE
    noisy = step / max(1.0, np.abs(step).max()) + NOISE * rng.normal(size=2)
    return np.asarray(np.clip(noisy, -1, 1), np.float32)


def walk(kind: str, env: Walks, rng: np.random.Generator) -> list[tuple[Seen, Seen, float, Seen, bool]]:
    """An episode of a kind: observation, action, reward, next observation and termination of each step."""
    seen, steps, ended, cut = env.reset()[0], [], False, False
    towards = np.array([GOAL, rng.uniform(-0.8, 0.8) if kind == "astray" else env.goal])
    while not (ended or cut):
        if kind == "aimless" and env.count % CHANGES == 0:
            towards = rng.uniform(-1, 1, 2)
        action = behaviour(env.place, towards, rng)
        after, reward, ended, cut, _ = env.step(action)
        steps.append((seen, action, reward, after, ended))
        seen = after
    return steps


def recorded(episodes: int, seed: int) -> Transitions:
    """Data of that many episodes, the first of which are those of smaller data with the same seed."""
    rng, env = generator(seed, DATA), Walks()
    env.reset(seed=int(rng.integers(2**31)))
    walks = [walk(kind, env, rng) for kind in islice(cycle(KINDS), episodes)]
    seen, actions, rewards, after, ended = (
        np.array(part, np.float32) for part in zip(*[step for one in walks for step in one], strict=True)
    )
    lengths = [len(one) for one in walks]
    ends = np.zeros(len(rewards), np.bool_)
    ends[[last - 1 for last in accumulate(lengths)]] = True
    of = np.repeat(np.arange(episodes), lengths)
    returns = np.bincount(of, weights=rewards, minlength=episodes).astype(np.float64)
    return Transitions(seen, actions, rewards, after, ended, ends, of, returns)


@dataclass(frozen=True)
class Learner:
    """A condition.

    Attributes:
        agent: for :func:`tiltyard.agents.make`.
        settings: that are not the row's or the testbed's.
        kind: "windows" or "steps", what its batches hold.
    """

    agent: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    kind: Literal["windows", "steps"] = "windows"


class Budget(NamedTuple):
    """Of learning from one kind of batches."""

    updates: int
    settings: Mapping[str, Any]


class Walked(NamedTuple):
    """Of one seed.

    Attributes:
        success: share of test episodes that reach the goal ``[sizes, checkpoints]``.
        behaviour: share of the data's episodes that do ``[sizes]``.
        perplexity: of the backbone, a character of held-out text, at the end ``[sizes]``; NaN where there is none.
    """

    success: Floats
    behaviour: Floats
    perplexity: Floats


WINDOWS = Budget(1000, {"batch_size": 8, "context_length": 5})
STEPWISE = Budget(3000, {"batch_size": 64, "policy_kwargs": {"net_arch": [64, 64]}})


@dataclass(frozen=True, kw_only=True)
class FewWalks:
    """The testbed.

    Attributes:
        sizes: episodes in the data.
        windows: how agents learn that read windows, which are slower.
        steps: how agents learn that read single steps.
        checkpoints: at which they are tested, equally far apart.
        episodes: of a test, the same ones for all.
    """

    sizes: tuple[int, ...] = (20, 200)
    windows: Budget = WINDOWS
    steps: Budget = STEPWISE
    checkpoints: int = 2
    episodes: int = 200

    def run(self, condition: Learner, rate: float, seed: int) -> Walked:
        """Trains an agent on each size of data at a learning rate, which falls to 0."""
        found = [self.learnt(condition, rate, seed, size) for size in self.sizes]
        return Walked(*(np.array(part) for part in zip(*found, strict=True)))

    def budget(self, condition: Learner) -> Budget:
        """Of a condition."""
        return self.windows if condition.kind == "windows" else self.steps

    def learnt(self, condition: Learner, rate: float, seed: int, size: int) -> tuple[list[float], float, float]:
        """Success at the checkpoints of an agent that learns from ``size`` episodes, theirs, and its perplexity."""
        data, (updates, settings) = recorded(size, seed), self.budget(condition)
        given = {**settings, **condition.settings, "learning_rate": lambda left: rate * left}
        agent: Any = make(condition.agent, Walks(), seed=seed, device="cpu", **given)
        success, every = [], updates // self.checkpoints

        def test(*_: Any) -> bool:
            if agent.num_timesteps % every == 0:
                success.append(reached(agent, self.episodes))
            return True

        agent.learn_offline(data, every * self.checkpoints, callback=test)
        reads = condition.settings.get("language_model", condition.agent == "lamo")
        return success, float(data.episode_returns.mean()), agent.perplexity() if reads else np.nan

    def smallest(self) -> Self:
        """A few updates and episodes."""
        windows, steps = (one._replace(updates=4) for one in (self.windows, self.steps))
        return replace(self, sizes=(10, 20), windows=windows, steps=steps, checkpoints=1, episodes=4)


def reached(agent: Any, episodes: int) -> float:
    """The share of test episodes in which an agent comes to the goal."""
    rng = generator(0, TEST)
    starts = [began(rng) for _ in range(episodes)]
    places, goals = (np.array(part) for part in zip(*starts, strict=True))
    there, state = np.zeros(episodes, np.bool_), None
    for _ in range(STEPS):
        seen = np.concatenate([places, goals[:, None]], axis=1).astype(np.float32)
        actions, state = agent.predict(seen, state, deterministic=True)
        places = moved(places, actions)
        there |= arrived(places, goals)
    return float(there.mean())
