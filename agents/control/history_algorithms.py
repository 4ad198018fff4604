r"""Algorithms as maps from the history of a task and its present state to an action, :math:`alg(a_t | D_{t-1}, s_t)`.

Those of linear bandits read states that list the features of each action, ``[A, d]``: the reward of action a is
:math:`\langle x_a, w \rangle` with noise, for an unknown w. Features may change from step to step.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, Space

from ... import unknown
from ..models.in_context import Context

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

Algorithm = Callable[[Context, Array, np.random.Generator], Ints]
"""From what n tasks have shown so far and their observations ``[n, ...]`` to actions ``[n]``, counted from 0."""


def uniform(n_actions: int) -> Algorithm:
    """Every action as likely as any other, whatever the history."""

    def act(context: Context, observations: Array, rng: np.random.Generator) -> Ints:
        return rng.integers(n_actions, size=len(observations))

    return act


def linucb(n_actions: int, *, bonus: float = 2.0, ridge: float = 1.0) -> Algorithm:
    r"""LinUCB: the largest upper confidence bound of ridge regression.

    .. math:: V = \lambda I + \sum_{s<t} x_s x_s^T,\quad \hat w = V^{-1} \sum_{s<t} r_s x_s,\quad
        a_t = \arg\max_a \langle \hat w, x_a \rangle + \alpha \sqrt{x_a^T V^{-1} x_a};

    of equals the first. Before any transition that is the longest :math:`x_a`; the authors' code draws the first
    action at random.

    Args:
        n_actions: number of actions.
        bonus: :math:`\alpha`; 2 in the authors' code, for noise of deviation 1.5.
        ridge: :math:`\lambda`; 1 there.
    """

    def act(context: Context, observations: Array, rng: np.random.Generator) -> Ints:
        each, gram, target = statistics(context, observations, n_actions)
        inverse = np.linalg.inv(gram + ridge * np.eye(gram.shape[-1]))
        estimate = np.einsum("nij,nj->ni", inverse, target)
        width = np.sqrt(np.einsum("nai,nij,naj->na", each, inverse, each))
        return np.asarray((np.einsum("nai,ni->na", each, estimate) + bonus * width).argmax(axis=1))

    return act


def thompson(n_actions: int, *, noise: float = 1.5, prior: float = 1.0) -> Algorithm:
    r"""Thompson sampling: the best action for a w from its posterior, with a prior :math:`N(0, \sigma_0^2 I)`.

    .. math:: w \sim N(\mu, \sigma^2 V^{-1}),\quad V = (\sigma / \sigma_0)^2 I + \sum_{s<t} x_s x_s^T,\quad
        \mu = V^{-1} \sum_{s<t} r_s x_s.

    Args:
        n_actions: number of actions.
        noise: standard deviation of rewards, :math:`\sigma`.
        prior: that of each number of w, :math:`\sigma_0`.
    """

    def act(context: Context, observations: Array, rng: np.random.Generator) -> Ints:
        each, gram, target = statistics(context, observations, n_actions)
        inverse = np.linalg.inv(gram + (noise / prior) ** 2 * np.eye(gram.shape[-1]))
        drawn = rng.normal(size=target.shape)
        spread = noise * np.einsum("nij,nj->ni", np.linalg.cholesky(inverse), drawn)
        weights = np.einsum("nij,nj->ni", inverse, target) + spread
        return np.asarray(np.einsum("nai,ni->na", each, weights).argmax(axis=1))

    return act


def statistics(context: Context, observations: Array, n_actions: int) -> tuple[Floats, Floats, Floats]:
    r"""Features of each action now ``[n, A, d]``, :math:`\sum x x^T` ``[n, d, d]`` and :math:`\sum r x` ``[n, d]``."""
    n = len(observations)
    each = np.asarray(observations, np.float64).reshape(n, n_actions, -1)
    seen = context.observations.astype(np.float64).reshape(n, -1, n_actions, each.shape[-1])
    taken = np.take_along_axis(seen, context.actions[:, :, None, None], axis=2)[:, :, 0] * context.valid[:, :, None]
    return each, taken.transpose(0, 2, 1) @ taken, np.einsum("nti,nt->ni", taken, context.rewards.astype(np.float64))


NAMES: Mapping[str, Callable[..., Algorithm]] = {"uniform": uniform, "linucb": linucb, "thompson": thompson}
"""By name, what makes the algorithms that need no environment's expert."""


def named(name: str, observations: Space[Any], actions: Discrete, **how: float) -> Algorithm:
    """An algorithm for spaces.

    Args:
        name: of :data:`NAMES`.
        observations: for linear bandits a ``Box`` ``[A, d]``.
        actions: the A actions.
        how: its other arguments.

    Raises:
        ValueError: an unknown name or argument, or an argument that is not positive.
        TypeError: observations that list no features of the actions.
    """
    if name not in NAMES:
        raise ValueError(unknown("algorithm", name, NAMES))
    known = set(NAMES[name].__kwdefaults__ or {})
    for key, value in how.items():
        if key not in known:
            raise ValueError(unknown(f"argument of {name}", key, known))
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{key} of {name} must be a positive number, got {value!r}")
    lists = isinstance(observations, Box) and len(observations.shape) == 2 and observations.shape[0] == actions.n
    if name != "uniform" and not lists:
        raise TypeError(f"{name} reads observations of shape [{actions.n}, d], a row an action, not {observations}")
    return NAMES[name](int(actions.n), **how)
