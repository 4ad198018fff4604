"""Each game is a part, and so is speed, against the five times that the paper states."""

from dataclasses import dataclass

import numpy as np
import pytest

from tiltyard.benchmarks.claims.s5_rl import CLAIM, LEAST, details, parts
from tiltyard.benchmarks.testbeds.cards import CardGames, Course, Learner


@dataclass(frozen=True, kw_only=True)
class Invented(CardGames):
    """S5 is better by 0.3 with the first card and by 0.1 with the one before; it takes a quarter of the time."""

    def run(self, condition: Learner, rate: float, seed: int) -> Course:
        ours = condition.agent == "s5-rl"
        lead = (0.3 if condition.task == "first" else 0.1) * ours
        score = 0.2 + lead - 0.1 * abs(np.log10(rate / 0.003)) + 0.001 * np.random.default_rng(seed).random()
        return Course(np.array([score - 0.1, score + 0.1]), np.array([1.0, 0.25 if ours else 1.0]))


def test_parts_are_of_both_games_and_of_speed() -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented())
    each = parts(found)
    assert each["over the LSTM, first card"].sample.mean == pytest.approx(0.3, abs=0.002)
    assert each["over the LSTM, previous card"].sample.mean == pytest.approx(0.1, abs=0.002)
    assert each["over the LSTM, first card"].highest == pytest.approx(0.8, abs=0.002)
    speed = each["times as fast, over five"]
    assert np.exp(speed.sample.mean) == pytest.approx(4.0)
    assert np.exp(speed.threshold) == pytest.approx(5.0)
    told = details(found)
    assert told[LEAST] == pytest.approx(0.3, abs=0.01)
    assert told["seconds of a gradient, medians"]["S5, first"] == [1.0, 0.25]
    assert set(found.rates.values()) == {0.003}
