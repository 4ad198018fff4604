"""STARC: how far two reward functions of one environment are apart, in policies that they would lead to.

A reward is canonicalised, so that potential shaping and redistribution over next states change nothing, then scaled to
length 1, so that positive scaling changes nothing; the distance is half that of what is left, from 0 (the same order of
policies) to 1 (the opposite order). It bounds the worst-case regret from above and from below.

    distance(reward, reward + shaping, mdp)      # 0
    distance(reward, -reward, mdp)               # 1

The canonicalisation is the paper's VAL, c(R)(s, a) = E[R(s, a, S') - V(s) + gamma V(S')], with V the values of a fixed
policy under R: its advantages. EPIC's, which knows nothing of the transitions, is here to compare with.

Papers: STARC: A General Framework For Quantifying Differences Between Reward Functions (2023), definitions 1 to 4 and
the experiments' regret; Quantifying Differences in Reward Functions (2020), definition 4.3 (EPIC).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..statistics import Floats

SAME = 1e-9
"""A canonical reward this small beside the reward itself is 0: what is left of shaping is rounding."""


@dataclass(frozen=True)
class MDP:
    """Transitions of a finite environment.

    Attributes:
        transition: ``[S, A, S]``, the probability of every next state.
        gamma: discount, below 1.
        start: ``[S]``, the probability of every first state; uniform by default.
    """

    transition: Floats
    gamma: float
    start: Floats | None = None

    def __post_init__(self) -> None:
        """Refuses what is no environment.

        Raises:
            ValueError: other axes, rows that are no distributions, or a discount beyond 0 to 1.
        """
        shape = self.transition.shape
        if len(shape) != 3 or shape[0] != shape[2]:
            raise ValueError(f"transitions are [states, actions, states], got shape {shape}")
        rows = [self.transition.reshape(-1, shape[2])] + ([] if self.start is None else [self.start[None]])
        if any((part < 0).any() or not np.allclose(part.sum(1), 1) for part in rows):
            raise ValueError("the probabilities of next states, and of first ones, must be at least 0 and sum to 1")
        if not 0 <= self.gamma < 1:
            raise ValueError(f"gamma must be from 0 to below 1, got {self.gamma}")

    @property
    def starts(self) -> Floats:
        """:attr:`start`, or the uniform distribution."""
        states = len(self.transition)
        return np.full(states, 1 / states) if self.start is None else self.start

    def expected(self, reward: npt.ArrayLike) -> Floats:
        """A reward ``[S, A, S]``, ``[S, A]`` or ``[S]`` (of the state that is left) as one of states and actions.

        Raises:
            ValueError: another shape, or values that are not finite.
        """
        given, shape = np.asarray(reward, np.float64), self.transition.shape
        if given.shape not in (shape, shape[:2], shape[:1]) or not np.isfinite(given).all():
            raise ValueError(f"a reward is finite and of shape {shape}, {shape[:2]} or {shape[:1]}, got {given.shape}")
        if given.ndim == 3:
            return np.asarray((self.transition * given).sum(-1))
        return given if given.ndim == 2 else np.repeat(given[:, None], shape[1], 1)

    def values(self, reward: Floats, policy: Floats) -> Floats:
        """V of a policy ``[S, A]`` under a reward ``[S, A]``, ``[S]``; exact."""
        moves = np.einsum("sa,sat->st", policy, self.transition)
        earned = (policy * reward).sum(1)
        return np.asarray(np.linalg.solve(np.eye(len(moves)) - self.gamma * moves, earned))

    def best(self, reward: Floats) -> Floats:
        """A deterministic optimal policy ``[S, A]``, by policy iteration."""
        states, actions = reward.shape
        chosen = reward.argmax(1)
        while True:
            values = self.values(reward, np.eye(actions)[chosen])
            backed = reward + self.gamma * self.transition @ values
            better = backed.max(1) > backed[np.arange(states), chosen] + 1e-10 * (1 + np.abs(values).max())
            if not better.any():
                return np.asarray(np.eye(actions)[chosen])
            chosen = np.where(better, backed.argmax(1), chosen)

    def worth(self, reward: Floats, policy: Floats) -> float:
        """J: the expected discounted return of a policy."""
        return float(self.starts @ self.values(reward, policy))


def canonical(reward: npt.ArrayLike, mdp: MDP, policy: Floats | None = None) -> Floats:
    """The reward's advantages under a policy (VAL), ``[S, A]``; exactly 0 for what is shaping alone.

    Args:
        reward: ``[S, A, S]``, ``[S, A]`` or ``[S]``.
        mdp: the environment.
        policy: ``[S, A]``; uniform by default. Any one will do, but the same for all rewards that are compared.

    Raises:
        ValueError: a reward of another shape.
    """
    expected = mdp.expected(reward)
    chosen = np.full(expected.shape, 1 / expected.shape[1]) if policy is None else policy
    values = mdp.values(expected, chosen)
    found = expected - values[:, None] + mdp.gamma * mdp.transition @ values
    scale = float(np.abs(expected).max() + np.abs(values).max())
    return np.where(np.abs(found).max() <= SAME * scale, 0.0, found)


def distance(first: npt.ArrayLike, second: npt.ArrayLike, mdp: MDP, policy: Floats | None = None) -> float:
    """The STARC distance of two rewards: half the L2 distance of their canonical forms, each scaled to length 1.

    One that is trivial (all policies are worth the same) has a canonical form of 0 and stays 0: it is 0 from another
    such reward and 1/2 from all others.

    Args:
        first: a reward, as :func:`canonical` reads it.
        second: another.
        mdp: the environment of both.
        policy: whose values canonicalise; uniform by default.

    Returns:
        From 0 to 1.
    """
    return _half_apart(canonical(first, mdp, policy), canonical(second, mdp, policy))


def epic(first: npt.ArrayLike, second: npt.ArrayLike, mdp: MDP) -> float:
    """EPIC's distance with uniform states and actions: the same of rewards ``[S, A, S]`` less their mean potential.

    C(R)(s, a, s') = R(s, a, s') + E[gamma R(s', A, S') - R(s, A, S') - gamma R(S, A, S')], over states and actions
    drawn uniformly, whatever the transitions.

    Raises:
        ValueError: a reward of another shape.
    """
    return _half_apart(*(_epic_canonical(_whole(one, mdp), mdp.gamma) for one in (first, second)))


def _epic_canonical(reward: Floats, gamma: float) -> Floats:
    mean = reward.mean((1, 2))
    found = reward + gamma * mean[None, None, :] - mean[:, None, None] - gamma * mean.mean()
    return np.where(np.abs(found).max() <= SAME * np.abs(reward).max(), 0.0, found)


def _whole(reward: npt.ArrayLike, mdp: MDP) -> Floats:
    given = np.asarray(reward, np.float64)
    if given.shape == mdp.transition.shape and np.isfinite(given).all():
        return given
    return np.broadcast_to(mdp.expected(given)[..., None], mdp.transition.shape)


def _half_apart(first: Floats, second: Floats) -> float:
    lengths = [float(np.linalg.norm(one)) for one in (first, second)]
    scaled = [one / length if length else one for one, length in zip((first, second), lengths, strict=True)]
    return float(np.linalg.norm(scaled[0] - scaled[1])) / 2


def regret(true: npt.ArrayLike, proxy: npt.ArrayLike, mdp: MDP) -> float:
    """What optimising ``proxy`` loses in ``true``, as a share of what there is to lose.

    (max J - J(best policy of the proxy)) / (max J - min J), all by the true reward; 0 where all policies are worth the
    same. Of several optimal policies of the proxy, the first.
    """
    wanted, given = mdp.expected(true), mdp.expected(proxy)
    highest, lowest = mdp.worth(wanted, mdp.best(wanted)), mdp.worth(wanted, mdp.best(-wanted))
    if highest - lowest <= SAME * (abs(highest) + abs(lowest)):
        return 0.0
    return (highest - mdp.worth(wanted, mdp.best(given))) / (highest - lowest)
