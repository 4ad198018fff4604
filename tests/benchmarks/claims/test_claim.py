"""How claims tune, compare and weigh, with a testbed whose numbers can be worked out by hand."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims import effects
from tiltyard.benchmarks.claims.claim import Comparison, Premise, Tuning
from tiltyard.benchmarks.claims.effects import leads

GRID = (0.001, 0.01, 0.03, 0.1, 0.3)
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
        tuning=Tuning(lambda run: run, GRID, 4),
        parts=lambda found: leads(found, lambda run: run, top=9.0),
        details=lambda found: {"rates": found.rates},
    )
    return replace(made, **changes)


def test_each_condition_gets_the_rate_that_suits_it_on_seeds_of_their_own() -> None:
    RAN.clear()
    found = claim().compare(seeds=4)
    assert found.rates == {"slow": 0.01, "fast": 0.1}
    assert found["fast"].each(lambda run: run).tolist() == pytest.approx([0.99, 1.99, 2.99, 3.99])
    assert [seed for _, _, seed in RAN] == [1000, 1001, 1002, 1003] * 10 + [0, 1, 2, 3] * 2


def test_every_run_is_told_when_it_is_done(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "tiltyard.benchmarks.claims"):
        found = claim(tuning=Tuning(lambda run: run, GRID[:3], 1)).compare(seeds=3)
        claim(tuning=None).compare(seeds=3)
        found.on_tuning_seeds(["slow"])
        found.rerun({"fast": 0.5}, most=1)
    told = [record.getMessage().partition(":")[0] for record in caplog.records]
    assert told[0] == "slow at rate 0.001, seed 1000 (tuning)"
    assert told[-8:-2] == [f"{name}, seed {seed}" for name in ("slow", "fast") for seed in range(3)]
    assert told[-2:] == ["slow at rate 0.01, seed 1000 (tuning)", "fast at rate 0.5, seed 0"]
    assert caplog.records[0].getMessage().endswith(": 0.0 s")


def test_the_effect_pairs_conditions_by_seed() -> None:
    measured = claim().measure()
    effect = measured.parts["over fast"]
    assert effect.values == pytest.approx([0.01] * 4)
    assert effect.highest == pytest.approx(9 - 2.49)
    assert measured.details["rates"] == {"slow": 0.01, "fast": 0.1}


def test_the_record_says_what_tuning_cost_and_whether_a_rate_is_at_an_end() -> None:
    tuned = claim().measure().details["tuning"]
    assert tuned["grid"] == list(GRID)
    assert tuned["trials of each condition"] == 5 * 4
    assert tuned["at an end of the grid"] == []
    assert claim(tuning=Tuning(lambda run: run, (0.01, 0.3), 4)).compare(seeds=3).at_edge == ["slow", "fast"]


def test_a_grid_is_widened_for_all_while_the_best_of_one_is_at_its_end() -> None:
    # "fast" is best at 0.09: from (0.001, 0.003, 0.01) the grid grows to 0.03333 and 0.1111, twice, for both.
    tuning = Tuning(lambda run: run, (0.001, 0.003, 0.01), 3)
    found = claim(tuning=tuning).compare(seeds=3)
    assert found.grid == pytest.approx([0.001, 0.003, 0.01, 0.03333, 0.1111], rel=1e-3)
    assert found.rates == pytest.approx({"slow": 0.01, "fast": 0.1111}, rel=1e-3)
    assert found.at_edge == ["fast"]  # twice is enough: it is said
    assert {name: len([key for key in found.tried if key[0] == name]) for name in found.outcomes} == {
        "slow": 5,
        "fast": 5,
    }


def test_runs_may_have_other_seeds_but_none_of_tuning() -> None:
    found = claim().compare(seeds=(7, 9, 11))
    assert found["fast"].each(lambda run: run).tolist() == pytest.approx([7.99, 9.99, 11.99])
    assert found.faster(2.0, most=2).seed_list == (7, 9)
    with pytest.raises(ValueError, match="seed 1000 is for tuning"):
        claim().compare(seeds=(7, 1000))


def test_a_premise_that_fails_says_so() -> None:
    premise = Premise("The baseline learns", ("a", "b"), lambda score: score > 0.5)
    assert premise.missing({"a": {"b": 0.6}}) == ""
    assert premise.missing({"a": {"b": 0.4}}) == "its premise does not hold here (The baseline learns)"
    assert Premise("none").missing({}) == ""


def test_one_condition_may_be_tuned_for_all() -> None:
    RAN.clear()
    found = claim(tuning=Tuning(lambda run: run, GRID, 1, "slow")).compare(seeds=3)
    assert found.rates == {"slow": 0.01, "fast": 0.01}
    assert {condition for condition, _, seed in RAN if seed >= 1000} == {"slow"}


def test_variants_are_tried_at_every_rate() -> None:
    bed = Line({"slow": 0.5, "fast": 0.09, "slower": 0.03})
    tuning = Tuning(lambda run: run, GRID, 1, variants={"slow": ("slow", "slower"), "fast": ("fast", "fast")})
    found = claim(testbed=bed, tuning=tuning).compare(seeds=3)
    assert (found["slow"].condition, found["slow"].rate) == ("slower", 0.03)
    assert len(found.tried) == 2 * 2 * 5


def test_without_tuning_there_is_no_rate() -> None:
    made = claim(tuning=None, testbed=Line({"slow": 0.0, "fast": 0.0}))
    assert np.isnan(list(made.compare(seeds=3).rates.values())).all()


def test_conditions_are_run_once_more_at_other_rates() -> None:
    found = claim().compare(seeds=4)
    faster = found.faster(2.0, most=3)
    assert (faster.seeds, faster.rates) == (3, {"slow": 0.02, "fast": 0.2})
    assert found.count(lambda run: run > 1.5) == {"slow": 3, "fast": 3}


def test_summaries_are_students() -> None:
    told = effects.summary({"a": [1.0, 2.0, 3.0], "b": [1.0, 1.0, 1.0]})
    assert told["a"]["high"] == pytest.approx(2 + 4.3027 / np.sqrt(3), abs=1e-4)
    assert np.isnan(told["b"]["low"])
    tasks = effects.interval([[0.0, 2.0], [1.0, 3.0], [2.0, 4.0]])  # means over tasks 1, 2 and 3
    assert (tasks.estimate, tasks.high) == pytest.approx((2.0, told["a"]["high"]))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"ours": "slwo"}, "unknown condition 'slwo'; did you mean 'slow'"),
        ({"baselines": ("fats",)}, "unknown condition 'fats'; did you mean 'fast'"),
        ({"baselines": ("slow",)}, "'slow' is compared with others than itself"),
        ({"baselines": ()}, "name baselines"),
        ({"tuning": Tuning(float, GRID, 1, "slwo")}, "unknown condition 'slwo'"),
        ({"tuning": Tuning(float, GRID, 1, variants={"slwo": ("slow", "slower")})}, "unknown condition 'slwo'"),
        ({"seeds": 2}, "an experiment takes 3 different seeds or more"),
        ({"seeds": (0, 1, 1, 2)}, "an experiment takes 3 different seeds or more"),
        ({"seeds": range(998, 1002)}, "seed 1000 is for tuning"),
    ],
)
def test_a_claim_that_could_not_be_measured_is_refused_before_its_first_run(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        claim(**changes)


def test_a_rate_at_which_tuning_scores_nan_is_not_chosen_even_if_it_was_tried_first() -> None:
    def score(run: float) -> float:
        return float("nan") if run < 1000.95 else run  # "fast" at 0.01, the first rate tried

    bed = Line({"slow": 0.01, "fast": 0.1})
    found = claim(testbed=bed, tuning=Tuning(score, (0.01, 0.1, 1.0), 1), conditions={"slow": "slow", "fast": "fast"})
    assert found.compare(seeds=3).rates == {"slow": 0.01, "fast": 0.1}
    with pytest.raises(ValueError, match="condition 'slow' scored NaN at every learning rate"):
        claim(tuning=Tuning(lambda run: float("nan"), GRID, 1)).compare(seeds=3)
