"""Shares of policies that reach the levels, conditions that learn, and Lagrange multipliers that move."""

from dataclasses import replace

import numpy as np
import pytest
import torch as th

from tiltyard.benchmarks.testbeds.constrained_feed import (
    KINDS,
    ConstrainedFeed,
    Lagrangian,
    Learner,
    best_shares,
    scaled,
)
from tiltyard.benchmarks.testbeds.short_videos import SIGNALS, ShortVideos, logged

TINY = replace(ConstrainedFeed().smallest(), sessions=300, updates=60)


def test_best_shares_by_hand() -> None:
    # Half of each of the first two reaches 1 like and watches 3; the third alone reaches it and watches 2.
    points = np.array([[4.0, 0.0, 1.0], [2.0, 2.0, 1.0], [2.0, 1.0, 1.0]])
    np.testing.assert_allclose(best_shares(points, np.array([1.0, 0.5])), [0.5, 0.5, 0], atol=1e-9)  # type: ignore[arg-type]
    assert best_shares(points, np.array([1.0, 2.0])) is None


def test_rewards_are_in_units_of_their_means() -> None:
    data = scaled(logged(200, 0))
    np.testing.assert_allclose(data.terms.mean(axis=0), 1, rtol=1e-4)
    np.testing.assert_array_equal(data.rewards, data.terms[:, 0])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_a_policy_for_each_strength(kind: str) -> None:
    found = TINY.run(Learner(kind=kind, strengths=(0.1, 3.0), dual_rate=0.01 * (kind == "lagrangian")), 0.003, 0)
    assert found.told.shape == found.chosen.shape == (3, 3)
    assert found.shares.sum() == pytest.approx(1)
    assert not np.array_equal(found.told[0], found.told[1])
    again = TINY.run(Learner(kind=kind, strengths=(0.1, 3.0), dual_rate=0.01 * (kind == "lagrangian")), 0.003, 0)
    np.testing.assert_array_equal(found.told, again.told)


@pytest.mark.parametrize(("levels", "grows"), [(1e6, True), (-1.0, False)])
def test_multipliers_grow_where_levels_are_missed_and_are_never_negative(levels: float, grows: bool) -> None:
    agent = Lagrangian("MlpPolicy", ShortVideos(1), auxiliary=SIGNALS, stage_one=1.0, seed=0, device="cpu")
    agent.dual, agent.dual_rate, agent.levels = th.zeros(2), 0.01, th.full((2,), abs(levels) if grows else 1e-6)
    data = scaled(logged(100, 0))
    agent.beginnings = th.from_numpy(data.observations[np.roll(data.ends, 1)])
    with th.no_grad():
        agent.policy.auxiliary_critic.params[-1].fill_(5.0)  # values are far above 1e-6 and far below 1e6
    agent.learn_offline(data, 0)
    agent.train(4, 32)
    expected = 0.04 if grows else 0.0
    np.testing.assert_allclose(agent.dual, expected, atol=1e-3)
