"""Two corridors that lead to the same doors: what is right at the doors does not depend on the corridor.

An episode begins with a sign, one of two, shown once. Then comes a corridor, one of two, whose walls are random, so
that no two histories are equal; each action leads on. After it come doors, one after another. The sign alone says
which action opens a door; any other ends the episode. Behind the last door is a reward of 1. Observations at the doors
tell which door it is and nothing else, so that sign and corridor are known from the history alone.

In the data the doors are mostly opened after the corridor "shown", and seldom after the corridor "hidden": there the
behaviour policy prefers a wrong action. Who finds out that histories through both have the same future, can open the
doors after the hidden corridor by what was seen after the shown one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete

from ...agents import make
from ...agents.control.datasets import Transitions
from ...envs.seeding import generator
from ..statistics import Floats

SHOWN, HIDDEN = 0, 1
OPENS = ((0, 2, 1), (3, 1, 2))
"""By sign and door, the action that opens it."""
ACTIONS, WALLS, LENGTH = 4, 4, 4
OFTEN, SELDOM, WRONG = 0.8, 0.2, 0.6
"""How often data open a door after the shown and after the hidden corridor, and take the preferred wrong action."""
SETTINGS: dict[str, Any] = {
    "context_length": LENGTH + len(OPENS[0]),
    "policy_kwargs": {"net_arch": [64], "hidden_size": 64, "feature_dim": 16},
}
DATA, TEST = 0, 1  # streams of seeds

Seen = npt.NDArray[np.float32]


class Corridors(gymnasium.Env[Seen, np.int64]):
    """The corridors and doors: observations are ``[11]``, actions four.

    An observation holds the sign (2, at the first step), the corridor (2) and its walls (4, each -1 or 1) while in it,
    and the door (3).

    Args:
        corridor: the only one, or None for either.
    """

    def __init__(self, corridor: int | None = None) -> None:
        self.only, self.doors = corridor, len(OPENS[0])
        self.observation_space = Box(-1, 1, (2 + 2 + WALLS + self.doors,), np.float32)
        self.action_space = Discrete(ACTIONS)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Seen, dict[str, Any]]:
        """A sign and a corridor at random."""
        super().reset(seed=seed)
        sign, corridor = (int(self.np_random.integers(2)) for _ in range(2))
        self.sign, self.corridor = sign, corridor if self.only is None else self.only
        self.place = 0
        return self._seen(), {}

    def step(self, action: np.int64) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Walks on, or tries a door."""
        door = self.place - LENGTH
        opened = door < 0 or int(action) == OPENS[self.sign][door]
        self.place += 1
        through = opened and self.place == LENGTH + self.doors
        ended = through or not opened
        return self._seen(), float(through), ended, False, {"is_success": through} if ended else {}

    def _seen(self) -> Seen:
        seen = np.zeros(self.observation_space.shape or (), np.float32)
        if self.place == 0:
            seen[self.sign] = 1
        if self.place < LENGTH:
            seen[2 + self.corridor] = 1
            seen[4 : 4 + WALLS] = self.np_random.choice([-1, 1], WALLS)
        elif self.place < LENGTH + self.doors:
            seen[4 + WALLS + self.place - LENGTH] = 1
        return seen


def behaviour(env: Corridors, rng: np.random.Generator) -> int:
    """The data's action: any in the corridor; the right one at doors :data:`OFTEN` or :data:`SELDOM`."""
    door = env.place - LENGTH
    if door < 0:
        return int(rng.integers(ACTIONS))
    right = OPENS[env.sign][door]
    wrong = [(right + i) % ACTIONS for i in range(1, ACTIONS)]
    often, preferred = (OFTEN, (1 - OFTEN) / 3) if env.corridor == SHOWN else (SELDOM, WRONG)
    chances = [often, preferred, *[(1 - often - preferred) / 2] * 2]
    return int(rng.choice([right, *wrong], p=chances))


def recorded(episodes: int, seed: int) -> Transitions:
    """Data of that many episodes, the first of which are those of smaller data with the same seed."""
    rng, env = generator(seed, DATA), Corridors()
    env.reset(seed=int(rng.integers(2**31)))
    steps: list[tuple[Seen, int, float, Seen, bool, int]] = []
    for episode in range(episodes):
        seen, ended = env.reset()[0], False
        while not ended:
            action = behaviour(env, rng)
            after, reward, ended, _, _ = env.step(np.int64(action))
            steps.append((seen, action, reward, after, ended, episode))
            seen = after
    observed, actions, rewards, following, ends, of = (np.array(part) for part in zip(*steps, strict=True))
    return Transitions(
        observations=observed.astype(np.float32),
        actions=actions.astype(np.int64),
        rewards=rewards.astype(np.float32),
        next_observations=following.astype(np.float32),
        terminations=ends.astype(np.float32),
        ends=ends.astype(np.bool_),
        episodes=of.astype(np.int64),
        episode_returns=np.bincount(of, weights=rewards, minlength=episodes).astype(np.float64),
    )


@dataclass(frozen=True)
class Reader:
    """A condition: settings of history-bisim that differ from those of all."""

    settings: Mapping[str, Any] = field(default_factory=dict)


class Opened(NamedTuple):
    """Of one seed.

    Attributes:
        success: share of test episodes that open all doors ``[sizes, checkpoints, 2]``, after the shown and the hidden
            corridor.
        loss: the bisimulation loss on the data at these checkpoints ``[sizes, checkpoints]``.
    """

    success: Floats
    loss: Floats


@dataclass(frozen=True, kw_only=True)
class CorridorData:
    """The testbed: agents that learn from data of several sizes.

    Attributes:
        sizes: episodes in the data.
        updates: of an agent on each.
        checkpoints: at which it is tested, equally far apart.
        episodes: of a test, in each corridor, the same ones for all.
        settings: of all conditions.
    """

    sizes: tuple[int, ...] = (100, 300)
    updates: int = 1200
    checkpoints: int = 3
    episodes: int = 100
    settings: Mapping[str, Any] = field(default_factory=SETTINGS.copy)

    def run(self, condition: Reader, rate: float, seed: int) -> Opened:
        """Trains an agent on each size of data at a learning rate."""
        found = [self.learnt(condition, rate, seed, size) for size in self.sizes]
        success, loss = zip(*found, strict=True)
        return Opened(np.array(success), np.array(loss))

    def learnt(self, condition: Reader, rate: float, seed: int, size: int) -> tuple[list[list[float]], list[float]]:
        """Success and loss at the checkpoints of an agent that learns from ``size`` episodes."""
        data, settings = recorded(size, seed), {**self.settings, **condition.settings}
        settings["policy_kwargs"] = {**self.settings["policy_kwargs"], **condition.settings.get("policy_kwargs", {})}
        agent: Any = make("history-bisim", Corridors(), seed=seed, learning_rate=rate, device="cpu", **settings)
        success, loss = [], []
        for _ in range(self.checkpoints):
            agent.learn_offline(data, self.updates // self.checkpoints)
            success.append([opened(agent, corridor, self.episodes) for corridor in (SHOWN, HIDDEN)])
            loss.append(agent.bisimulation_of(data))
        return success, loss

    def smallest(self) -> Self:
        """A few updates and episodes."""
        return replace(self, sizes=(20, 40), updates=8, checkpoints=2, episodes=4)


def opened(agent: Any, corridor: int, episodes: int) -> float:
    """The share of test episodes in a corridor that end behind the last door."""
    seeds = generator(corridor, TEST).integers(2**31, size=episodes)
    envs = [Corridors(corridor) for _ in range(episodes)]
    seen = np.stack([env.reset(seed=int(seed))[0] for env, seed in zip(envs, seeds, strict=True)])
    going, state, through = np.arange(episodes), None, 0
    while len(going):
        actions, state = agent.predict(seen, state, deterministic=True)
        steps = [envs[i].step(action) for i, action in zip(going, actions, strict=True)]
        through += sum(step[1] > 0 for step in steps)
        on = np.array([not step[2] for step in steps])
        going, seen = going[on], np.stack([step[0] for step in steps])[on]
        state = tuple(part[on] for part in state)
    return through / episodes
