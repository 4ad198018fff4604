"""Preferences among states of a pendulum: the conditions' rewards, and the effects by hand."""

from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.offline_rl_vlm_f import CLAIM, CLONING, OURS, RANDOM, TRUE, parts
from tiltyard.benchmarks.testbeds.pendulum import SwingUps
from tiltyard.benchmarks.testbeds.preferred_states import PreferredStates, Rewarded, Scored, correlation, dataset

FEW = SwingUps(good=2, trajectories=4, episodes=2, steps=40)
BED = PreferredStates(swing_ups=FEW, updates=5, pairs=400, steps=200)


def test_conditions_differ_in_their_rewards() -> None:
    runs = {name: BED.run(one, 1e-3, 3) for name, one in CLAIM.conditions.items()}
    assert runs[OURS].agreement > 0.75  # nine of ten answers are right
    assert runs[OURS].rank > 0.85
    assert abs(runs[RANDOM].rank) < 0.8 < runs[OURS].rank
    assert runs[RANDOM].agreement < 0.7
    assert np.isnan([runs[name].rank for name in (CLONING, TRUE)]).all()
    assert len({run.score for run in runs.values()}) == 4


def test_the_judge_knows_the_reward_of_each_step() -> None:
    data, agreement, rank = BED.judged(1, 0.0, 400)
    own = dataset(FEW, 1)
    assert rank == correlation(data.rewards, own.rewards) > 0.95
    assert agreement >= 0.85
    np.testing.assert_array_equal(data.actions, own.actions)
    assert BED.judged(1, 1.0, 400)[2] < -0.95  # every answer wrong


def test_the_correlation_is_of_ranks_by_hand() -> None:
    # Ranks 1, 2, 3 against 1, 3, 2: 1 - 6 * 2 / (3 * 8).
    assert correlation(np.array([0.0, 1.0, 9.0]), np.array([5.0, 7.0, 6.0])) == pytest.approx(0.5)


def test_data_are_the_same_for_all_conditions() -> None:
    assert dataset(FEW, 2) is dataset(FEW, 2)


def test_effects_by_hand() -> None:
    scores = {OURS: 0.5, CLONING: 0.1, TRUE: 0.7, RANDOM: 0.2}
    outcomes: Any = {
        name: Outcome(Rewarded("iql"), 0.0, [Scored(score + 0.01 * seed, 0.0, 0.0) for seed in range(3)])
        for name, score in scores.items()
    }
    found = parts(Found(CLAIM, CLAIM.testbed, outcomes, {}))
    assert [one.sample.mean for one in found.values()] == pytest.approx([0.4, 0.3, -0.2])
    assert [one.decides for one in found.values()] == [True, False, False]


def test_the_premise_is_that_true_rewards_help() -> None:
    assert CLAIM.premise.missing({"mean normalised return": {TRUE: 0.19, CLONING: 0.1}})
    assert not CLAIM.premise.missing({"mean normalised return": {TRUE: 0.21, CLONING: 0.1}})
