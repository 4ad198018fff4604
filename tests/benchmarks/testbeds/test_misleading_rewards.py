import numpy as np
import pytest

from tiltyard.benchmarks.claims.barfi import CLAIM, NAIVE, PRIMARY, SCORES, score
from tiltyard.benchmarks.testbeds.misleading_rewards import Designed, Learnt, MisleadingRewards, heuristic, line


def test_heuristics_by_hand() -> None:
    np.testing.assert_allclose(heuristic("helpful", 5), [0, 0.025, 0.05, 0.075, 0.1, 0.1])
    np.testing.assert_allclose(heuristic("misleading", 5), [0.1, 0, 0, 0, 0, 0])


def test_waiting_pays_more_than_the_goal_where_the_heuristic_misleads() -> None:
    bed = MisleadingRewards()
    mdp = line(bed.length, bed.horizon, bed.start)
    assert 0.5 < mdp.optimum() < 1
    assert 0.1 * (bed.horizon - bed.start) > mdp.optimum()


def test_the_way_alternates() -> None:
    mdp = line(4, 8, 1)
    right = np.tile(np.array([1, 0, 1, 0, 0]), (8, 1))
    assert mdp.returns(right) == pytest.approx(mdp.optimum())
    assert mdp.returns(np.ones((8, 5), np.int64)) < 0.3


def test_naive_addition_falls_for_the_misleading_heuristic_alone() -> None:
    bed = MisleadingRewards(length=7, horizon=16, iterations=30, moments=2)
    found = bed.run(Designed(added=True), 0.1, 7)
    assert found["helpful"].returns[-1] > 0.9
    assert found["misleading"].returns[-1] < 0.5
    assert found["helpful"].weight == 1


def test_scores_by_hand_and_the_premise() -> None:
    run = {"helpful": Learnt(np.array([0.5, 1.0]), 1.0), "misleading": Learnt(np.array([0.0, 0.25]), 1.0)}
    assert score(run) == pytest.approx((0.75 + 0.125) / 2)
    holds = {"helpful": {NAIVE: 0.9, PRIMARY: 0.8}, "misleading": {NAIVE: 0.1, PRIMARY: 0.8}}
    assert not CLAIM.premise.missing({SCORES: holds})
    holds["misleading"][NAIVE] = 0.5
    assert "its premise does not hold here" in CLAIM.premise.missing({SCORES: holds})
