import numpy as np
import pytest

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims import comparisons, ngrpo
from tiltyard.benchmarks.claims.laboratory import Course, Student, Tree, draw_world


def test_only_ngrpo_learns_from_groups_that_are_all_wrong() -> None:
    # One right answer of 256 and a base that hardly knows it: all 16 answers are wrong.
    world = draw_world(7, Tree(4, 4), skill=0.0)
    moved = {}
    for handle in ("grpo", "dapo", "ngrpo"):
        student = Student(world, load(handle), seed=0, learning_rate=0.1, prompts=2)
        assert student.iterate().reward.sum() == 0
        moved[handle] = float((student.weight - world.base).abs().max().detach())
    assert moved == {"grpo": 0, "dapo": 0, "ngrpo": pytest.approx(0.1, rel=1e-3)}  # Adam's first step is its rate


def test_gain_by_hand() -> None:
    # Held out are the last three problems; two of them begin below 0.01 and rise by 0.5 and 0.1.
    success = np.array([[0.5, 0.005, 0.3, 0.0], [0.9, 0.505, 0.4, 0.1]])
    course = Course(np.array([0, 1]), success, np.zeros((2, 4)), trained=1)
    assert ngrpo.gain(course, 0.0, 0.01) == pytest.approx(0.3)
    assert ngrpo.gain(course, 0.1, 1.1) == pytest.approx(0.1)


def test_most_groups_of_the_base_policy_are_all_wrong() -> None:
    assert 0.6 < ngrpo.dead_groups(1000) < 0.95


def test_every_arm_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngrpo, "ITERATIONS", 10)
    monkeypatch.setattr(ngrpo, "TREE", Tree(2, 3))
    monkeypatch.setattr(comparisons, "best_rates", lambda score, arms, seeds, grid: dict.fromkeys(arms, 0.03))
    found = ngrpo.measure(seeds=3)
    means = {name: one["estimate"] for name, one in found.details["held-out success, mean over training"].items()}
    assert means.keys() == ngrpo.ARMS.keys()
    rivals = max(means[name] for name in ("grpo", "dapo", "w-reinforce-nsr"))
    assert found.effect.estimate == pytest.approx(means["ngrpo"] - rivals)
    assert found.details["answers"] == 10 * 64
