"""Parts are the shares that students lose more than teachers, and differences of errors between contexts."""

from dataclasses import dataclass

import numpy as np
import pytest

from tiltyard.benchmarks.claims import icrl_theory as claim
from tiltyard.benchmarks.testbeds.distilled_bandits import DistilledBandits, Imitated, Student


@dataclass(frozen=True, kw_only=True)
class Invented(DistilledBandits):
    """Losses and errors by contexts; at the second of four rates errors are the least."""

    def run(self, condition: Student, rate: float, seed: int) -> Imitated:
        noise = 0.001 * (seed % 1000)
        if condition.expert == "optimal":
            return Imitated(22.0 + noise, 21.0, 20.0, 90.0, np.full(2, np.nan))
        error = {1: 0.2, 2: 0.25}[len(condition.contexts)] + 0.2 * (condition.contexts == ("uniform",))
        error += noise + abs(rate - 0.005)
        return Imitated(100 * error - 10, 9.0, 8.0, 90.0, np.array([error - 0.1, error + 0.1]))


def test_parts_are_by_hand() -> None:
    found = claim.CLAIM.compare(seeds=3, testbed=Invented())
    assert found.rates[claim.OWN] == 0.005
    means = {name: part.sample.mean for name, part in claim.parts(found).items()}
    assert list(means.values()) == pytest.approx([-0.2625, -0.10005, 0.2, 0.15, 0.05, -0.8875, -2.7625])
    assert [part.wanted for part in claim.parts(found).values()] == ["no less"] * 2 + ["above"] * 3 + ["no less"] * 2
    assert sum(part.decides for part in claim.parts(found).values()) == 4
    told = claim.details(found)
    assert not claim.CLAIM.premise.missing(told)
    assert told[claim.ACTS] == pytest.approx([8 / 90, 20 / 90, 0.201 / 0.8])
    told[claim.ACTS][2] = 0.6
    assert "less than half" in claim.CLAIM.premise.missing(told)


def test_students_are_tuned_by_what_they_are_for() -> None:
    assert claim.tuned(Imitated(3.0, 2.5, 2.0, 9.0, np.array([0.3, 0.1]))) == pytest.approx(-0.2)
    assert claim.tuned(Imitated(3.0, 2.5, 2.0, 9.0, np.full(2, np.nan))) == pytest.approx(-0.5)
