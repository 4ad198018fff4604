from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims.alp_gmm import CLAIM, SPACES
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.testbeds.counter import Counter, Lesson, Lessons, Space


def test_a_cell_is_learnt_once_a_nearer_one_is_mastered_by_hand() -> None:
    counter = Counter()
    assert counter.episode(np.array([0.15, 0.0])) == 0.0  # cell (1, 0): the first is not mastered yet
    returns = [counter.episode(np.array([0.05, 0.05])) for _ in range(74)]
    assert returns[:3] == [0.01, 0.02, 0.03]
    assert counter.episode(np.array([0.15, 0.15])) == 0.0
    assert counter.mastered == 0.0
    assert counter.episode(np.array([0.05, 0.05])) == 0.75
    assert counter.mastered == 1.0  # one cell of a hundred
    assert counter.episode(np.array([0.15, 0.15])) == 0.01  # along the diagonal
    assert counter.episode(np.array([0.25, 0.15])) == 0.0  # its neighbours (1, 1), (1, 0)... are not
    assert counter.episode(np.array([1.0, 1.0])) == 0.0  # the last cell


def test_competence_ends_at_a_hundred_and_outside_nothing_is_earned() -> None:
    counter = Counter()
    returns = [counter.episode(np.array([0.0, 0.0, 0.9])) for _ in range(110)]
    assert returns[-1] == 1.0
    before = counter.competence.copy()
    assert counter.episode(np.array([1.2, 0.05])) == 0.0
    assert np.array_equal(counter.competence, before)


def test_both_teachers_draw_from_the_same_space() -> None:
    bed = Lessons(spaces=SPACES, episodes=1000)
    alp_gmm, uniform = (CLAIM.conditions[name] for name in ("ALP-GMM", "uniform"))
    assert bed.lesson(uniform, SPACES["unlearnable"], 0).wasted == pytest.approx(75, abs=5)  # of the box
    taught = bed.lesson(alp_gmm, SPACES["unlearnable"], 0)
    assert 0 < taught.wasted < 75
    assert bed.lesson(uniform, Space(), 1).wasted == 0
    assert bed.lesson(alp_gmm, SPACES["unlearnable"], 0) == taught


def test_every_space_is_a_part() -> None:
    gains = (30.0, 12.0, 20.0)
    outcomes: Any = {
        name: Outcome(None, 0.0, [[Lesson(5.0 + gain * helped + seed, 15.0) for gain in gains] for seed in range(3)])
        for name, helped in (("ALP-GMM", True), ("uniform", False))
    }
    found = Found(CLAIM, CLAIM.testbed, outcomes, {})
    parts = CLAIM.parts(found)
    assert {name: part.sample.mean for name, part in parts.items()} == dict(zip(SPACES, gains, strict=True))
    assert all(part.highest == 100 - 6.0 for part in parts.values())  # uniform draws master 5, 6 and 7
