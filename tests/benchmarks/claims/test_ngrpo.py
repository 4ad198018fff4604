import numpy as np
import pytest

from tiltyard.agents.objectives.registry import load
from tiltyard.benchmarks.claims.ngrpo import CLAIM
from tiltyard.benchmarks.testbeds.answer_tree import AnswerTree
from tiltyard.benchmarks.testbeds.course import Course
from tiltyard.benchmarks.testbeds.tree_diagnostics import uniform_incorrect_groups
from tiltyard.benchmarks.testbeds.tree_learner import Learner


def test_only_ngrpo_learns_from_groups_that_are_all_incorrect() -> None:
    # One correct completion of 256 and a base that hardly knows it: all 16 completions are incorrect.
    task, moved = AnswerTree(skill=0.0).task(7), {}
    for handle in ("grpo", "dapo", "ngrpo"):
        learner = Learner(task, load(handle), seed=0, learning_rate=0.1, prompts=2)
        assert learner.iterate().reward.sum() == 0
        moved[handle] = float((learner.weight - task.base).abs().max().detach())
    assert moved == {"grpo": 0, "dapo": 0, "ngrpo": pytest.approx(0.1, rel=1e-3)}  # Adam's first step is its rate


def test_gain_by_hand() -> None:
    # Held out are the last three problems; two of them begin below 0.01 and rise by 0.5 and 0.1.
    success = np.array([[0.5, 0.005, 0.3, 0.0], [0.9, 0.505, 0.4, 0.1]])
    course = Course(np.array([0, 1]), success, np.zeros((2, 4)), trained=1)
    assert course.gain(0.0, 0.01) == pytest.approx(0.3)
    assert course.gain(0.1, 1.1) == pytest.approx(0.1)


def test_most_groups_of_the_base_policy_are_all_incorrect() -> None:
    bed = CLAIM.testbed
    assert isinstance(bed, AnswerTree)
    assert 0.6 < uniform_incorrect_groups(bed, CLAIM.conditions["ngrpo"], 1000) < 0.95


def test_the_lead_over_every_baseline_is_a_part() -> None:
    found = CLAIM.smallest().measure()
    means = {name: one["estimate"] for name, one in found.details["held-out success, mean over training"].items()}
    assert means.keys() == CLAIM.conditions.keys()
    assert found.means == pytest.approx({f"over {name}": means["ngrpo"] - means[name] for name in CLAIM.baselines})
    assert found.details["answers"] == 10 * 64
