import numpy as np
import pytest

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.grpo_lambda import CLAIM, COST, PLAIN, details, parts


def test_parts_and_premise_by_hand() -> None:
    # Without a penalty 0.8 of problems succeed in 10 tokens; with it everywhere 0.6 in 5, for some groups 0.75 in 8.
    ends = {"everywhere": (0.6, 5.0), "grpo-lambda": (0.75, 8.0), "at random": (0.7, 7.0), PLAIN: (0.8, 10.0)}
    outcomes = {
        name: Outcome(condition, 0.1, [np.array([[0.2, 9.0], ends[name.split(",")[0]]])] * 3)
        for name, condition in CLAIM.conditions.items()
    }
    found = Found(CLAIM, CLAIM.testbed, outcomes, {}, range(3))
    means = {name: part.sample.mean for name, part in parts(found).items()}
    assert means["weight 0.2: success over the penalty everywhere"] == pytest.approx(0.15)
    assert means["weight 0.2: share of tokens saved"] == pytest.approx(0.2)
    assert means["weight 0.2: success minus without"] == pytest.approx(-0.05)
    assert means["weight 0.5: success over groups at random"] == pytest.approx(0.05)
    told = details(found)
    assert told[COST]["0.5"] == pytest.approx(0.2)
    assert not CLAIM.premise.missing(told)
