"""Every rule that prints a verdict has the error rate that it states, and finds what it says it can find."""

import json
from pathlib import Path

import numpy as np
import pytest

from tiltyard.benchmarks.permutation import permutation_p
from tiltyard.benchmarks.studies import verdict_rules as rules
from tiltyard.benchmarks.verdicts import ALPHA, Part, Sample, judge, noncentrality

REPEATS = 20_000
LOW, HIGH = 0.5, 1.2
"""Of the nominal error rate."""
HEAVY = {"lognormal": 0.35}
"""Heavy tails make Student's t conservative: of the lower limit there."""
SLACK = 3.0
"""Standard errors of the simulation."""

each = pytest.mark.parametrize(("shape", "runs"), [(shape, runs) for shape in rules.DRAWS for runs in rules.RUNS])


def rng(runs: int) -> np.random.Generator:
    return np.random.default_rng([7, runs])


def check(rate: float, nominal: float, low: float = LOW, repeats: int = REPEATS) -> None:
    """Fails where a simulated rate is outside its limits by more than the simulation's own noise."""
    noise = SLACK * np.sqrt(nominal * (1 - nominal) / repeats)
    assert low * nominal - noise <= rate <= HIGH * nominal + noise


@each
def test_a_claim_of_one_part_is_wrong_as_often_as_stated(shape: str, runs: int) -> None:
    a, b = rules.alike(shape, REPEATS, runs, rng(runs))
    for rate in rules.claimed(a - b):
        check(rate, ALPHA / 2, HEAVY.get(shape, LOW))


@each
def test_a_claim_of_many_parts_is_contradicted_no_more_often(shape: str, runs: int) -> None:
    draw, few = rules.DRAWS[shape], REPEATS // 8
    parts = draw(rng(runs), (few, rules.PARTS, runs)) - draw(rng(runs + 1), (few, rules.PARTS, runs))
    shared = parts + 2 * (draw(rng(2), (few, 1, runs)) - draw(rng(3), (few, 1, runs)))  # parts that move together
    for differences in (parts, shared):
        check(rules.in_parts(differences)[1], ALPHA / 2, low=0.0, repeats=few)


@each
def test_an_effect_at_the_margin_is_seldom_called_none(shape: str, runs: int) -> None:
    a, b = rules.alike(shape, REPEATS, runs, rng(runs))
    for margin in (0.5, 2.0):
        check(rules.equivalent(a - b + margin, margin), ALPHA, low=0.0)


@each
def test_tasks_of_races_are_called_different_as_often_as_stated(shape: str, runs: int) -> None:
    few = REPEATS // 8
    rate = rules.raced(*rules.alike(shape, few, runs, rng(runs)), rng(0))
    if runs < 4:
        assert rate == 0
    else:  # exact tests are conservative where divisions are few: the limits are of what can be attained
        check(rate, rules.attainable(runs), repeats=few)


@pytest.mark.parametrize("runs", rules.RUNS)
def test_an_effect_of_the_detectable_size_is_found_four_times_in_five(runs: int) -> None:
    away = noncentrality(runs - 1) / np.sqrt(runs)  # in deviations of the differences
    values = rng(runs).normal(size=(REPEATS, runs)) + away
    found, _ = rules.claimed(values)
    assert found == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("shape", list(rules.DRAWS))
def test_the_simulated_rules_are_those_that_print_verdicts(shape: str) -> None:
    a, b = rules.alike(shape, 60, 5, rng(5), 1.0)
    differences = (a - b).reshape(20, 3, 5)
    for one in differences:
        found = judge({str(i): Part(Sample.of(values)) for i, values in enumerate(one)}).values()
        supported, contradicted = rules.in_parts(one[None])
        assert supported == any(part.judgement == "supported" for part in found)
        assert contradicted == any(part.judgement == "contradicted" for part in found)
    for x, y in zip(a[:20], b[:20], strict=True):
        assert rules.raced(x[None], y[None], rng(0)) == (permutation_p(x, y) <= ALPHA)
        one = judge({"": Part(Sample.of(x - y), margin=0.8)})[""]
        assert rules.equivalent((x - y)[None], 0.8) == (one.judgement == "equivalent")
        less = judge({"": Part(Sample.of(x - y - 9.0), margin=9.0, wanted="no less")})[""].judgement
        assert rules.claimed((x - y)[None]) == (less == "supported", less == "contradicted")


def test_the_rules_before_were_wrong_more_often() -> None:
    a, b = rules.alike("normal", 1000, 5, rng(5))
    assert rules.claimed_before(a - b, rng(0), 500)[0] > 1.8 * ALPHA / 2
    assert rules.raced_before(a[:400], b[:400], rng(0), 200) > 1.2 * ALPHA
    parts = rng(5).normal(size=(300, rules.PARTS, 12))
    assert rules.least_before(parts, rng(0), 400) > 0.15


def test_a_row_of_the_page() -> None:
    rates = rules.simulated("normal", 3, 400, rng(0))
    row = rules.cells(rates)
    assert row[:2] == ["normal", "3"]
    assert row[3] == "0.0%"
    assert len(row) == 12
    assert rules.simulated("normal", 5, 400, rng(0))["task_attainable"] == 12 / 252


def test_the_page_is_what_its_numbers_say() -> None:
    folder = Path(__file__).parents[3] / "docs" / "results" / "verdict-rules"
    found = json.loads((folder / "results.json").read_text())
    assert (folder / "README.md").read_text(encoding="utf-8") == rules.page(found)
