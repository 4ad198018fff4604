import numpy as np
import pytest

from tiltyard.benchmarks.claims.agentgym_rl import BEFORE, CLAIM, FORMS, details, parts
from tiltyard.benchmarks.claims.claim import Found, Outcome


def found(before: float = 0.1) -> Found:
    runs = {"growing": [before, 0.5, 0.9], "short": [before, 0.5, 0.6], "long": [before, 0.2, 0.5]}
    outcomes = {name: Outcome(FORMS[name][0], 0.01, [np.array(run)] * 3) for name, run in runs.items()}
    return Found(CLAIM, CLAIM.testbed, outcomes, {}, range(3))


def test_parts_and_premise_by_hand() -> None:
    told = parts(found())
    assert {name: part.sample.mean for name, part in told.items()} == pytest.approx(
        {
            "over short": 0.3,
            "over long": 0.4,
            "over short, mean over training": 0.1,
            "over long, mean over training": 0.7 / 3,
        }
    )
    assert [part.decides for part in told.values()] == [True, True, False, False]
    assert details(found())[BEFORE] == pytest.approx(0.1)
    assert details(found())["chosen"]["growing"] == ["grpo", 20, 40, 80]
    assert not CLAIM.premise.missing(details(found()))
    assert CLAIM.premise.missing(details(found(before=0.01)))


def test_conditions_have_as_many_forms_and_end_with_all_moves_unless_they_are_short() -> None:
    assert {len(forms) for forms in FORMS.values()} == {3}
    last = {name: {form.moves[-1] for form in forms} for name, forms in FORMS.items()}
    assert last == {"growing": {80}, "long": {80}, "short": {20, 27, 40}}
    assert all(list(form.moves) == sorted(set(form.moves)) for form in FORMS["growing"])
