"""Each measure is compared with its own baselines, and the true space may cover a little more."""

from dataclasses import dataclass

import numpy as np
import pytest

from tiltyard.benchmarks.claims.stax import ALONE, CLAIM, RANDOM, STAX, TRUE, details, parts
from tiltyard.benchmarks.testbeds.sparse_exits import ExitSearch, Form, Searched

COVERAGE = {STAX: 0.7, TRUE: 0.8, RANDOM: 0.4, ALONE: 0.75}
EXITS = {STAX: 0.9, TRUE: 0.9, RANDOM: 0.5, ALONE: 0.9}
BEST = {STAX: 0.8, TRUE: 0.7, RANDOM: 0.3, ALONE: 0.75}


@dataclass(frozen=True, kw_only=True)
class Invented(ExitSearch):
    """Known measures with a little noise; a limit of 1 and a deviation of 0.3 are better."""

    def run(self, condition: Form, rate: float, seed: int) -> Searched:
        name = next(name for name, form in CLAIM.conditions.items() if same(form, condition))
        worse = 0.05 * abs(np.log10(rate / 0.3)) + 0.05 * (condition.limit != 1.0)
        noise = 0.001 * np.random.default_rng(seed).random()
        of = [values[name] - worse + noise for values in (COVERAGE, EXITS, BEST)]
        return Searched(of[0], of[1], 0.9 - worse, of[2], 0.5 * condition.emitters, 4000)


def same(one: Form, other: Form) -> bool:
    return (one.random, one.true, one.emitters) == (other.random, other.true, other.emitters)


def test_measures_are_compared_and_forms_chosen() -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented())
    each = parts(found)
    means = {name: part.sample.mean for name, part in each.items()}
    assert means == {
        f"coverage over {RANDOM}": pytest.approx(0.3),
        f"coverage over {TRUE}": pytest.approx(-0.1),
        f"exits over {RANDOM}": pytest.approx(0.4),
        f"best reward of each exit over {TRUE}": pytest.approx(0.1),
        f"best reward of each exit over {ALONE}": pytest.approx(0.05),
    }
    assert [part.wanted for part in each.values()] == ["above", "no less", "above", "above", "above"]
    assert [part.decides for part in each.values()] == [True] * 4 + [False]
    told = details(found)
    assert set(told["chosen limits of weights"].values()) == {1.0}
    assert set(found.rates.values()) == {0.3}
    assert told["share of evaluations by emitters"] == 0.5
    assert CLAIM.premise.missing(told) == ""
    told["coverage"][RANDOM]["estimate"] = 0.7
    assert "random search covers less" in CLAIM.premise.missing(told)
