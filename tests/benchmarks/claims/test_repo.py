"""RePo's claim: what its parts are made of, by hand, and when its premise holds."""

import numpy as np
import pytest

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.repo import CLAIM, CLEAN, FORMS, MANY, OURS, RIVAL, RIVAL_CLEAN, SHOWN, details, parts
from tiltyard.benchmarks.testbeds.distracted_latents import Dreaming, Dreamt

REWARDS = {OURS: 0.5, RIVAL: 0.2, CLEAN: 0.7, RIVAL_CLEAN: 0.8}
NOISE = {OURS: 0.1, RIVAL: 0.4, CLEAN: 0.0, RIVAL_CLEAN: 0.0}


def found() -> Found[Dreaming, Dreamt]:
    """Three runs of each, that differ by a tenth in rewards; the first half of training earns nothing."""
    outcomes = {}
    for name, reward in REWARDS.items():
        runs = [
            Dreamt(np.array([0, 0, reward + seed / 10, reward + seed / 10]), 0.9, NOISE[name], 3.0) for seed in range(3)
        ]
        outcomes[name] = Outcome(FORMS[name][0], 0.01, runs)
    return Found(CLAIM, CLAIM.testbed, outcomes, {}, range(3))


def test_parts_by_hand() -> None:
    reward, growth, kept = parts(found()).values()
    assert reward.sample.mean == pytest.approx(0.5 - 0.2)
    assert reward.highest == pytest.approx(1 - 0.3)
    assert growth.sample.mean == pytest.approx(0.3 + 0.1)
    assert growth.highest == pytest.approx(0.7 + 0.1)
    assert kept.sample.mean == pytest.approx(0.3)
    assert kept.highest == pytest.approx(0.4)


def test_the_premise_is_that_both_learn_without_distractors() -> None:
    told = details(found())
    assert told[SHOWN] == pytest.approx([0.9, 0.8])
    assert not CLAIM.premise.missing(told)
    assert CLAIM.premise.missing({SHOWN: [0.9, 0.4]})
    assert CLAIM.premise.missing({SHOWN: [0.4, 0.9]})


def test_each_agent_has_as_many_distractors_as_its_rival_and_as_many_forms() -> None:
    for name, forms in FORMS.items():
        assert {form.distractors for form in forms} == {MANY if "12" in name else 0}
        assert {form.agent for form in forms} == {"repo" if name in (OURS, CLEAN) else "dreamer"}
        assert len(forms) == 2
