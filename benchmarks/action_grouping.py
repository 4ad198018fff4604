r"""Action grouping: model-based RL that treats similar actions as one, and how finely to group for a budget of samples.

    groups = intervals(64, 8)                        # of 64 actions, in the order of their similarity
    found = learn(mdp, groups, samples=4096, rng=rng)
    best = chosen([intervals(64, n) for n in (4, 16, 64)], mdp, samples=4096)

Paper: Li et al., Achieving Sample and Computational Efficient Reinforcement Learning by Action Space Reduction via
Grouping (2024): the model of groups, algorithm 1 and the trade of approximation for estimation error. The constants of
:func:`loss_bound` are those of the simulation lemma, derived here and not the paper's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .statistics import Floats

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Discounted:
    """A finite discounted decision process with rewards that are 0 or 1.

    Attributes:
        transitions: ``[S, A, S]`` probabilities.
        rewards: ``[S, A]`` probability of a reward of 1.
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
        if not np.allclose(self.transitions.sum(axis=2), 1) or (self.transitions < 0).any():
            raise ValueError("transitions must be probabilities, which sum to 1 over the next state")
        if (self.rewards < 0).any() or (self.rewards > 1).any():
            raise ValueError("rewards are probabilities of a reward of 1, between 0 and 1")

    def values(self, policy: Floats) -> Floats:
        """V ``[S]`` of a policy ``[S, A]`` of probabilities."""
        paid = (policy * self.rewards).sum(axis=1)
        moved = np.einsum("sa,sat->st", policy, self.transitions)
        return np.linalg.solve(np.eye(len(paid)) - self.gamma * moved, paid)

    def optimal(self) -> Ints:
        """The best action of each state, ``[S]``, by policy iteration."""
        states, best = np.arange(len(self.rewards)), np.zeros(len(self.rewards), np.int64)
        while True:
            q = self.rewards + self.gamma * self.transitions @ self.values(np.eye(self.rewards.shape[1])[best])
            better = q.max(axis=1) > q[states, best] + 1e-10
            if not better.any():
                return best
            best = np.where(better, q.argmax(axis=1), best)


def intervals(actions: int, groups: int) -> Ints:
    """The group of each action, ``[A]``, where as many neighbours as can be go together.

    Raises:
        ValueError: no groups, or more than actions.
    """
    if not 1 <= groups <= actions:
        raise ValueError(f"there are 1 to {actions} groups of {actions} actions, got {groups}")
    return np.arange(actions) * groups // actions


def grouped(mdp: Discounted, groups: Ints) -> Discounted:
    """The process whose actions are groups, ``[A]``: an action of the group is drawn evenly."""
    share = (groups[:, None] == np.arange(groups.max() + 1)).astype(np.float64)
    share /= share.sum(axis=0)
    transitions = np.einsum("sat,ag->sgt", mdp.transitions, share)
    return Discounted(transitions, np.clip(mdp.rewards @ share, 0, 1), mdp.gamma)


def spread(mdp: Discounted, groups: Ints) -> tuple[float, float]:
    r""":math:`\beta_P, \beta_R`: how far an action is from its group's mean at most, in total variation and reward.

    They are the weights of what is an action's own in :math:`P(s'|s, a) = (1 - \beta_P) P_1(s'|s, g(a)) + \beta_P
    P_2(s'|s, a)`, and likewise of rewards.
    """
    of_group = grouped(mdp, groups)
    moved = np.abs(mdp.transitions - of_group.transitions[:, groups]).sum(axis=2) / 2
    return float(moved.max()), float(np.abs(mdp.rewards - of_group.rewards[:, groups]).max())


def loss_bound(
    beta_p: float, beta_r: float, *, states: int, groups: int, samples: float, gamma: float, delta: float = 0.1
) -> float:
    r"""A bound of the loss of value: approximation error, which fine groups lessen, and estimation error.

    .. math::
        \frac{\beta_R + \gamma \beta_P / (1 - \gamma)}{1 - \gamma}
        + \frac{2}{(1 - \gamma)^2} \sqrt{\frac{S |g|}{2 n} \ln \frac{2 S |g|}{\delta}}

    as rewards lie in [0, 1], and n samples are shared evenly among pairs of state and group.

    Args:
        beta_p: see :func:`spread`.
        beta_r: likewise.
        states: S.
        groups: number of groups.
        samples: n, of all pairs together.
        gamma: discount.
        delta: with which probability the bound may fail.
    """
    approximation = (beta_r + gamma * beta_p / (1 - gamma)) / (1 - gamma)
    pairs = states * groups
    estimation = 2 / (1 - gamma) ** 2 * np.sqrt(pairs / (2 * samples) * np.log(2 * pairs / delta))
    return float(approximation + estimation)


def chosen(candidates: Sequence[Ints], mdp: Discounted, *, samples: float, scale: float = 1.0) -> int:
    """The index of the grouping with the least bound.

    Args:
        candidates: groupings ``[A]``.
        mdp: whose similarity is known (:func:`spread`), though it itself is not.
        samples: that there will be.
        scale: what the estimation error counts for; less than 1 as the bound is that of the worst case.
    """
    worth = []
    for groups in candidates:
        states, count = len(mdp.rewards), int(groups.max()) + 1
        n = samples / scale**2
        worth.append(loss_bound(*spread(mdp, groups), states=states, groups=count, samples=n, gamma=mdp.gamma))
    return int(np.argmin(worth))


def learn(mdp: Discounted, groups: Ints, *, samples: int, rng: np.random.Generator) -> Floats:
    """A policy ``[S, A]`` by the model of groups that ``samples`` steps give (algorithm 1).

    Every pair of state and group gets its share of steps from a generative model, in which actions of the group are
    drawn evenly; the best groups of the estimated model are kept. Pairs without samples are taken to stay and earn 0.

    Raises:
        ValueError: no samples.
    """
    if samples < 1:
        raise ValueError(f"a model needs at least one sample, got {samples}")
    model = grouped(mdp, groups)
    states, count = model.rewards.shape
    share = np.full(states * count, samples // (states * count))
    share[rng.permutation(states * count)[: samples % (states * count)]] += 1
    taken = share.reshape(states, count)
    moved, paid = np.zeros((states, count, states)), rng.binomial(taken, model.rewards)
    for state in range(states):
        moved[state] = rng.multinomial(taken[state], model.transitions[state])
    unknown = taken == 0
    stay = np.repeat(np.eye(states)[:, None], count, axis=1)
    seen = np.where(unknown[:, :, None], stay, moved / np.maximum(taken, 1)[:, :, None])
    estimated = Discounted(seen, paid / np.maximum(taken, 1), mdp.gamma)
    of_group: Floats = (groups == estimated.optimal()[:, None]).astype(np.float64)
    return np.asarray(of_group / of_group.sum(axis=1, keepdims=True))
