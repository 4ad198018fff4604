"""Reward models: solutions with errors are incorrect, better models do better, and all conditions see the same ones."""

from dataclasses import replace

import numpy as np
import pytest

from tiltyard.benchmarks.testbeds.reward_models import STEPS, RewardModels, Scores, _fitted, _of_skill, _solutions

BED = RewardModels(models=10, items=80, problems=80)


def test_incorrect_solutions_have_one_to_three_errors() -> None:
    rng = np.random.default_rng(0)
    errors = STEPS - _solutions((5000,), False, rng).sum(-1)
    assert np.bincount(errors.astype(int), minlength=4)[1:] / 5000 == pytest.approx([1 / 3] * 3, abs=0.03)
    assert _solutions((3,), True, rng).all()
    skill = _of_skill(2, 1)
    assert (STEPS - skill.sum(-1)).tolist() == [[0, 1, 1, 1]] * 2
    assert not skill[:, 1:, [2, 3]].all()
    assert skill[..., [0, 1, 4, 5, 6, 7]].all()


def test_a_model_learns_that_evidence_counts() -> None:
    bed, rng = replace(BED, noise=0.3), np.random.default_rng(3)
    weights = np.mean([_fitted(bed, rng) for _ in range(30)], axis=0)
    assert (weights[:STEPS] > 0).all()


def test_all_conditions_see_the_same_models_whose_use_differs() -> None:
    found = [BED.run(name, float("nan"), 0) for name in ("one to many", "pairs of other styles")]
    assert np.array_equal(found[0].best_of_64, found[1].best_of_64)
    assert not np.array_equal(found[0].benchmark, found[1].benchmark)
    assert np.ptp(found[0].best_of_16) > 0.05
    assert Scores(np.arange(4.0), np.zeros(4), np.zeros(4)).correlation(np.array([1.0, 2.0, 3.0, 9.0])) == 1
    assert Scores(np.ones(4), np.zeros(4), np.zeros(4)).correlation(np.arange(4.0)) == 0
