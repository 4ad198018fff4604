"""Each task is a part, of the agents that were tuned in it; a form that does better is chosen."""

from dataclasses import dataclass

import numpy as np
import pytest

from tiltyard.benchmarks.claims.gbrl import CATEGORIES, CLAIM, LEAST, NUMBERS, details, parts
from tiltyard.benchmarks.statistics import Floats
from tiltyard.benchmarks.testbeds.key_room import KeyRooms, Learner


@dataclass(frozen=True, kw_only=True)
class Invented(KeyRooms):
    """Trees are better by 0.2 on categories and worse by 0.1 on numbers; ten epochs and a rate of 0.03 are better."""

    def run(self, condition: Learner, rate: float, seed: int) -> Floats:
        lead = (0.2 if condition.task == CATEGORIES else -0.1) if condition.agent == "gbrl" else 0.0
        form = 0.05 * (condition.epochs == 10)
        score = 0.5 + lead + form - 0.1 * abs(np.log10(rate / 0.03)) + 0.001 * np.random.default_rng(seed).random()
        return np.array([score - 0.1, score + 0.1])


def test_parts_are_of_both_tasks_and_better_forms_are_chosen() -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented())
    each = parts(found)
    assert each["over the network, categories"].sample.mean == pytest.approx(0.2, abs=0.002)
    assert each["over the network, numbers"].sample.mean == pytest.approx(-0.1, abs=0.002)
    assert each["over the network, numbers"].wanted == "no less"
    told = details(found)
    assert told["chosen forms"][f"trees, {NUMBERS}"] == {"n_epochs": 10, "value_share": 0.5}
    assert told["chosen forms"][f"network, {CATEGORIES}"] == {"n_epochs": 10}
    assert told[LEAST] == pytest.approx(0.65, abs=0.01)
    assert set(found.rates.values()) == {0.03}
