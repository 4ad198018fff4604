from tiltyard.benchmarks.claims.hnpg import CLAIM, ENDS


def test_both_hybrids_have_the_data_and_ppo_has_not() -> None:
    preloaded = {name: condition.preloaded for name, condition in CLAIM.conditions.items()}
    assert preloaded == {"HNPG": True, "RLPD": True, "PPO, without data": False}


def test_the_premise_is_that_data_are_needed() -> None:
    assert not CLAIM.premise.missing({ENDS: {"PPO, without data": 0.02}})
    assert "its premise does not hold here" in CLAIM.premise.missing({ENDS: {"PPO, without data": 0.5}})
