"""Batches of small tabular worlds, which learned update rules are trained on and tried in.

A batch is n worlds with the same numbers of states and actions. Each world is played by several workers at once, in
arrays ``[n, workers]`` of states; what an episode is worth under a policy is computed exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Step = tuple[Ints, Floats, Bools]


class Worlds(Protocol):
    """What a tabular agent needs of its worlds; n of them."""

    n: int
    n_states: int
    n_actions: int

    def reset(self, workers: int, rng: np.random.Generator) -> Ints:
        """Begins an episode in each of ``[n, workers]``; their states."""

    def step(self, actions: Ints, rng: np.random.Generator) -> Step:
        """States, rewards and ends of episodes, ``[n, workers]`` each; where one ended, the state begins the next."""

    def worth(self, policy: Floats | None = None) -> Floats:
        """Expected return ``[n]`` of an episode by ``policy`` ``[n, states, actions]``; by the best one if None."""


@dataclass(frozen=True)
class GridFamily:
    """Gridworlds with objects that are collected by walking onto them, end the episode or come back by chance.

    After the authors' code (mode "small" and its like; github.com/EmptyJackson/groove): the agent goes up, down, left
    or right or stays; walls and the border stop it. Each object has a reward (the first one's above 0), a probability
    to end the episode when it is collected, and one to come back at each step after. The state is the agent's place and
    which objects are there. Sizes and numbers are uniform, the length of an episode and the probabilities log-uniform.

    Departures: an episode always begins with all objects where the level has them; there is no clock in the state.

    Attributes:
        sizes: least and largest side of the square.
        objects: least and largest number.
        steps: least and largest length of an episode.
        walls: drawn among the cells of the largest square, so that smaller ones have fewer.
        ends: least and largest probability that an object ends the episode.
        returns: least and largest probability, a step, that an object comes back.
        reward: least reward of the objects after the first.
    """

    sizes: tuple[int, int] = (3, 5)
    objects: tuple[int, int] = (1, 3)
    steps: tuple[int, int] = (10, 40)
    walls: int = 5
    ends: tuple[float, float] = (0.01, 1.0)
    returns: tuple[float, float] = (0.001, 0.1)
    reward: float = -1.0

    def __post_init__(self) -> None:
        """Refuses what cannot be.

        Raises:
            ValueError: bounds that are not in order, or more walls than cells.
        """
        for name in ("sizes", "objects", "steps", "ends", "returns"):
            low, high = getattr(self, name)
            if not 0 < low <= high:
                raise ValueError(f"{name} are bounds above 0 in ascending order, got {low} and {high}")
        if self.sizes[0] < 2 or self.objects[1] >= self.sizes[0] ** 2 or not 0 <= self.walls <= self.sizes[1] ** 2:
            raise ValueError(
                "squares of at least 2 must have room for all objects and walls, got "
                f"sizes {self.sizes}, objects {self.objects} and {self.walls} walls"
            )

    @property
    def dimensions(self) -> int:
        """Numbers from 0 to 1 that describe a level: four, and three an object."""
        return 4 + 3 * self.objects[1]

    def worlds(self, levels: npt.ArrayLike) -> "GridWorlds":
        """The worlds of ``levels`` ``[n, dimensions]``, each number between 0 and 1.

        Raises:
            ValueError: another shape, or numbers beyond these bounds.
        """
        given = np.asarray(levels, np.float64)
        if given.ndim != 2 or given.shape[1] != self.dimensions or not ((given >= 0) & (given <= 1)).all():
            raise ValueError(f"levels are {self.dimensions} numbers from 0 to 1 each, got shape {given.shape}")
        return GridWorlds(self, given)


def _whole(share: Floats, bounds: tuple[int, int]) -> Ints:
    low, high = bounds
    return np.minimum(low + (share * (high - low + 1)).astype(np.int64), high)


def _log_uniform(share: Floats, bounds: tuple[float, float]) -> Floats:
    return np.asarray(np.exp(np.log(bounds[0]) + share * np.log(bounds[1] / bounds[0])))


class GridWorlds:
    """Gridworlds side by side; see :class:`GridFamily`. State: place + cells * (bits of the objects that are there)."""

    n_actions = 5

    def __init__(self, family: GridFamily, levels: Floats) -> None:
        self.n, most = len(levels), family.objects[1]
        self.cells = family.sizes[1] ** 2
        self.n_states = self.cells * 2**most
        size, count = _whole(levels[:, 0], family.sizes), _whole(levels[:, 1], family.objects)
        self.length = np.rint(_log_uniform(levels[:, 2], family.steps)).astype(np.int64)
        used = np.arange(most) < count[:, None]
        reward, ends, back = levels[:, 4:].reshape(self.n, 3, most).transpose(1, 0, 2)
        self.reward = np.where(np.arange(most) == 0, reward, family.reward + (1 - family.reward) * reward)
        self.ends = _log_uniform(ends, family.ends)
        self.back = np.where(used, _log_uniform(back, family.returns), 0.0)
        self.full = (used * 2 ** np.arange(most)).sum(axis=1)
        self.moves = np.zeros((self.n, self.cells, 5), np.int64)
        self.start, self.places = np.zeros(self.n, np.int64), np.zeros((self.n, most), np.int64)
        self.object_at = np.full((self.n, self.cells), -1)
        for i in range(self.n):
            self._lay_out(i, int(size[i]), int(count[i]), family, float(levels[i, 3]))
        self._rows = np.arange(self.n)[:, None]

    def _lay_out(self, i: int, size: int, count: int, family: GridFamily, share: float) -> None:
        """Walls, the way between cells, and where the agent and the objects begin; ``share`` decides all."""
        rng = np.random.default_rng([20071, int(share * 2**40)])
        open_ = np.ones(self.cells, np.bool_)
        open_[rng.choice(self.cells, family.walls, replace=False)] = False
        free = np.flatnonzero(open_[: size**2])
        if len(free) < count + 1:  # more walls than the square can bear
            open_[: size**2], free = True, np.arange(size**2)
        at = rng.permutation(free)[: count + 1]
        self.start[i], self.places[i, :count] = at[0], at[1:]
        self.object_at[i, at[1:]] = np.arange(count)
        cell = np.arange(size**2)
        row, column = cell // size, cell % size
        inside = [row > 0, row < size - 1, column > 0, column < size - 1, np.ones(size**2, np.bool_)]
        for action, (fits, by) in enumerate(zip(inside, (-size, size, -1, 1, 0), strict=True)):
            after = np.where(fits, cell + by, cell)
            self.moves[i, cell, action] = np.where(open_[after], after, cell)

    def reset(self, workers: int, rng: np.random.Generator) -> Ints:
        """See :class:`Worlds`."""
        self._place = np.repeat(self.start[:, None], workers, axis=1)
        self._there = np.repeat(self.full[:, None], workers, axis=1)
        self._time = np.zeros_like(self._place)
        return np.asarray(self._place + self.cells * self._there)

    def step(self, actions: Ints, rng: np.random.Generator) -> Step:
        """See :class:`Worlds`."""
        rows, most = self._rows, self.back.shape[1]
        place = self.moves[rows, self._place, actions]
        which = self.object_at[rows, place]
        taken = (which >= 0) & ((self._there >> which.clip(0)) & 1 > 0)
        reward = np.where(taken, self.reward[rows, which], 0.0)
        chances = rng.random((*place.shape, most + 1))
        ended = taken & (chances[..., -1] < self.ends[rows, which])
        there = self._there | ((chances[..., :-1] < self.back[:, None]) @ (1 << np.arange(most)))
        there &= ~np.where(taken, 1 << which.clip(0), 0)
        self._time += 1
        done = ended | (self._time >= self.length[:, None])
        self._place = np.where(done, self.start[:, None], place)
        self._there = np.where(done, self.full[:, None], there)
        self._time[done] = 0
        return self._place + self.cells * self._there, reward, done

    def worth(self, policy: Floats | None = None) -> Floats:
        """See :class:`Worlds`; by backward induction."""
        sets = self.n_states // self.cells
        shares = None if policy is None else policy.reshape(self.n, sets, self.cells, 5)
        value, found = np.zeros((self.n, sets, self.cells)), np.zeros(self.n)
        to = np.repeat(self.moves.reshape(self.n, 1, -1), sets, axis=1)
        for left in range(1, int(self.length.max()) + 1):
            after = np.take_along_axis(self._entering(value), to, axis=2).reshape(self.n, sets, self.cells, 5)
            value = after.max(axis=-1) if shares is None else np.einsum("nsca,nsca->nsc", after, shares)
            now = self.length == left
            found[now] = value[now, self.full[now], self.start[now]]
        return found

    def _entering(self, value: Floats) -> Floats:
        """What it is worth to step into a cell, ``[n, sets, cells]``, given the values a step later."""
        entering, sets, every = self._respawned(value, None), np.arange(value.shape[1]), np.arange(self.n)
        for i in range(self.back.shape[1]):
            has = sets[sets >> i & 1 > 0]
            rest = self._respawned(value, i)[every[:, None], has ^ (1 << i), self.places[:, i, None]]
            worth = self.reward[:, i, None] + (1 - self.ends[:, i, None]) * rest
            here = (self.full >> i & 1 > 0)[:, None]
            before = entering[every[:, None], has, self.places[:, i, None]]
            entering[every[:, None], has, self.places[:, i, None]] = np.where(here, worth, before)
        return entering

    def _respawned(self, value: Floats, but: int | None) -> Floats:
        """Expected values before objects come back, all but one of them (it has just been taken)."""
        for i in range(self.back.shape[1]):
            if i != but:
                pairs = value.reshape(self.n, -1, 2, 2**i, self.cells)
                back = self.back[:, i, None, None, None]
                gone = (1 - back) * pairs[:, :, 0] + back * pairs[:, :, 1]
                value = np.stack([gone, pairs[:, :, 1]], axis=2).reshape(value.shape)
        return value


class RandomWorlds:
    """Random decision processes, which are no gridworlds: a few possible next states for each action.

    Each pair of state and action leads to ``branches`` random states with probabilities from a flat Dirichlet
    distribution; a tenth of the pairs pay a reward uniform between 0 and 1. An episode begins in state 0.

    Args:
        n: worlds.
        rng: decides them.
        states: of each.
        actions: of each.
        branches: next states of a pair.
        length: of an episode.
    """

    def __init__(
        self,
        n: int,
        rng: np.random.Generator,
        *,
        states: int = 20,
        actions: int = 3,
        branches: int = 2,
        length: int = 20,
    ) -> None:
        self.n, self.n_states, self.n_actions, self.length = n, states, actions, length
        size = (n, states, actions)
        self.next = rng.integers(states, size=(*size, branches))
        self.chance = rng.dirichlet(np.ones(branches), size=size)
        self.reward = rng.random(size) * (rng.random(size) < 0.1)
        self._rows = np.arange(n)[:, None]

    def reset(self, workers: int, rng: np.random.Generator) -> Ints:
        """See :class:`Worlds`."""
        self._state, self._time = np.zeros((self.n, workers), np.int64), 0
        return self._state

    def step(self, actions: Ints, rng: np.random.Generator) -> Step:
        """See :class:`Worlds`."""
        at = self._rows, self._state, actions
        reward = self.reward[at]
        branch = (rng.random((*actions.shape, 1)) > self.chance[at].cumsum(axis=-1)[..., :-1]).sum(axis=-1)
        self._state, self._time = self.next[(*at, branch)], self._time + 1
        done = np.full(actions.shape, self._time == self.length)
        if self._time == self.length:
            self._state, self._time = np.zeros_like(self._state), 0
        return self._state, reward, done

    def worth(self, policy: Floats | None = None) -> Floats:
        """See :class:`Worlds`."""
        value = np.zeros((self.n, self.n_states))
        for _ in range(self.length):
            after = self.reward + (self.chance * value[np.arange(self.n)[:, None, None, None], self.next]).sum(axis=-1)
            value = after.max(axis=-1) if policy is None else (after * policy).sum(axis=-1)
        return value[:, 0]


class GymWorld:
    """One Gymnasium environment with discrete states and actions, a copy a worker.

    Args:
        make: makes a copy.

    Raises:
        ValueError: observations or actions that are not ``Discrete``.
    """

    n = 1

    def __init__(self, make: Callable[[], gymnasium.Env[Any, Any]]) -> None:
        self._make, self._envs = make, [make()]
        states, actions = self._envs[0].observation_space, self._envs[0].action_space
        if not isinstance(states, gymnasium.spaces.Discrete) or not isinstance(actions, gymnasium.spaces.Discrete):
            raise ValueError(f"tabular agents need Discrete observations and actions, got {states} and {actions}")
        self.n_states, self.n_actions = int(states.n), int(actions.n)
        self._first, self._first_action = int(states.start), int(actions.start)

    def reset(self, workers: int, rng: np.random.Generator) -> Ints:
        """See :class:`Worlds`."""
        self._envs += [self._make() for _ in range(workers - len(self._envs))]
        states = [env.reset(seed=int(rng.integers(2**31)))[0] for env in self._envs[:workers]]
        return np.array([states], np.int64) - self._first

    def step(self, actions: Ints, rng: np.random.Generator) -> Step:
        """See :class:`Worlds`."""
        states, rewards = np.zeros(actions.shape, np.int64), np.zeros(actions.shape)
        done = np.zeros(actions.shape, np.bool_)
        for i, (env, action) in enumerate(zip(self._envs, actions[0], strict=False)):
            state, reward, ended, cut, _ = env.step(int(action) + self._first_action)
            rewards[0, i], done[0, i] = float(reward), ended or cut
            states[0, i] = (env.reset()[0] if ended or cut else state) - self._first
        return states, rewards, done

    def worth(self, policy: Floats | None = None, *, episodes: int = 20, seed: int = 0) -> Floats:
        """Mean return ``[1]`` of some episodes by a policy ``[1, states, actions]``.

        Raises:
            ValueError: no policy is given: the best one is not known.
        """
        if policy is None:
            raise ValueError("what the best policy earns is not known here: give a policy")
        rng, env, total = np.random.default_rng(seed), self._make(), 0.0  # the workers' own are in mid-episode
        for _ in range(episodes):
            state, over = env.reset(seed=int(rng.integers(2**31)))[0], False
            while not over:
                action = rng.choice(self.n_actions, p=policy[0, int(state) - self._first])
                state, reward, ended, cut, _ = env.step(int(action) + self._first_action)
                total, over = total + float(reward), ended or cut
        return np.array([total / episodes])
