"""Parts are leads in signs and in success; short problems or a baseline without errors decide nothing."""

from dataclasses import dataclass

import pytest

from tiltyard.benchmarks.claims.harness import judged
from tiltyard.benchmarks.claims.ota import CLAIM, details, parts
from tiltyard.benchmarks.testbeds.long_mazes import Learner, LongMazes, Outcome


@dataclass(frozen=True, kw_only=True)
class Invented(LongMazes):
    """OTA leads by 0.2 in signs and 0.1 in success; rate 0.003 is best."""

    base: float = 0.6
    steps_needed: float = 300.0

    def run(self, condition: Learner, rate: float, seed: int) -> Outcome:
        ours = condition.abstraction_factor > 1
        worse = 0.1 * (rate != 0.003) + 0.001 * (seed % 3) * (1 + ours)
        return Outcome(self.base + 0.2 * ours - worse, 0.7 + 0.1 * ours - worse, self.steps_needed)


def test_parts_are_leads_at_the_best_rate() -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented())
    each = parts(found)
    assert each["correct signs, over HIQL"].sample.mean == pytest.approx(0.2, abs=0.003)
    assert each["success, over HIQL"].sample.mean == pytest.approx(0.1, abs=0.003)
    assert set(found.rates.values()) == {0.003}
    assert judged(CLAIM, each, details(found))["judgement"] == "supported"


@pytest.mark.parametrize("changed", [{"base": 0.95}, {"steps_needed": 150.0}])
def test_nothing_is_decided_without_the_premise(changed: dict[str, float]) -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented(**changed))
    verdict = judged(CLAIM, parts(found), details(found))
    assert verdict["judgement"] == "undecided"
    assert "premise" in verdict["reason"]
