"""Errands: fetch a parcel on a grid and bring it to a door, in many turns.

The grid has 5 x 5 cells, some of them walls, and 30 moves are given. A move is a token; the reward is 1 for a parcel
brought and 0 otherwise. The policy is a small network that sees where it is and where it has to go next, so that what
one errand teaches changes all others. Each batch draws eight errands and plays each eight times; episodes come back to
cells, bump into walls and meet each other's, as agents do in a household or a shop. Success is no estimate: it is
computed by moving the policy's distribution over states forward, on errands that were not trained on.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import torch as th
from torch import Tensor, nn

from ...agents.language.rollouts import PolicyOut, Rollouts
from ..statistics import Floats
from .sequences import SequenceMethod, columns

GAMMA = 0.95
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Errands:
    """The task; its outcome is success at every moment.

    Attributes:
        side: of the grid.
        walls: cells that cannot be entered.
        moves: at most.
        errands: an iteration.
        group: episodes of each.
        held_out: errands to be judged on only.
        hidden: units of the network.
    """

    side: int = 5
    walls: int = 4
    moves: int = 30
    errands: int = 8
    group: int = 8
    held_out: int = 64
    hidden: int = 32

    @property
    def cells(self) -> int:
        """Of the grid, walls included."""
        return self.side * self.side

    def learner(self, seed: int) -> "ErrandLearner":
        """A grid, errands held out and a policy of ``seed``."""
        return ErrandLearner(self, seed)

    def outcome(self, moments: list[Any], every: int) -> Floats:
        """``[moments]``."""
        return columns(moments)

    def smallest(self) -> Self:
        """Few errands to be judged on."""
        return replace(self, held_out=8)


class Grid:
    """Cells that can all be reached: ``leads_to`` ``[cells, 4]`` is the cell after a move; walls and edges hold back.

    ``free`` are the cells without walls.
    """

    def __init__(self, task: Errands, rng: np.random.Generator) -> None:
        side, n = task.side, task.cells
        while True:
            wall = np.zeros((side + 2, side + 2), bool)
            wall[[0, -1]] = wall[:, [0, -1]] = True
            cells = rng.permutation(n)
            wall[1 + cells[: task.walls] // side, 1 + cells[: task.walls] % side] = True
            row, column = 1 + np.arange(n) // side, 1 + np.arange(n) % side
            moved = [(row + down, column + right) for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))]
            there = np.stack([(r - 1) * side + c - 1 for r, c in moved], 1)
            blocked = np.stack([wall[r, c] for r, c in moved], 1)
            self.leads_to: Ints = np.where(blocked, np.arange(n)[:, None], there)
            self.free: Ints = cells[task.walls :]
            if self._reached_from(int(self.free[0])) == len(self.free):
                return

    def _reached_from(self, cell: int) -> int:
        seen = np.zeros(len(self.leads_to), bool)
        seen[cell] = True
        for _ in range(len(seen)):
            seen[self.leads_to[seen]] = True
        return int(seen.sum())

    def errands(self, n: int, rng: np.random.Generator, *, but: Collection[tuple[int, ...]] = ()) -> Ints:
        """Where to start, fetch and bring, ``[n, 3]``, three different cells each; none of those in ``but``."""
        drawn: list[tuple[int, ...]] = []
        while len(drawn) < n:
            errand = tuple(rng.permutation(self.free)[:3].tolist())
            if errand not in but:
                drawn.append(errand)
        return np.array(drawn)


class Mover(nn.Module):
    """A policy: ``self()`` is the log-probability of each move, ``[cells, goals, 4]``, at a cell with a goal."""

    def __init__(self, task: Errands, generator: th.Generator) -> None:
        super().__init__()
        size = (task.cells, task.hidden)
        self.cell, self.goal = (nn.Parameter(th.randn(*size, generator=generator)) for _ in range(2))
        self.out = nn.Parameter(0.1 * th.randn(task.hidden, 4, generator=generator))

    def forward(self) -> Tensor:
        """See the class."""
        return ((self.cell[:, None] + self.goal[None]).tanh() @ self.out).log_softmax(-1)


class Episodes(NamedTuple):
    """Errands run: B episodes of T moves at most; whatever comes after ``length`` is not part of them."""

    cell: Ints  # [B, T]
    goal: Ints  # [B, T] the parcel's cell, then the door's
    carries: Ints  # [B, T] 0 or 1
    move: Ints  # [B, T]
    length: Ints  # [B]
    won: npt.NDArray[np.bool_]  # [B]


def play(grid: Grid, errands: Ints, chances: Floats, rng: np.random.Generator, *, moves: int = 30) -> Episodes:
    """One episode of each errand ``[B, 3]`` with the chances of each move ``[cells, goals, 4]``."""
    below = chances.cumsum(-1)[..., :3]
    cell, parcel, door = errands.T
    carries, done, length = np.zeros(len(cell), np.int64), np.zeros(len(cell), bool), np.zeros(len(cell), np.int64)
    found: list[tuple[Ints, ...]] = []
    for _ in range(moves):
        goal = np.where(carries, door, parcel)
        move = (rng.random((len(cell), 1)) > below[cell, goal]).sum(1)
        found.append((cell, goal, carries, move))
        length += ~done
        there = grid.leads_to[cell, move]
        done = done | ((carries == 1) & (there == door))
        carries, cell = carries | (there == parcel), there
    cells, goals, loads, taken = (np.stack(column, 1) for column in zip(*found, strict=True))
    return Episodes(cells, goals, loads, taken, length, done)


def success(grid: Grid, errands: Ints, chances: Floats, *, moves: int = 30) -> float:
    """The exact probability that an errand is done in time, mean over errands ``[N, 3]``."""
    start, parcel, door = errands.T
    rows, n = np.arange(len(errands)), len(grid.leads_to)
    onward = np.zeros((len(errands), n, 2, n))  # to each cell, from each, without the parcel and with it
    for carries, goal in enumerate((parcel, door)):
        for move in range(4):
            onward[:, np.arange(n), carries, grid.leads_to[:, move]] += chances[:, goal, move].T
    empty, loaded, brought = np.zeros((len(errands), n)), np.zeros((len(errands), n)), np.zeros(len(errands))
    empty[rows, start] = 1.0
    for _ in range(moves):
        empty, loaded = (np.einsum("nc,ncd->nd", at, onward[:, :, k]) for k, at in enumerate((empty, loaded)))
        brought += loaded[rows, door]
        loaded[rows, door] = 0.0
        loaded[rows, parcel] += empty[rows, parcel]
        empty[rows, parcel] = 0.0
    return float(brought.mean())


class ErrandLearner:
    """A policy on a grid of its own."""

    def __init__(self, task: Errands, seed: int) -> None:
        self.task, self.rng = task, np.random.default_rng([2505, seed])
        self.generator = th.Generator().manual_seed(seed)
        self.grid, self.policy = Grid(task, self.rng), Mover(task, self.generator)
        self.held_out = self.grid.errands(task.held_out, self.rng)
        self.unseen = set(map(tuple, self.held_out.tolist()))

    def weights(self) -> list[Tensor]:
        """See :class:`.sequences.SequenceLearner`."""
        return list(self.policy.parameters())

    def chances(self) -> Floats:
        """Of each move, ``[cells, goals, 4]``."""
        chances: Floats = self.policy().detach().exp().double().numpy()
        return chances

    def exact(self) -> float:
        """Success on the errands held out."""
        return success(self.grid, self.held_out, self.chances(), moves=self.task.moves)

    def rollouts(self) -> Rollouts:
        """Episodes of some errands."""
        drawn = self.grid.errands(self.task.errands, self.rng, but=self.unseen).repeat(self.task.group, 0)
        return self.as_rollouts(play(self.grid, drawn, self.chances(), self.rng, moves=self.task.moves))

    def logp(self, rollouts: Rollouts) -> Tensor:
        """See :class:`.sequences.SequenceLearner`."""
        logp: Tensor = self.policy()[rollouts.info["cell"], rollouts.info["goal"], rollouts.tokens]
        return logp

    @th.no_grad()
    def as_rollouts(self, found: Episodes) -> Rollouts:
        """Episodes as objectives read them: a turn is one token, ``group`` episodes after each other are a group."""
        length, won = th.from_numpy(found.length), th.from_numpy(found.won).float()
        size, moves = found.move.shape
        turn, group = th.arange(moves).expand(size, moves), th.arange(size) // self.task.group
        return Rollouts(
            tokens=th.from_numpy(found.move),
            mask=turn < length[:, None],
            logp_old=self.policy()[found.cell, found.goal, found.move],
            logp_ref=None,
            reward=won,
            group=group,
            seed=group,
            turn=turn,
            length=length,
            entropy=th.zeros(size, moves),
            step_reward=(turn == length[:, None] - 1) * won[:, None],
            state=th.from_numpy(2 * found.cell + found.carries),
            info={"cell": th.from_numpy(found.cell), "goal": th.from_numpy(found.goal)},
        )


def gigpo(omega: float, *, scale: bool = False, **how: Any) -> SequenceMethod:
    """The catalogue's ``gigpo``; with omega 0, credit for episodes alone."""
    return SequenceMethod("gigpo", {"omega": omega, "gamma": GAMMA, "scale": scale}, **how)


def mean_success(run: Floats) -> float:
    """Mean over training."""
    return float(run.mean())


def signal(task: Errands, method: SequenceMethod, seed: int, *, batches: int = 64) -> float:
    """Mean cosine between the gradients of two batches of the untrained policy: 1 without noise, 0 without signal.

    Args:
        task: whose policy it is.
        method: whose objective.
        seed: of the grid, the policy and the batches.
        batches: drawn; all pairs are compared.
    """
    learner, objective = task.learner(seed), method.objective()
    rows = []
    for _ in range(batches):
        batch = learner.rollouts()
        seen = method.sees(batch, learner.generator) if method.sees else batch
        loss, _ = objective(seen, PolicyOut(learner.logp(seen), batch.entropy))
        gradients = th.autograd.grad(loss, learner.weights())
        rows.append(nn.functional.normalize(th.cat([one.flatten() for one in gradients]), dim=0))
    cosines = th.stack(rows) @ th.stack(rows).T
    return float((cosines.sum() - cosines.trace()) / (batches * (batches - 1)))


class Discounted:
    """A parcel brought in n moves earns gamma ** (n - 1)."""

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma

    def __call__(self, rollouts: Rollouts, generator: th.Generator) -> Rollouts:
        """See the class."""
        return replace(rollouts, reward=rollouts.reward * self.gamma ** (rollouts.length - 1))
