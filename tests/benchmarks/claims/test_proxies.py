"""Claims that compare rewards made of reward models: all tuned alike, and judged soon and in the end."""

import pytest

from tiltyard.benchmarks.claims import lsc, par, rm_ensemble
from tiltyard.benchmarks.claims.proxies import FALL, OPEN

CLAIMS = {claim.handle: claim for claim in (par.CLAIM, lsc.CLAIM, rm_ensemble.CLAIM)}


@pytest.mark.parametrize("name", CLAIMS)
def test_all_forms_but_those_of_one_condition_have_a_penalty(name: str) -> None:
    tuning = CLAIMS[name].tuning
    assert tuning is not None
    for condition, forms in tuning.variants.items():
        assert len({(form.reward, form.coef) for form in forms}) == (1 if condition == OPEN else len(forms))
        assert all((form.coef > 0) == (condition != OPEN) for form in forms)
    assert tuning.seeds > 3


def test_the_score_is_a_rival_with_a_penalty_and_without_soon_and_in_the_end() -> None:
    found = CLAIMS["par"].smallest().measure()
    rivals = [f"over {name} {when}" for when in ("at half of the training", "at its end") for name in (par.ALONE, OPEN)]
    assert [name for name, part in found.parts.items() if part.decides] == rivals
    for rival, told in ((rivals[1], "true reward at half"), (rivals[3], "true reward at the end")):
        ours, theirs = (found.details[told][name]["estimate"] for name in ("par", OPEN))
        assert found.parts[rival].sample.mean == pytest.approx(ours - theirs)
    assert FALL in found.details


def test_conservative_forms_are_of_both_objectives() -> None:
    tuning = CLAIMS["rm-ensemble"].tuning
    assert tuning is not None
    assert {form.reward for form in tuning.variants["conservative"]} == {"wco", "uwo"}
    assert {form.reward for form in tuning.variants[rm_ensemble.MEAN]} == {"mean"}
