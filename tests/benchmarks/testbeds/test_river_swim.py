import numpy as np
import pytest

from tiltyard.benchmarks.testbeds.river_swim import FAR, NEAR, River, RiverSwim, Upstream, mean_return


class Still:
    def predict(self, observation: object, deterministic: bool = True) -> tuple[object, None]:
        return np.zeros(1, np.float32), None


def test_banks_pay_and_the_current_carries_off() -> None:
    river = River(current=0.0, steps=3)
    river.reset(seed=0)
    river.place = 0.88
    seen, reward, terminated, truncated, _ = river.step(np.ones(1))
    assert (reward, terminated, truncated) == (FAR, False, False)
    assert 0.95 < seen[0] < 0.985
    river.place = 0.5
    assert river.step(np.zeros(1))[1] == 0
    river.place = 0.1
    assert river.step(-np.ones(1))[1:4] == (NEAR, False, True)
    carried = River(current=0.5)
    carried.reset(seed=0)
    carried.place = 0.4
    assert carried.step(np.ones(1))[0][0] < 0.1


def test_the_best_policy_scores_one_and_staying_next_to_nothing() -> None:
    bed = RiverSwim()
    assert bed.score(Upstream(), 0) == 1.0
    assert mean_return(Upstream(), 5, 40) > 20
    assert mean_return(Still(), 5, 40) == pytest.approx(40 * NEAR, rel=0.2)
    assert bed.score(Still(), 0) < 0.01
