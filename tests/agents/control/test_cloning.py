"""Cloning, filtered cloning and AWR by outcomes on a tiny phone."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.agents.control.cloning import Cloning, FilteredCloning, OutcomeAWR, outcome_weights
from tiltyard.agents.control.trajectories import Pool

sys.path.insert(0, str(Path(__file__).parent))
from phones import SMALL, episodes, success, tiny


def test_weights_by_hand() -> None:
    # Returns 0.5 (one step before a success), 1, 0, 0: mean 0.375; exp(0.125 / 0.5), exp(0.625 / 0.5), exp(-0.75).
    outcome, left = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1, 0, 1, 0])
    found = outcome_weights(outcome, left, 0.5, 0.5, 20.0)
    np.testing.assert_allclose(found, [1.284025, 3.490343, 0.472367, 0.472367], rtol=1e-5)
    assert outcome_weights(outcome, left, 0.5, 0.5, 3.0).max() == 3.0


@pytest.mark.parametrize(
    ("made", "least", "most"), [(Cloning, 0.0, 0.6), (FilteredCloning, 0.85, 1), (OutcomeAWR, 0.7, 1)]
)
def test_bad_hands_are_imitated_filtered_or_weighted(made: Any, least: float, most: float) -> None:
    """Of hands that tap the wrong element more often than the right one, a clone does the same."""
    data = [one for one in episodes(600, right=0.35) if one.actions[0, 0] == 0]  # 35% right, 32% wrong, no home
    wrong = [one for one in data if not one.success]
    learner = made(env=tiny(), **SMALL)
    learner.learn_offline([*data, *wrong], 40)
    assert least <= success(learner) <= most


def test_cloning_does_what_good_hands_did() -> None:
    learner = Cloning(env=tiny(), **SMALL).learn_offline(episodes(300, right=1.0), 24)
    assert success(learner) > 0.9


def test_cloning_needs_something_to_imitate() -> None:
    learner = Cloning(env=tiny(), **SMALL)
    with pytest.raises(ValueError, match=r"Cloning imitates .* was given none: call learn_offline.*--set dataset=ID"):
        learner.learn(8)
    assert learner.num_timesteps == 0
    assert learner.clone(episodes(8, right=1.0), 1).learn(8).num_timesteps >= 8
    assert Cloning(env=tiny(), **SMALL).learn_offline(episodes(8, right=1.0), 0).learn(8).num_timesteps >= 8
    assert FilteredCloning(env=tiny(), **SMALL).learn(8).num_timesteps >= 8


@pytest.mark.slow  # DigiRL's, of the same loop, is in the default suite
def test_filtered_cloning_learns_online_from_its_own_successes() -> None:
    learner = FilteredCloning(env=tiny(), **SMALL, rollouts=32, actor_updates=10).clone(episodes(60, right=0.3), 6)
    began = success(learner)
    learner.learn(400)
    assert success(learner) > max(0.8, began + 0.1)


def test_a_weight_of_nothing_changes_nothing() -> None:
    learner = Cloning(env=tiny(), **SMALL)
    pool = Pool(episodes(20, right=1.0))
    before = [part.detach().clone() for part in learner.policy.parameters()]
    learner.imitate(pool, np.arange(20), 1, np.zeros(20))
    assert all(old.equal(new) for old, new in zip(before, learner.policy.parameters(), strict=True))
