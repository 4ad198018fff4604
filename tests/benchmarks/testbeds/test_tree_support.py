"""Support on the answer tree: what teachers show, and answers that can be guessed."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from tiltyard.agents.language.rollouts import Rollouts
from tiltyard.benchmarks.testbeds.answer_tree import AnswerTree
from tiltyard.benchmarks.testbeds.tree_support import CONDITIONS, GuessableTree, boundary_tree, supported

SMALL = AnswerTree(depth=3, branching=3, correct=2, trained=16, held_out=16, iterations=10, every=5)


def test_an_untrained_policy_keeps_all_its_support() -> None:
    learner = SMALL.learner(CONDITIONS["grpo"], 0.1, 0)
    found = supported(learner)
    assert found["lost"] == found["new"] == 0
    assert found["preserved"] + found["outside"] == pytest.approx(2)


def test_distillation_shows_correct_completions_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("distilled from a teacher", "distilled from itself"):
        learner = SMALL.learner(CONDITIONS[name], 0.1, 0)
        before = learner.success()[: learner.task.trained].mean()
        shown: list[float] = []
        improve = learner.improve

        def noted(rollouts: Rollouts, shown: list[float] = shown, improve: Any = improve) -> None:
            shown.extend(rollouts.reward.tolist())
            improve(rollouts)

        monkeypatch.setattr(learner, "improve", noted)
        SMALL.train(CONDITIONS[name], learner)
        assert set(shown) == {1.0}
        assert learner.success()[: learner.task.trained].mean() > before


def test_its_own_completions_come_as_often_as_the_base_writes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = replace(SMALL, prompts=1, group=4000, trained=1).learner(CONDITIONS["distilled from itself"], 0.0, 3)
    base = learner.distribution()[0]
    answers: list[torch.Tensor] = []
    monkeypatch.setattr(learner, "improve", lambda rollouts: answers.append(rollouts.info["answer"]))
    CONDITIONS["distilled from itself"].iteration(learner)()  # type: ignore[attr-defined]
    right = learner.task.reward[0] > 0
    share = base[right] / base[right].sum()
    counted = torch.stack([(answers[0] == i).double().mean() for i in right.nonzero()[:, 0]])
    assert counted == pytest.approx(share, abs=0.04)


def test_answers_can_be_guessed_and_reasoning_cannot() -> None:
    bed = GuessableTree(depth=3, branching=3, trained=16, held_out=16, iterations=10, every=5)
    task, strict = bed.task(0), SMALL.task(0)
    assert task.reward.sum(1).tolist() == [9.0] * 32, "all 3 x 3 ways of reasoning to the answer"
    assert ((replace(bed, correct=1).task(0).reward - AnswerTree.task(bed, 0).reward) >= 0).all()
    assert strict.reward.sum(1).tolist() == [2.0] * 32
    course = bed.run(CONDITIONS["grpo"], 0.1, 0)
    assert course.at_end["before, k = 1"] < course.pass_at(1, 0)
    assert course.at_end["before, k = 1"] < course.at_end["before, k = 4"]


def test_the_testbed_has_room_between_its_budget_and_all_completions() -> None:
    assert len(boundary_tree().task(0).tree) == 1024
