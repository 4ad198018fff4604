import numpy as np
import pytest

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.pav import CLAIM, FORMS, details, parts
from tiltyard.benchmarks.testbeds.course import Course


def course(before: float, *after: float) -> Course:
    """One problem trained on and one held out, whose success changes."""
    success = np.array([[0.9, held_out] for held_out in (before, *after)])
    return Course(np.arange(len(success)) * 100, success, np.zeros_like(success), trained=1)


def found(before: float = 0.2) -> Found:
    runs = {
        "pav": course(before, 0.6, 0.8),
        "outcome": course(before, 0.4, 0.5),
        "own progress": course(before, 0.5, 0.7),
    }
    outcomes = {name: Outcome(FORMS[name][0], 0.1, [run] * 3) for name, run in runs.items()}
    tried = {(name, 0.1, i): [0.3] for name in FORMS for i in range(4)}
    return Found(CLAIM, CLAIM.testbed, outcomes, tried, range(3))


def test_parts_and_details_by_hand() -> None:
    means = {name: part.sample.mean for name, part in parts(found()).items()}
    assert means == pytest.approx({"over outcome": 0.175, "over own progress": 0.075})
    told = details(found())
    assert told["share of completions to the outcome's success at the end"] == 0.5
    assert told["forms"]["pav"] == {"method": "pav", "alpha": 1.0, "best_of": 4}
    assert not CLAIM.premise.missing(told)
    assert "premise" in CLAIM.premise.missing(details(found(before=0.45)))


def test_conditions_have_as_many_forms_and_the_same_completions() -> None:
    assert {len(forms) for forms in FORMS.values()} == {4}
    bed = CLAIM.testbed.smallest()
    for condition in (form for forms in FORMS.values() for form in forms):
        learner = bed.learner(condition, 0.0, 10_000)
        bed.train(condition, learner)
        assert learner.completed == bed.iterations * bed.prompts * bed.group
