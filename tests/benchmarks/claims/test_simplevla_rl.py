"""Each knob is judged against plain GRPO, all of them against the cloned policy."""

from dataclasses import dataclass

import numpy as np
import pytest

from tiltyard.benchmarks.claims.simplevla_rl import ACTS, CLAIM, details, parts
from tiltyard.benchmarks.testbeds.token_actions import Knobs, TokenDemonstrations, TokenRun


@dataclass(frozen=True, kw_only=True)
class Invented(TokenDemonstrations):
    """From 0.2 straight to 0.5, and 0.1 further with each knob; dynamic sampling takes twice the steps."""

    def run(self, condition: Knobs, rate: float, seed: int) -> TokenRun:  # type: ignore[override]
        knobs = condition.dynamic_sampling + (condition.clip_high > 0.2) + (condition.temperature > 1)
        end = 0.5 + 0.1 * knobs - 0.1 * abs(np.log10(rate / 0.01))
        end += 0.001 * np.random.default_rng([seed, knobs]).random()
        courses = np.array([0.2, end, end])
        steps = np.array([0.0, 100.0, 200.0]) * (1 + condition.dynamic_sampling)
        return TokenRun(courses, steps, np.full(2, 0.7), np.full(2, 0.02), np.ones(2))


def test_parts_are_gains_and_leads() -> None:
    found = CLAIM.compare(seeds=4, testbed=Invented(moments=2))
    each = parts(found)
    assert each["SimpleVLA-RL over the cloned policy"].sample.mean == pytest.approx(0.6, abs=0.002)
    assert each["SimpleVLA-RL over the cloned policy"].highest == pytest.approx(0.8)
    for name in ("dynamic sampling", "clip 1.28", "temperature 1.6"):
        knob = each[f"with {name} over plain GRPO"]
        assert knob.sample.mean == pytest.approx(0.1, abs=0.002)
        assert knob.highest == pytest.approx(0.5, abs=0.002)
        assert knob.decides
    assert not each["SimpleVLA-RL over plain GRPO"].decides
    assert each["SimpleVLA-RL over plain GRPO"].sample.mean == pytest.approx(0.3, abs=0.002)
    equal = each["with dynamic sampling over plain GRPO, at equal environment steps"]
    # plain: (0.35 + 0.5) / 2 over 200 steps; twice as slow: 0.4, half way to 0.6
    assert equal.sample.mean == pytest.approx(0.4 - 0.425, abs=0.005)
    assert not equal.decides
    told = details(found)
    assert told[ACTS] == pytest.approx([0.2, 0.02, 0.7])
    assert set(found.rates.values()) == {0.01}


def test_the_premise_asks_for_each_knob_to_act() -> None:
    assert not CLAIM.premise.missing({ACTS: [0.3, 0.02, 0.7]})
    for shown in ([0.05, 0.02, 0.7], [0.7, 0.02, 0.7], [0.3, 0.001, 0.7], [0.3, 0.02, 0.99]):
        assert CLAIM.premise.missing({ACTS: shown})
