"""Each variant is judged against the policy that it began as, and one against the other beside it."""

from dataclasses import dataclass

import numpy as np
import pytest

from tiltyard.benchmarks.claims.pi_rl import CLAIM, CLONED, details, parts
from tiltyard.benchmarks.testbeds.detour import Learner, Tuned, WeakDemonstrations


@dataclass(frozen=True, kw_only=True)
class Invented(WeakDemonstrations):
    """From 0.4, Flow-SDE comes to 0.8 and Flow-Noise to 0.6, at the middle rate."""

    def run(self, condition: Learner, rate: float, seed: int) -> Tuned:
        gain = (0.4 if condition.variant == "flow-sde" else 0.2) - 0.1 * abs(np.log10(rate / 0.001))
        noise = 0.001 * np.random.default_rng([seed, len(condition.variant)]).random()
        return Tuned(np.array([0.4, 0.4 + gain / 2, 0.4 + gain + noise]))


def test_parts_are_gains_over_the_cloned_policy() -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented())
    each = parts(found)
    assert each["Flow-SDE over the cloned policy"].sample.mean == pytest.approx(0.4, abs=0.002)
    assert each["Flow-Noise over the cloned policy"].sample.mean == pytest.approx(0.2, abs=0.002)
    assert each["Flow-Noise over the cloned policy"].highest == pytest.approx(0.6)
    beside = each["Flow-SDE over Flow-Noise"]
    assert beside.sample.mean == pytest.approx(0.2, abs=0.002)
    assert beside.highest == pytest.approx(0.4, abs=0.002)
    assert not beside.decides
    told = details(found)
    assert told["success after 1 of 2 parts"]["Flow-SDE"]["estimate"] == pytest.approx(0.6)
    assert told[CLONED] == pytest.approx([0.4, 0.4])
    assert set(found.rates.values()) == {0.001}
    assert not CLAIM.premise.missing(told)
    assert CLAIM.premise.missing({CLONED: [0.05, 0.4]})
    assert CLAIM.premise.missing({CLONED: [0.4, 0.9]})
