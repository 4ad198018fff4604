from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims.protected import CLAIM, LOSS, MEAN, NONE, SCORES, WORST
from tiltyard.benchmarks.testbeds.cliff_edge import ATTACKS, EPSILON, FALLEN, Cliff, CliffEdge, Defended


class Keep:
    """Goes to where it sees a place, and stays there."""

    def __init__(self, place: float) -> None:
        self.place = place

    def predict(self, seen: Any, deterministic: bool = True) -> tuple[Any, None]:
        return np.clip((self.place - seen) / 0.2, -1, 1), None


def test_a_fall_ends_what_is_paid() -> None:
    env = Cliff(1, steps=8)
    env.reset(seed=0)
    paid = [float(env.step(np.ones((1, 1)))[1][0]) for _ in range(8)]
    fell = next(step for step, one in enumerate(paid) if one == 0)
    assert 2 < fell < 7
    assert paid[fell:] == [0.0] * (8 - fell)
    assert env.place[0] < 0.3  # begins anew
    env.place[:] = 1.5
    assert env.step(np.zeros((1, 1)))[0][0, 0] == FALLEN


@pytest.mark.parametrize(
    ("place", "attack", "safe"), [(0.85, "none", True), (0.85, "full", False), (0.5, "full", True)]
)
def test_how_near_is_safe_depends_on_the_attack(place: float, attack: str, safe: bool) -> None:
    found = CliffEdge().play(Keep(place), ATTACKS[attack], 0)
    assert (found.mean() > 0.6) == safe


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_stay_within_epsilon(name: str) -> None:
    seen = np.linspace(0, 1, 100)[:, None]
    moved = ATTACKS[name](seen, np.random.default_rng(0)) - seen
    assert np.abs(moved).max() <= EPSILON + 1e-9


def test_scores_by_hand_and_the_premise() -> None:
    run = Defended({"none": 0.8, "full": 0.2}, {})
    assert [SCORES[name](run) for name in (NONE, WORST, MEAN)] == [0.8, 0.2, 0.5]
    assert not CLAIM.premise.missing({LOSS: 0.3})
    assert "its premise does not hold here" in CLAIM.premise.missing({LOSS: 0.05})
