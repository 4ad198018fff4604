r"""ExpRD: a reward on few states that keeps the best behaviour and tells as early as possible what is good.

    found = designed(process, budget=5)       # which states, and the reward on them
    shaped = potential_based(process)         # dense, the most informative one

Paper: Devidze, Reward Design for Reinforcement Learning Agents (2025), chapter on explicable reward design; Devidze et
al., Explicable Reward Design for Reinforcement Learning Agents (2021), problem P1, conditions C.1 and C.2, algorithm 1.
The thesis's ExploRS is the agent ``explors`` (:mod:`tiltyard.agents.control.explors`); its adaptive design is not here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from .statistics import Floats

HORIZONS = (1, 2, 4, 8, 16, 32)
"""For how many steps ahead rewards are to tell what is good, as in the paper."""
EPSILON = 1e-12
"""Values nearer than this are equal."""
SLACK = 1e-3
"""Share of the gaps that may be lost, as the original reward, which is feasible, would else be so by a hair only."""

SPARE = 1e-3
"""What a unit of reward costs, in units of informativeness, so that of equally good rewards the smallest is taken."""


@dataclass(frozen=True)
class Process:
    """A finite discounted decision process.

    Attributes:
        transitions: ``[S, A, S]`` probabilities.
        rewards: ``[S, A]``.
        gamma: discount, below 1.
    """

    transitions: Floats
    rewards: Floats
    gamma: float

    def __post_init__(self) -> None:
        states, actions = self.rewards.shape
        if self.transitions.shape != (states, actions, states) or not 0 <= self.gamma < 1:
            raise ValueError(
                f"transitions are [S, A, S], rewards [S, A] and gamma in [0, 1), got {self.transitions.shape}, "
                f"{self.rewards.shape} and {self.gamma}"
            )

    def q(self, policy: npt.ArrayLike) -> Floats:
        """Q ``[S, A]`` of a deterministic policy ``[S]``."""
        states, chosen = np.arange(len(self.rewards)), np.asarray(policy)
        moved = self.transitions[states, chosen]
        values = np.linalg.solve(np.eye(len(states)) - self.gamma * moved, self.rewards[states, chosen])
        return np.asarray(self.rewards + self.gamma * self.transitions @ values)

    def optimum(self) -> Floats:
        """The best Q ``[S, A]``, by policy iteration."""
        states, policy = np.arange(len(self.rewards)), np.zeros(len(self.rewards), np.int64)
        while True:
            q = self.q(policy)
            better = q.max(axis=1) > q[states, policy] + EPSILON
            if not better.any():
                return q
            policy = np.where(better, q.argmax(axis=1), policy)

    def gaps(self) -> Floats:
        """How much worse than the best each action is, ``[S, A]``; 0 for the best ones."""
        q = self.optimum()
        found = q.max(axis=1, keepdims=True) - q
        return np.where(found < 1e-9, 0.0, found)


def potential_based(process: Process) -> Floats:
    """The reward ``[S, A]`` shaped by the best values as a potential (eq. 1)."""
    best = process.optimum().max(axis=1)
    return np.asarray(process.rewards + process.gamma * process.transitions @ best - best[:, None])


def ahead(process: Process, policy: npt.ArrayLike, horizon: int | None) -> Floats:
    """The matrix ``[S A, S A]`` from rewards to Q of a policy over ``horizon`` more steps; over all of them if None."""
    states, actions = process.rewards.shape
    chosen, rows = np.asarray(policy), np.zeros((states * actions, states, actions))
    rows[:, np.arange(states), chosen] = process.gamma * process.transitions.reshape(-1, states)
    once, identity = rows.reshape(states * actions, -1), np.eye(states * actions)
    if horizon is None:
        return np.asarray(np.linalg.inv(identity - once), np.float64)
    found = identity
    for _ in range(horizon):
        found = identity + once @ found
    return found


def differences(matrix: Floats, process: Process, policy: npt.ArrayLike) -> Floats:
    """From Q's matrix to that of the policy's action minus each other one, ``[S, A, S A]``."""
    states, actions = process.rewards.shape
    whole = matrix.reshape(states, actions, -1)
    return np.asarray(whole[np.arange(states), np.asarray(policy)][:, None] - whole)


@dataclass(frozen=True)
class Design:
    """A designed reward.

    Attributes:
        rewards: ``[S, A]``.
        states: on which they may differ from 0.
        informativeness: 0 at most, that of :func:`potential_based`.
    """

    rewards: Floats
    states: tuple[int, ...]
    informativeness: float


class Designer:
    r"""Finds the most informative reward on given states that keeps the best behaviour (P1), by linear programming.

    .. math::
        \max_R - \sum_{h, s, a} \max(0, \bar\delta^*_\infty(s, a) - \delta_h(s, a)), \quad
        \delta_\infty(s, a) \ge \min_{a'} \bar\delta^*_\infty(s, a'), \quad |R| \le R_{max}

    over actions a that are not best; :math:`\delta_h` is by how much the best action's Q over h more steps exceeds that
    of a, under the designed reward, the bar means the original one. Departures: one of the optimal policies stands for
    all of them, and a unit of reward costs :data:`SPARE`.

    Args:
        process: with the original reward.
        horizons: the h.
        limit: R_max; the largest original reward if None.
    """

    def __init__(self, process: Process, *, horizons: Sequence[int] = HORIZONS, limit: float | None = None) -> None:
        gaps = process.gaps()
        policy = gaps.argmin(axis=1)
        worse = gaps > 0
        self.process = process
        self.limit = float(np.abs(process.rewards).max()) if limit is None else limit
        self.goals = tuple(np.flatnonzero(process.rewards.any(axis=1)).tolist())
        every = [differences(ahead(process, policy, h), process, policy)[worse] for h in horizons]
        self.early, self.wanted = np.concatenate(every), np.tile(gaps[worse], len(horizons))
        self.late = differences(ahead(process, policy, None), process, policy)
        least = np.where(worse, gaps, np.inf).min(axis=1)
        margin = np.where(worse, least[:, None], 0.0)
        self.late, self.margin = self.late[worse], (1 - SLACK) * margin[worse]

    def on(self, states: Iterable[int]) -> Design:
        """The best reward on ``states`` and on those where the original one is not 0.

        Raises:
            ValueError: there is none, which the original reward being out of the limit may cause.
        """
        allowed = tuple(sorted({*states, *self.goals}))
        size, slack = self.process.rewards.size, len(self.wanted)
        actions = self.process.rewards.shape[1]
        columns = (np.array(allowed)[:, None] * actions + np.arange(actions)).ravel()
        cost = np.concatenate([np.full(2 * len(columns), SPARE), np.ones(slack)])
        early, late = self.early[:, columns], self.late[:, columns]
        hinge = np.hstack([-early, early, -np.eye(slack)])  # gap - delta_h <= slack; R is one part minus the other
        keep = np.hstack([-late, late, np.zeros((len(late), slack))])
        bounds = [(0, self.limit)] * (2 * len(columns)) + [(0, None)] * slack
        upper = np.concatenate([-self.wanted, -self.margin])
        found = linprog(cost, np.vstack([hinge, keep]), upper, bounds=bounds, method="highs")
        if not found.success:
            raise ValueError(f"no reward on these states keeps the best behaviour within the limit ({found.message})")
        above, below = found.x[: 2 * len(columns)].reshape(2, -1)
        rewards = np.zeros(size)
        rewards[columns] = above - below
        lost = np.maximum(self.wanted - self.early @ rewards, 0).sum()
        return Design(rewards.reshape(self.process.rewards.shape), allowed, -float(lost))


def designed(
    process: Process, budget: int, *, horizons: Sequence[int] = HORIZONS, limit: float | None = None
) -> Design:
    """The reward on the original's states and ``budget`` more, which are chosen one by one (algorithm 1).

    Args:
        process: with the original reward.
        budget: B, states to add.
        horizons: see :class:`Designer`.
        limit: likewise.

    Raises:
        ValueError: more states than there are.
    """
    designer = Designer(process, horizons=horizons, limit=limit)
    found = designer.on(())
    if not 0 <= budget <= len(process.rewards) - len(found.states):
        raise ValueError(f"the budget is 0 to {len(process.rewards) - len(found.states)} states, got {budget}")
    for _ in range(budget):
        others = set(range(len(process.rewards))) - set(found.states)
        tried = [designer.on((*found.states, state)) for state in sorted(others)]
        found = max(tried, key=lambda one: one.informativeness)
    return found
