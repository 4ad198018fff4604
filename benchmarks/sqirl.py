r"""SQIRL: how hard an environment is for random exploration and a few backups, which tells how hard it is for deep RL.

    mdp = Tabular(transitions, rewards, horizon=10)
    stochastic_effective_horizon(mdp)                      # exact
    episodes_needed(mdp, np.random.default_rng(0))         # by running the algorithm

Paper: Laidlaw et al., The Effective Horizon Explains Deep RL Performance in Stochastic Environments (2023), algorithm 1
and definitions 5.1 and 5.2. "The authors' code" is github.com/cassidylaidlaw/effective-horizon.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .statistics import Floats

Ints = npt.NDArray[np.int64]
EPSILON = 1e-9
"""Values nearer than this are equal."""


@dataclass(frozen=True)
class Tabular:
    """A finite decision process of a fixed horizon.

    Attributes:
        transitions: ``[S, A, S]`` probabilities.
        rewards: ``[S, A]`` expected rewards.
        horizon: steps of an episode.
        start: state in which episodes begin.
    """

    transitions: Floats
    rewards: Floats
    horizon: int
    start: int = 0

    def __post_init__(self) -> None:
        states, actions, _ = shape = self.transitions.shape
        if shape != (states, actions, states) or self.rewards.shape != (states, actions) or self.horizon < 1:
            raise ValueError(
                f"transitions are [S, A, S], rewards [S, A] and horizon at least 1, got {shape}, {self.rewards.shape} "
                f"and {self.horizon}"
            )
        if not np.allclose(self.transitions.sum(axis=2), 1) or (self.transitions < 0).any():
            raise ValueError("transitions must be probabilities, which sum to 1 over the next state")

    @property
    def size(self) -> tuple[int, int]:
        """States and actions."""
        return self.rewards.shape[0], self.rewards.shape[1]

    def backup(self, following: Floats) -> Floats:
        """Q ``[S, A]``, given values ``[S]`` of the next states."""
        return np.asarray(self.rewards + self.transitions @ following)

    def optimum(self) -> float:
        """The best expected return."""
        values = np.zeros(self.size[0])
        for _ in range(self.horizon):
            values = self.backup(values).max(axis=1)
        return float(values[self.start])

    def returns(self, policy: npt.ArrayLike) -> float:
        """The expected return of a deterministic policy ``[T, S]``."""
        values, chosen = np.zeros(self.size[0]), np.asarray(policy)
        for step in reversed(range(self.horizon)):
            values = np.take_along_axis(self.backup(values), chosen[step][:, None], axis=1)[:, 0]
        return float(values[self.start])

    def moved(self, states: Ints, actions: Ints, rng: np.random.Generator) -> Ints:
        """Next states ``[n]``."""
        cumulated = self.transitions[states, actions].cumsum(axis=1)
        drawn: Ints = (rng.random((len(states), 1)) > cumulated).sum(axis=1)
        return drawn.clip(max=self.size[0] - 1)


def backed_up(mdp: Tabular, k: int) -> Floats:
    r""":math:`Q^k` ``[T, S, A]``: the Q of the random policy after k - 1 steps of value iteration, at every step."""
    states, actions = mdp.size
    found = np.zeros((mdp.horizon + 1, states, actions))
    for step in reversed(range(mdp.horizon)):
        found[step] = mdp.backup(found[step + 1].mean(axis=1))
    for _ in range(k - 1):
        found[:-1] = np.stack([mdp.backup(later.max(axis=1)) for later in found[1:]])
    return found[:-1]


def reached(mdp: Tabular, policies: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which states ``[T, S]`` come up under any choice of the allowed actions ``[T, S, A]``."""
    found = np.zeros((mdp.horizon, mdp.size[0]), np.bool_)
    found[0, mdp.start] = True
    for step in range(mdp.horizon - 1):
        allowed = policies[step] & found[step][:, None]
        found[step + 1] = (mdp.transitions[allowed] > 0).any(axis=0)
    return found


def is_solvable(mdp: Tabular, k: int) -> bool:
    """Whether every policy greedy for :func:`backed_up` is optimal (definition 5.1)."""
    q = backed_up(mdp, k)
    greedy = q >= q.max(axis=2, keepdims=True) - EPSILON
    values = np.zeros(mdp.size[0])  # of the worst greedy choice
    for step in reversed(range(mdp.horizon)):
        values = np.where(greedy[step], mdp.backup(values), np.inf).min(axis=1)
    return bool(values[mdp.start] >= mdp.optimum() - EPSILON)


def stochastic_effective_horizon(mdp: Tabular, most: int = 8) -> float:
    r""":math:`\min_k k + \log_A \max 1 / \Delta^2` (definition 5.2); infinite where no k up to ``most`` will do.

    :math:`\Delta` is the gap in :math:`Q^k` between the best action and the best of those that are worse, of states
    that greedy policies come to; rewards are to be such that returns lie in [0, 1].
    """
    best = np.inf
    for k in range(1, min(most, mdp.horizon) + 1):
        if not is_solvable(mdp, k):
            continue
        q = backed_up(mdp, k)
        top = q.max(axis=2, keepdims=True)
        greedy = q >= top - EPSILON
        gaps = np.where(greedy, np.inf, top - q).min(axis=2)[reached(mdp, greedy)]
        gap = float(gaps.min())
        cost = -2 * np.log(gap) / np.log(mdp.size[1]) if np.isfinite(gap) else 0.0
        best = min(best, k + max(cost, 0.0))
    return float(best)


def sqirl(mdp: Tabular, k: int, m: int, rng: np.random.Generator) -> Ints:
    """A policy ``[T, S]`` from ``m`` episodes a step: what was learnt until there, and then random actions.

    At step t the returns of random actions are averaged by state, step and action, which is Q^1; k - 1 backups on the
    same episodes make Q^k, whose best action at t is kept. What was never tried counts for nothing; where nothing was
    tried, the first action is taken. Departure: averages by state in place of regression.
    """
    states, actions = mdp.size
    policy = np.zeros((mdp.horizon, states), np.int64)
    for now in range(mdp.horizon):
        at = np.full(m, mdp.start)
        seen: list[tuple[Ints, Ints, Floats, Ints]] = []
        for step in range(mdp.horizon):
            chosen = policy[step, at] if step < now else rng.integers(actions, size=m)
            after = mdp.moved(at, chosen, rng)
            seen.append((at, chosen, mdp.rewards[at, chosen], after))
            at = after
        q = _values_of(mdp, seen[now:], k)
        policy[now] = np.where(np.isfinite(q).any(axis=1), q.argmax(axis=1), 0)
    return policy


def _values_of(mdp: Tabular, seen: list[tuple[Ints, Ints, Floats, Ints]], k: int) -> Floats:
    """Q^k ``[S, A]`` at the first of the steps ``seen``; minus infinity where nothing was tried."""
    depth = min(k, len(seen))
    total, value = np.zeros(len(seen[0][0])), np.zeros(0)
    for _, _, paid, _ in seen[depth - 1 :]:  # returns of random actions from the last step that is backed up
        total = total + paid
    q = _averaged(mdp, *seen[depth - 1][:2], total)
    for at, chosen, paid, after in reversed(seen[: depth - 1]):
        best = q.max(axis=1)
        value = np.where(np.isfinite(best), best, 0.0)
        q = _averaged(mdp, at, chosen, paid + value[after])
    return q


def _averaged(mdp: Tabular, at: Ints, chosen: Ints, targets: Floats) -> Floats:
    count, total = np.zeros(mdp.size), np.zeros(mdp.size)
    np.add.at(count, (at, chosen), 1)
    np.add.at(total, (at, chosen), targets)
    return np.where(count > 0, total / np.maximum(count, 1), -np.inf)


def episodes_needed(
    mdp: Tabular,
    rng: np.random.Generator,
    *,
    ks: tuple[int, ...] = (1, 2, 3, 4),
    share: float = 0.95,
    runs: int = 5,
    most: int = 65_536,
) -> float:
    """Episodes with which :func:`sqirl` earns ``share`` of the best return in most of its runs, over ``ks``.

    Args:
        mdp: to be solved.
        rng: of its episodes.
        ks: backups that are tried, at most as many as there are steps.
        share: of the optimum, which is positive.
        runs: of each setting, of which more than half must succeed.
        most: episodes at which it is given up; that many are returned. Below, m goes by powers of two.
    """
    goal, m = share * mdp.optimum(), 1
    while m * mdp.horizon <= most:
        for k in ks:
            solved = [mdp.returns(sqirl(mdp, k, m, rng)) >= goal for _ in range(runs)]
            if k <= mdp.horizon and 2 * sum(solved) > runs:
                return float(m * mdp.horizon)
        m *= 2
    return float(most)
