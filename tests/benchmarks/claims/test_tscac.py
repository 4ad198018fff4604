"""Parts are leads in watch time at the levels; the better form is chosen; without the levels nothing is decided."""

from dataclasses import dataclass

import numpy as np
import pytest

from tiltyard.benchmarks.claims.harness import judged
from tiltyard.benchmarks.claims.tscac import CLAIM, LAGRANGE, OURS, REACHED, SUM, details, parts
from tiltyard.benchmarks.testbeds.constrained_feed import ConstrainedFeed, Family, Learner


@dataclass(frozen=True, kw_only=True)
class Invented(ConstrainedFeed):
    """TSCAC leads by 0.5 over the sum and is 0.3 behind multipliers; rate 0.003 and second forms are better."""

    likes: float = 1.2

    def run(self, condition: Learner, rate: float, seed: int) -> Family:
        base = {"tscac": 4.0, "linear": 3.5, "lagrangian": 4.3}[condition.kind]
        second = condition.ent_coef == 0.3 or 0.09 in condition.strengths or condition.dual_rate == 5e-5
        watch = base + 0.05 * second - abs(np.log10(rate / 0.003)) + 0.01 * np.random.default_rng(seed).random()
        points = np.array([[watch, self.likes, 1.0], [0.0, 9.0, 9.0]])
        return Family(points, points, np.array([1.0, 0.0]))


def test_parts_are_leads_at_the_levels_and_better_forms_are_chosen() -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented())
    each = parts(found)
    assert each[f"over the {SUM}"].sample.mean == pytest.approx(0.5, abs=0.02)
    assert each[f"over the {LAGRANGE}"].sample.mean == pytest.approx(-0.3, abs=0.02)
    told = details(found)
    assert set(found.rates.values()) == {0.003}
    assert told["chosen forms"][OURS]["ent_coef"] == 0.3
    assert told["chosen forms"][SUM]["strengths"] == [0.05, 0.07, 0.09]
    assert told["chosen forms"][LAGRANGE]["dual_rate"] == 5e-5
    assert told[REACHED] == pytest.approx(1.0)


def test_nothing_is_decided_where_levels_are_missed() -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented(likes=1.0))
    assert details(found)[REACHED] == pytest.approx(1.0 / 1.2)
    verdict = judged(CLAIM, parts(found), details(found))
    assert verdict["judgement"] == "undecided"
    assert "premise" in verdict["reason"]
