import numpy as np
import pytest

from tiltyard.benchmarks.claims import alp_gmm
from tiltyard.benchmarks.claims.alp_gmm import SPACES, Lesson, Space, Student


def test_a_cell_is_learnt_once_a_nearer_one_is_mastered_by_hand() -> None:
    student = Student()
    assert student.episode(np.array([0.15, 0.0])) == 0.0  # cell (1, 0): the first is not mastered yet
    returns = [student.episode(np.array([0.05, 0.05])) for _ in range(74)]
    assert returns[:3] == [0.01, 0.02, 0.03]
    assert student.episode(np.array([0.15, 0.15])) == 0.0
    assert student.mastered == 0.0
    assert student.episode(np.array([0.05, 0.05])) == 0.75
    assert student.mastered == 1.0  # one cell of a hundred
    assert student.episode(np.array([0.15, 0.15])) == 0.01  # along the diagonal
    assert student.episode(np.array([0.25, 0.15])) == 0.0  # its neighbours (1, 1), (1, 0)... are not
    assert student.episode(np.array([1.0, 1.0])) == 0.0  # the last cell


def test_competence_ends_at_a_hundred_and_outside_nothing_is_earned() -> None:
    student = Student()
    returns = [student.episode(np.array([0.0, 0.0, 0.9])) for _ in range(110)]
    assert returns[-1] == 1.0
    before = student.competence.copy()
    assert student.episode(np.array([1.2, 0.05])) == 0.0
    assert np.array_equal(student.competence, before)


def test_both_teachers_draw_from_the_same_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alp_gmm, "EPISODES", 1000)
    uniform = alp_gmm.lesson("uniform", SPACES["unlearnable"], 0)
    assert uniform.wasted == pytest.approx(75, abs=5)  # three quarters of the box
    taught = alp_gmm.lesson("ALP-GMM", SPACES["unlearnable"], 0)
    assert 0 < taught.wasted < 75
    assert alp_gmm.lesson("uniform", Space(), 1).wasted == 0
    assert alp_gmm.lesson("ALP-GMM", SPACES["unlearnable"], 0) == taught


def test_the_effect_is_of_the_space_where_it_helps_least(monkeypatch: pytest.MonkeyPatch) -> None:
    gains = {"plain": 30.0, "distractors": 12.0, "unlearnable": 20.0}

    def pretended(teacher: str, space: Space, seed: int) -> Lesson:
        name = next(key for key, value in SPACES.items() if value == space)
        return Lesson(5.0 + gains[name] * (teacher == "ALP-GMM") + seed, 15.0)

    monkeypatch.setattr(alp_gmm, "lesson", pretended)
    found = alp_gmm.measure(seeds=3)
    assert found.effect.estimate == found.effect.low == found.effect.high == 12.0
    assert found.details["cells mastered in percent"]["uniform, plain"]["estimate"] == 6.0


def test_the_experiment_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alp_gmm, "EPISODES", 600)
    found = alp_gmm.measure(seeds=3)
    assert np.isfinite([found.effect.low, found.effect.estimate, found.effect.high]).all()
