"""NLPO beside PPO."""

import numpy as np

from tiltyard.benchmarks.claims.rl4lms_nlpo_grue import CLAIM, COEFS, FORMS, GAIN


def test_it_tells_what_it_decides_by_and_decides_by_both_tasks() -> None:
    found = CLAIM.smallest().measure()
    decide = {name for name, part in found.parts.items() if part.decides}
    assert decide == {"over PPO", "over PPO, nothing spoils", "over PPO, at three times the rates"}
    assert np.isfinite(found.details[GAIN]["estimate"])
    tuned = found.details["reward at the end"]
    assert found.details["reward at three times the rates"]["nlpo"]["estimate"] != tuned["nlpo"]["estimate"]


def test_conditions_differ_by_the_restriction_alone() -> None:
    for name, forms in FORMS.items():
        assert [form.task["kl_coef"] for form in forms] == list(COEFS)
        if name.startswith("nlpo"):
            others = FORMS["ppo" + name.removeprefix("nlpo")]
            for ours, theirs in zip(forms, others, strict=True):
                assert ours.task == {**theirs.task, "top_p": 0.9}


def test_the_premise_is_that_ppo_learns() -> None:
    assert CLAIM.premise.holds is not None
    assert CLAIM.premise.holds(0.05)
    assert not CLAIM.premise.holds(0.04)
