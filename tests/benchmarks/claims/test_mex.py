from tiltyard.benchmarks.claims.mex import CLAIM, ENDS


def test_forms_differ_in_optimism_or_in_noise_alone() -> None:
    assert CLAIM.tuning is not None
    forms = CLAIM.tuning.variants
    assert {tuple(form.settings) for form in forms["MEX"]} == {("optimism_coef",)}
    assert {tuple(form.settings) for form in forms["TD3"]} == {("action_noise",)}
    assert all(form.settings["optimism_coef"] > 0 for form in forms["MEX"])


def test_the_premise_is_that_td3_leaves_something_to_gain() -> None:
    assert not CLAIM.premise.missing({ENDS: {"MEX": 1.0, "TD3": 0.3}})
    assert "its premise does not hold here" in CLAIM.premise.missing({ENDS: {"MEX": 0.2, "TD3": 0.95}})
