"""Faults are drawn from their seed, as often as they are asked for."""

import pytest

from tiltyard.envs.gui.android.faults import KINDS, Faults


def test_the_same_seed_draws_the_same_faults_at_their_rates() -> None:
    chances = {"drop": 0.1, "delay": 0.2, "garbage": 0.05, "half": 0.05, "gone": 0.1}
    one, two, other = Faults(**chances, seed=1), Faults(**chances, seed=1), Faults(**chances, seed=2)
    drawn = [one.draw() for _ in range(4000)]
    assert drawn == [two.draw() for _ in range(4000)] != [other.draw() for _ in range(4000)]
    for kind, chance in chances.items():
        assert abs(one.counts[kind] / 4000 - chance) < 5 * (chance * (1 - chance) / 4000) ** 0.5
        assert one.counts[kind] == drawn.count(kind)
    assert set(drawn) == {"", *KINDS}
    assert 0 <= one.lateness() <= one.delay_s
    assert len(one.noise(3)) == 24


def test_without_chances_nothing_happens() -> None:
    faults = Faults()
    assert {faults.draw() for _ in range(500)} == {""}


@pytest.mark.parametrize("bad", [{"drop": -0.1}, {"drop": 1.1}, {"drop": 0.6, "gone": 0.6}, {"half": float("nan")}])
def test_chances_that_are_none_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="chances of faults are from 0 to 1"):
        Faults(**bad)
