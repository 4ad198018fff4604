"""Time is compared by seed, and who never gets there gains nothing by it."""

from dataclasses import dataclass

import numpy as np
import pytest

from tiltyard.benchmarks.claims.t_ppo import ACTS, CLAIM, OURS, details, parts, times
from tiltyard.benchmarks.testbeds.long_tails import Learner, LongTails, TailRun

TIME = "generation steps to 70% success, PPO's over T-PPO's"
EQUAL = "success after equal time, T-PPO's minus PPO's"
PER_COMPLETION = "success after as many completions, T-PPO's minus PPO's"


@dataclass(frozen=True, kw_only=True)
class Invented(LongTails):
    """From 0.4 to 0.8 in 400 steps and then no further; windows in 200, but for seed 2, where they end at 0.6."""

    def run(self, condition: Learner, rate: float, seed: int) -> TailRun:  # type: ignore[override]
        windows = condition.window is not None
        end = 0.6 if windows and seed == 2 else 0.8
        end += 0.001 * (seed % 7) * condition.plain - 0.1 * abs(np.log10(rate / 5e-4))
        steps = np.array([0.0, 20, 200, 400]) if windows else np.array([0.0, 80, 400, 440])
        success = np.array([0.4, 0.4, end, end])
        return TailRun(steps, success, 4 * steps, steps * (1 + windows), 5 if windows else 32, 400)


def test_time_and_success_are_compared_by_seed() -> None:
    found = CLAIM.compare(seeds=3, testbed=Invented())
    assert set(found.rates.values()) == {5e-4}
    each = parts(found)
    assert times(found, OURS).tolist() == pytest.approx([155, 155, 400])  # 20 + 3/4 of 180; never: the budget
    ppo = [320.0, 80 + 320 * 0.3 / 0.401, 80 + 320 * 0.3 / 0.402]  # it ends at 0.8, 0.801 and 0.802
    assert np.exp(each[TIME].values).tolist() == pytest.approx([ppo[0] / 155, ppo[1] / 155, ppo[2] / 400])
    assert each[TIME].highest == pytest.approx(np.log(np.array(ppo) / 20).mean())
    assert each[EQUAL].values == pytest.approx((0.0, -0.001, -0.202))
    assert each[EQUAL].highest == pytest.approx(0.199)
    # 440 completions are 220 steps of windows
    assert each[PER_COMPLETION].values == pytest.approx((0.0, -0.001, -0.202))
    assert each[TIME].log
    assert each[TIME].decides
    assert each[EQUAL].wanted == "no less"
    assert not each[PER_COMPLETION].decides
    told = details(found)
    assert told[ACTS] == pytest.approx([0.875, 0.2, 0.4, 0.801])
    assert told["runs with 70% success"] == {"PPO": 3, "T-PPO": 2}


def test_the_premise_asks_for_idle_slots_and_for_ppo_to_learn() -> None:
    assert not CLAIM.premise.missing({ACTS: [0.7, 0.3, 0.4, 0.8]})
    for shown in ([0.4, 0.1, 0.4, 0.8], [0.7, 0.6, 0.4, 0.8], [0.7, 0.3, 0.65, 0.8], [0.7, 0.3, 0.4, 0.65]):
        assert CLAIM.premise.missing({ACTS: shown})
