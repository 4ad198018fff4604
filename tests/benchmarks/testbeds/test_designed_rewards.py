import numpy as np
import pytest

from tiltyard.benchmarks.claims.rewarddesign_thesis import CLAIM, ORIGINAL, PLAIN, POTENTIAL, SCORES, score
from tiltyard.benchmarks.testbeds.designed_rewards import (
    DECOY,
    LEFT,
    RIGHT,
    SLIP,
    DesignedRewards,
    decoy_line,
    rooms,
)


def test_rooms_by_hand() -> None:
    process, start, crafted = rooms(7)
    last = 49
    assert process.transitions[start, LEFT, last] == pytest.approx(1 - SLIP + SLIP / 3)  # and down, by a slip
    assert process.rewards.sum() == process.rewards[6, RIGHT] == 10
    assert process.transitions[2, RIGHT, 3] == 0  # a wall between the third and the fourth column
    assert process.transitions[7 + 2, RIGHT, 7 + 3] == pytest.approx(1 - SLIP)  # but for a door
    assert len(set(crafted)) == 5
    assert process.optimum()[start].max() > 1


def test_hand_made_rewards_pay_the_best_actions_at_doors() -> None:
    bed = DesignedRewards()
    crafted, original = bed.rewards("crafted"), bed.rewards("original")
    changed = np.flatnonzero((crafted != original).any(axis=1))
    assert set(changed) == set(rooms(7).crafted)
    assert set(np.unique(crafted[changed])) == {-1.0, 1.0}


def test_shaping_by_the_best_values_is_learnt_fast() -> None:
    bed = DesignedRewards(episodes=200, moments=2)
    assert bed.q_learning("potential", 0.5, 3)[-1] > 0.8
    assert bed.q_learning("original", 0.5, 3)[0] < 0.3


def test_the_decoy_pays_less_than_the_goal() -> None:
    mdp = decoy_line(13, 20, 2)
    assert mdp.rewards[0].tolist() == [DECOY, DECOY]
    assert DECOY * 20 < 0.5 * mdp.optimum()


def test_scores_by_hand_and_the_premise() -> None:
    assert score(np.array([0.0, 0.5])) == 0.25
    assert not CLAIM.premise.missing({SCORES: {ORIGINAL: 0.5, PLAIN: 0.4, POTENTIAL: 0.9}})
    assert "its premise does not hold here" in CLAIM.premise.missing(
        {SCORES: {ORIGINAL: 0.5, PLAIN: 0.95, POTENTIAL: 0.9}}
    )
