import numpy as np

from tiltyard.benchmarks.claims.ss_orl import ALL, CLAIM, FEW, OURS, SCORES
from tiltyard.benchmarks.testbeds.action_free import ActionFree, part
from tiltyard.benchmarks.testbeds.pendulum import SwingUps


def test_labels_are_of_the_worst_trajectories() -> None:
    bed = ActionFree(data=SwingUps(good=6, trajectories=10, steps=60), lowest=0.4, labelled=0.3)
    whole, few, rest = bed.split(0)
    assert (len(few), len(rest), len(whole)) == (180, 420, 600)
    assert set(few.episode_returns) <= set(np.sort(whole.episode_returns)[:4])
    assert sorted([*few.episode_returns, *rest.episode_returns]) == sorted(whole.episode_returns)


def test_a_part_keeps_steps_and_returns_together() -> None:
    data = SwingUps(good=2, trajectories=4, steps=5).dataset(0)
    some = part(data, np.array([3, 1]))
    np.testing.assert_array_equal(some.observations[:5], data.observations[5:10])
    np.testing.assert_array_equal(some.episode_returns, data.episode_returns[[1, 3]])
    assert some.lengths.tolist() == [5, 5]


def test_the_premise_is_that_labels_are_missed() -> None:
    assert not CLAIM.premise.missing({SCORES: {OURS: 0.0, FEW: 0.0, ALL: 0.3}})
    assert "its premise does not hold here" in CLAIM.premise.missing({SCORES: {OURS: 0.0, FEW: 0.25, ALL: 0.3}})
