"""LinUCB's bounds and Thompson sampling's odds by hand, from the history alone, and what they refuse."""

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from tiltyard.agents.control.history_algorithms import Algorithm, linucb, named, thompson, uniform
from tiltyard.agents.models.in_context import Context

ARMS = np.array([[1.0, 0.0], [0.0, 1.0]])


def history(n: int = 1, *, garbage: bool = False) -> Context:
    """The first of two arms three times, for 1, 0.5 and 0.9; and, not valid, the second for 100."""
    pulls, rewards = ([0, 0, 0, 1], [1.0, 0.5, 0.9, 100.0]) if garbage else ([0, 0, 0], [1.0, 0.5, 0.9])
    seen = np.broadcast_to(ARMS.reshape(-1), (n, len(pulls), 4))
    context = Context.of(seen, np.tile(pulls, (n, 1)), np.tile(rewards, (n, 1)), seen)
    context.valid[:, 3:] = False
    return context


def chosen(algorithm: Algorithm, context: Context, arms: Any = ARMS) -> list[int]:
    n = len(context.rewards)
    found: list[int] = algorithm(context, np.broadcast_to(arms, (n, *arms.shape)), np.random.default_rng(0)).tolist()
    return found


@pytest.mark.parametrize("garbage", [False, True])
def test_linucb_by_hand(garbage: bool) -> None:
    # ridge 1: V = diag(4, 1), w = (2.4 / 4, 0), so bounds are 0.6 + bonus / 2 and bonus; they cross at 1.2
    assert chosen(linucb(2, bonus=1.19), history(garbage=garbage)) == [0]
    assert chosen(linucb(2, bonus=1.21), history(garbage=garbage)) == [1]
    # ridge 1/4: V = diag(3.25, 0.25), w = (0.738, 0): 0.738 + 0.555 bonus and 2 bonus, which cross at 0.511
    assert chosen(linucb(2, bonus=0.50, ridge=0.25), history(garbage=garbage)) == [0]
    assert chosen(linucb(2, bonus=0.52, ridge=0.25), history(garbage=garbage)) == [1]


def test_linucb_uses_what_arms_share() -> None:
    arms = np.array([[0.5, 0.5], [-1.0, 0.0], [0.9, 0.1]])  # none was pulled; those pulled were along the first axis
    # 0.3 + 0.559 bonus, -0.6 + 0.5 bonus and 0.54 + 0.461 bonus: the first and the last cross at 2.45
    assert chosen(linucb(3, bonus=2.4), _with(arms), arms) == [2]
    assert chosen(linucb(3, bonus=2.5), _with(arms), arms) == [0]


def _with(arms: Any) -> Context:
    """The history, told with three arms of which the first was along the first axis."""
    pulled = np.concatenate([ARMS[:1], arms[1:]]).reshape(-1)
    seen = np.broadcast_to(pulled, (1, 3, 6))
    return Context.of(seen, np.zeros((1, 3), int), np.array([[1.0, 0.5, 0.9]]), seen)


def test_linucb_begins_with_the_longest() -> None:
    arms = np.array([[0.5, 0.5], [-0.9, 0.3], [0.9, 0.1]])
    assert chosen(linucb(3), Context.empty(2, 6), arms) == [1, 1]


@pytest.mark.parametrize(
    ("how", "lead", "variance"),
    [
        ({"noise": 1.0}, 0.6, 1 / 4 + 1),  # V = diag(4, 1)
        ({"noise": 2.0}, 2.4 / 7, 4 / 7 + 1),  # V = diag(7, 4)
        ({"noise": 1.0, "prior": 2.0}, 2.4 / 3.25, 1 / 3.25 + 4),  # V = diag(3.25, 0.25)
    ],
)
def test_thompson_sampling_takes_an_arm_as_often_as_it_is_likely_the_best(
    how: dict[str, float], lead: float, variance: float
) -> None:
    share = 1 - np.mean(chosen(thompson(2, **how), history(40_000, garbage=True)))
    assert share == pytest.approx(NormalDist().cdf(lead / variance**0.5), abs=0.008)


def test_thompson_sampling_knows_that_arms_share_weights() -> None:
    arms = np.array([[1.0, 0.0], [0.9, 0.0], [-1.0, 0.0]])  # the second is never the best of the three
    counts = np.bincount(chosen(thompson(3), Context.empty(40_000, 6), arms), minlength=3) / 40_000
    assert counts == pytest.approx([0.5, 0.0, 0.5], abs=0.008)


def test_uniform_is_even() -> None:
    actions = chosen(uniform(2), history(40_000))
    assert np.mean(actions) == pytest.approx(0.5, abs=0.008)


def test_algorithms_by_name() -> None:
    space, actions = Box(-1, 1, (2, 2)), Discrete(2)
    assert chosen(named("linucb", space, actions, bonus=1.21), history()) == [1]
    assert chosen(named("uniform", Box(0, 1, (1,)), actions), Context.empty(1, 1)) in ([0], [1])
    with pytest.raises(ValueError, match="unknown algorithm 'linucp'; did you mean 'linucb'"):
        named("linucp", space, actions)
    with pytest.raises(ValueError, match="unknown argument of linucb 'bonuss'; did you mean 'bonus'"):
        named("linucb", space, actions, bonuss=1.0)
    with pytest.raises(ValueError, match="noise of thompson must be a positive number, got 0"):
        named("thompson", space, actions, noise=0.0)
    with pytest.raises(TypeError, match=r"reads observations of shape \[3, d\], a row an action"):
        named("linucb", space, Discrete(3))
