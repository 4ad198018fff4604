import numpy as np
import pytest
import torch

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.prime import CLAIM, FORMS, KNOWN, details, parts
from tiltyard.benchmarks.testbeds.course import Course


def course(after: float, ordered: float) -> Course:
    """One problem trained on and one held out, whose success is 0.2 and then ``after``."""
    success = np.array([[0.9, 0.2], [0.9, after]])
    return Course(np.array([0, 1]), success, np.zeros((2, 2)), trained=1, at_end={"ordered": ordered})


def found(ordered: float) -> Found:
    runs = {"prime": course(0.6, ordered), "outcome": course(0.5, 0.9)}
    outcomes = {name: Outcome(CLAIM.conditions[name], 0.1, [run] * 3) for name, run in runs.items()}
    tried = {(name, 0.1, i): [0.3] for name in FORMS for i in range(2)}
    return Found(CLAIM, CLAIM.testbed, outcomes, tried, range(3))


def test_parts_and_premise_by_hand() -> None:
    means = {name: part.sample.mean for name, part in parts(found(0.7)).items()}
    assert means == pytest.approx({"mean over training": 0.05, "at the end": 0.1})
    told = details(found(0.7))
    assert told[KNOWN]["prime"] == pytest.approx(0.7)
    assert told["forms"]["outcome"] == {"process_weight": 0.0}
    assert not CLAIM.premise.missing(told)
    assert "premise" in CLAIM.premise.missing(details(found(0.5)))


def test_conditions_have_as_many_forms_and_the_same_completions() -> None:
    assert {len(forms) for forms in FORMS.values()} == {2}
    bed = CLAIM.testbed.smallest()
    learners = [bed.learner(condition, 0.0, 10_000) for forms in FORMS.values() for condition in forms]
    for learner, condition in zip(learners, [form for forms in FORMS.values() for form in forms], strict=True):
        bed.train(condition, learner)
    assert {learner.completed for learner in learners} == {bed.iterations * bed.prompts * bed.group}
    assert all(torch.equal(learner.weight, learner.task.base) for learner in learners)
