"""How claims tune, compare and weigh, with a testbed whose numbers can be worked out by hand."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims import effects
from tiltyard.benchmarks.claims.claim import Comparison, Premise, Tuning
from tiltyard.benchmarks.claims.effects import interval, weakest

RAN: list[tuple[str, float, int]] = []


@dataclass(frozen=True)
class Line:
    """Scores 1 at a condition's own rate, less elsewhere, and the seed on top."""

    best: Mapping[str, float]

    def run(self, condition: str, rate: float, seed: int) -> float:
        RAN.append((condition, rate, seed))
        return 1 - abs(rate - self.best[condition]) + seed

    def smallest(self) -> "Line":
        return self


def claim(**changes: Any) -> Comparison:
    made = Comparison(
        handle="made-up",
        sentence="s",
        effect="e",
        testbed=Line({"slow": 0.01, "fast": 0.09}),
        conditions={"slow": "slow", "fast": "fast"},
        ours="slow",
        baselines=("fast",),
        seeds=4,
        premise=Premise("none: it is arithmetic"),
        tuning=Tuning(lambda run: run, seeds=4),
        estimate=lambda found: interval(found.leads(lambda run: run)["over fast"]),
        details=lambda found: {"rates": found.rates},
    )
    return replace(made, **changes)


def test_each_condition_gets_the_rate_that_suits_it_on_seeds_of_their_own() -> None:
    RAN.clear()
    found = claim().compare(seeds=4)
    assert found.rates == {"slow": 0.01, "fast": 0.1}
    assert found["fast"].each(lambda run: run).tolist() == pytest.approx([0.99, 1.99, 2.99, 3.99])
    assert [seed for _, _, seed in RAN] == [1000, 1001, 1002, 1003] * 8 + [0, 1, 2, 3] * 2


def test_the_effect_pairs_conditions_by_seed() -> None:
    measured = claim().measure()
    assert (measured.effect.low, measured.effect.estimate) == pytest.approx((0.01, 0.01))
    assert measured.details == {"rates": {"slow": 0.01, "fast": 0.1}}


def test_one_condition_may_be_tuned_for_all() -> None:
    RAN.clear()
    found = claim(tuning=Tuning(lambda run: run, seeds=1, alike="slow")).compare(seeds=3)
    assert found.rates == {"slow": 0.01, "fast": 0.01}
    assert {condition for condition, _, seed in RAN if seed >= 1000} == {"slow"}


def test_variants_are_tried_at_every_rate() -> None:
    bed = Line({"slow": 0.5, "fast": 0.09, "slower": 0.03})
    tuning = Tuning(lambda run: run, seeds=1, variants={"slow": ("slow", "slower"), "fast": ("fast", "fast")})
    found = claim(testbed=bed, tuning=tuning).compare(seeds=3)
    assert (found["slow"].condition, found["slow"].rate) == ("slower", 0.03)
    assert len(found.tried) == 2 * 2 * 4


def test_without_tuning_there_is_no_rate() -> None:
    made = claim(tuning=None, testbed=Line({"slow": 0.0, "fast": 0.0}))
    assert np.isnan(list(made.compare(seeds=3).rates.values())).all()


def test_conditions_are_run_once_more_at_other_rates() -> None:
    found = claim().compare(seeds=4)
    faster = found.faster(2.0, most=3)
    assert (faster.seeds, faster.rates) == (3, {"slow": 0.02, "fast": 0.2})
    assert found.best_baseline(lambda run: run) == "fast"
    assert found.count(lambda run: run > 1.5) == {"slow": 3, "fast": 3}


def test_the_weakest_part_decides() -> None:
    assert weakest({"a": [1.0, 1.0, 1.0], "b": [0.5, 0.5, 0.5]}).estimate == 0.5
    parts = weakest({"a": [1.0, 1.1, 0.9, 1.0], "b": [0.1, -0.3, 0.2, 0.1]})
    assert parts.low < 0 < parts.high < 0.3


def test_parts_that_may_all_hold_are_not_refuted_together() -> None:
    values = np.random.default_rng(0).normal(size=(20, 8))
    values -= values.mean(0)  # eight parts of which nothing is known
    parts = weakest({str(i): column for i, column in enumerate(values.T)})
    assert parts.low < 0 < parts.high


def test_summaries_number_their_intervals() -> None:
    values = np.random.default_rng(1).normal(size=8)
    told = effects.summary({"a": values, "b": values})
    assert told["a"]["estimate"] == told["b"]["estimate"]
    assert told["a"]["low"] != told["b"]["low"]  # another stream of resamples
    alike = effects.summary({"a": values, "b": values}, 3, stream=7)
    assert alike["a"] == alike["b"]
    assert alike["a"]["low"] == interval(values, 3, stream=7).low
