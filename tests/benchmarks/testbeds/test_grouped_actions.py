import numpy as np

from tiltyard.benchmarks.claims.action_grouping import BEST, CLAIM, few, many
from tiltyard.benchmarks.testbeds.grouped_actions import SIZES, GroupedActions, always_coarse, in_hindsight, smooth


def test_actions_between_anchors_are_mixtures() -> None:
    mdp = smooth(np.random.default_rng(0), states=3, actions=5, anchors=3, gamma=0.9)
    np.testing.assert_allclose(mdp.transitions[:, 1], (mdp.transitions[:, 0] + mdp.transitions[:, 2]) / 2)
    np.testing.assert_allclose(mdp.rewards[:, 3], (mdp.rewards[:, 2] + mdp.rewards[:, 4]) / 2)


def test_the_best_grouping_is_finer_with_more_samples() -> None:
    bed = GroupedActions(tuning=3, repeats=4)
    assert SIZES[bed.best()[0]] < SIZES[bed.best()[-1]]
    process = bed.process(0)
    assert in_hindsight(bed, process, 128) == always_coarse(bed, process, 32768) == bed.best()[0]
    assert in_hindsight(bed, process, 32768) == bed.best()[-1]


def test_scores_lie_between_random_and_best() -> None:
    bed = GroupedActions()
    mdp = bed.process(0)
    assert bed.score(mdp, 64, 10**7, 0) > 0.99
    assert abs(bed.score(mdp, 1, 128, 0)) < 1e-9


def test_means_by_hand_and_the_premise() -> None:
    run = np.array([0.1, 0.3, 0.0, 0.6, 0.8])
    assert (round(few(run), 9), round(many(run), 9)) == (0.2, 0.7)
    assert not CLAIM.premise.missing({BEST: [4, 8, 32]})
    assert "its premise does not hold here" in CLAIM.premise.missing({BEST: [64, 64, 64]})
