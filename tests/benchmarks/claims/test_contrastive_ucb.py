from tiltyard.benchmarks.claims.contrastive_ucb import CLAIM, COUNT, EPSILON, FORMS, OURS, SHORT


def test_forms_of_the_two_bonuses_differ_in_the_kind_of_bonus_alone() -> None:
    for ours, other in zip(FORMS[OURS], FORMS[COUNT], strict=True):
        assert {**ours.settings, "bonus": "count"} == other.settings
        assert ours.settings["bonus_weight"] > 0
    assert all(form.settings["bonus_weight"] == 0 for form in FORMS[EPSILON])
    assert all(form.settings["exploration_final_eps"] > 0 for form in FORMS[EPSILON])


def test_the_premise_is_that_epsilon_greedy_learns_but_does_not_get_far() -> None:
    assert not CLAIM.premise.missing({SHORT: [0.95, 0.1]})
    assert "its premise does not hold here" in CLAIM.premise.missing({SHORT: [0.5, 0.1]})
    assert "its premise does not hold here" in CLAIM.premise.missing({SHORT: [0.95, 0.7]})
