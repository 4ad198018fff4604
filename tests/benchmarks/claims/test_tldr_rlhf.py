"""Optimising a reward model, and optimising it too far."""

import numpy as np

from tiltyard.benchmarks.claims.proxies import COEFS, FALL, OPEN, OVEROPTIMISED, forms
from tiltyard.benchmarks.claims.tldr_rlhf import CLAIM, RLHF


def test_a_policy_that_is_pushed_further_runs_at_ten_times_the_rate() -> None:
    found = CLAIM.smallest().measure()
    assert {"over the base policy", "over one pushed further, in true reward"} < found.parts.keys()
    pushed, tuned = found.details["pushed further"]["paid"], found.details["score at the end"][OPEN]
    assert pushed["estimate"] != tuned["estimate"]
    assert np.isfinite(found.details[FALL])
    tried = found.details["true reward in tuning"]
    assert tried[RLHF].keys() == {f"model, penalty {coef}, rate 0.1" for coef in COEFS}


def test_every_form_has_a_penalty_and_the_condition_without_has_none() -> None:
    assert CLAIM.tuning is not None
    assert [form.coef for form in CLAIM.tuning.variants[RLHF]] == list(COEFS)
    assert min(COEFS) > 0 == CLAIM.conditions[OPEN].coef
    assert {form.reward for form in forms("wco")} == {"wco"}


def test_the_premise_is_a_fall() -> None:
    assert OVEROPTIMISED.holds is not None
    assert OVEROPTIMISED.holds(0.01)
    assert not OVEROPTIMISED.holds(-0.01)
