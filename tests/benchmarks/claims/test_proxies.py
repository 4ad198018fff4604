"""Claims about optimising reward models."""

import numpy as np
import pytest

from tiltyard.benchmarks.claims import lsc, par, rm_ensemble, tldr_rlhf
from tiltyard.benchmarks.claims.proxies import COEFS, FALL, OPEN, OVEROPTIMISED, forms

CLAIMS = {"par": par.CLAIM, "lsc": lsc.CLAIM, "rm-ensemble": rm_ensemble.CLAIM, "tldr-rlhf": tldr_rlhf.CLAIM}


@pytest.mark.parametrize("name", ["par", "lsc", "rm-ensemble"])
def test_all_conditions_have_as_many_forms_with_a_penalty(name: str) -> None:
    claim = CLAIMS[name]
    assert claim.tuning is not None
    variants = claim.tuning.variants
    assert variants.keys() == claim.conditions.keys() - {OPEN}
    assert claim.conditions[OPEN].coef == 0
    assert len({len(each) for each in variants.values()}) == 1
    assert all(form.coef > 0 for each in variants.values() for form in each)


def test_parts_lead_at_half_and_at_the_end() -> None:
    found = CLAIMS["par"].smallest().measure()
    deciding = {name for name, part in found.parts.items() if part.decides}
    assert deciding == {"over the score at half of the training", "over the score at its end"}
    assert np.isfinite(found.details[FALL])
    assert {form.reward for form in forms("wco")} == {"wco"}
    tried = found.details["true reward in tuning"]
    assert tried["par"].keys() == {f"par, penalty {coef}, rate 0.1" for coef in COEFS}


def test_a_policy_that_is_pushed_further_runs_at_ten_times_the_rate() -> None:
    small = CLAIMS["tldr-rlhf"].smallest()
    found = small.measure()
    assert {"over the base policy", "over one pushed further, in true reward"} < found.parts.keys()
    pushed, tuned = found.details["pushed further"]["paid"], found.details["score at the end"][OPEN]
    assert pushed["estimate"] != tuned["estimate"]


def test_the_premise_is_a_fall() -> None:
    assert OVEROPTIMISED.holds(0.01)
    assert not OVEROPTIMISED.holds(-0.01)
