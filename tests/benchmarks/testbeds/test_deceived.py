"""The mass that is deceived, what attackers add to its observations, and what is told of it."""

from typing import Any

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.claims.rat import CLAIM, EQUAL, NOISE, OURS, RETURN, SHOWN
from tiltyard.benchmarks.testbeds.deceived import (
    AWAY,
    SHARED,
    STEPS,
    Deceived,
    Deceiving,
    Hovering,
    followed,
    held_at,
    moved,
    target,
)

BED = CLAIM.testbed.smallest()


class Steady:
    """A victim that thrusts against its position and velocity."""

    def predict(self, seen: Any, deterministic: bool = True) -> tuple[Any, None]:
        return np.clip(-(4 * seen[..., :2] + 8 * seen[..., 2:]), -1, 1), None


def test_a_step_by_hand() -> None:
    state = np.array([0.3, -0.2, 0.1, 0.0])
    assert moved(state, [1.0, -2.0]).tolist() == pytest.approx([0.3 + 0.15, -0.2 - 0.08, 0.15, -0.08])
    env = Hovering((0.25, 0.0))
    env.reset(seed=0)
    env.state = state
    _, reward, ended, cut, info = env.step(np.array([1.0, -1.0], np.float32))
    assert reward == pytest.approx(-np.hypot(0.45, 0.28))
    assert info["target_score"] == pytest.approx(-np.hypot(0.2, 0.28))
    assert (ended, cut) == (False, False)


def test_episodes_end_after_their_steps_and_it_is_an_environment_of_gymnasium() -> None:
    check_env(Hovering(), skip_render_check=True)
    env = Hovering()
    env.reset(seed=1)
    cuts = [env.step(np.zeros(2, np.float32))[3] for _ in range(STEPS)]
    assert cuts == [False] * (STEPS - 1) + [True]


def test_the_attack_on_the_return_moves_what_is_seen_by_epsilon_and_is_paid_the_distance() -> None:
    env, plain = Deceiving(Steady(), 0.1), Hovering()
    for one in (env, plain):
        one.reset(seed=2)
    action = np.array([1, -1, 5, 0], np.float32)  # beyond 1 counts as 1
    shown = plain.state + 0.1 * np.array([1, -1, 1, 0])
    seen, reward, *_ = env.step(action)
    there, loss, *_ = plain.step(Steady().predict(shown.astype(np.float32))[0])
    assert seen == pytest.approx(there)
    assert reward == pytest.approx(-loss)


def test_a_constant_deception_holds_a_steady_victim_off_by_as_much() -> None:
    off = np.array([0.1, 0.0, 0.0, 0.0])
    places = followed(Steady(), lambda seen: np.broadcast_to(-off, seen.shape), 8)
    assert places.shape == (STEPS // 2, 8, 2)
    assert places[-1].mean(axis=0) == pytest.approx([0.1, 0.0], abs=0.01)
    assert np.abs(followed(Steady(), np.zeros_like, 8)[-1]).max() < 0.02


def test_how_near_a_victim_is_held_by_hand() -> None:
    wanted = np.array([0.0, 0.25])
    for place, held in (([0.0, 0.25], 1.0), ([0.0, 0.0], 0.0), ([0.0, -0.25], -1.0), ([0.1, 0.25], 0.6)):
        assert held_at(np.array([[place, place]]), wanted) == pytest.approx(held)


def test_targets_are_a_quarter_away_in_directions_of_their_seeds() -> None:
    found = np.array([target(seed) for seed in range(40)])
    assert np.linalg.norm(found, axis=1) == pytest.approx(AWAY)
    assert np.abs(found.mean(axis=0)).max() < 0.1
    assert target(3).tolist() == target(3).tolist()


@pytest.mark.parametrize("name", [OURS, EQUAL, RETURN, NOISE])
def test_attacks_stay_within_epsilon_and_are_of_their_seed(name: str) -> None:
    condition = CLAIM.conditions[name]
    first, again, other = (BED.run(condition, 1e-3, seed) for seed in (0, 0, 1))
    assert first == again
    assert first.held != other.held
    assert first.sought == (first.distance if name == RETURN else first.held) == CLAIM.tuning.score(first)
    attack = BED.attack(condition, Steady(), 1e-3, 0) if name == NOISE else None
    if attack is not None:
        moves = np.asarray(attack(np.zeros((500, 4))))
        assert 0.09 < np.abs(moves).max() <= BED.epsilon


def test_parts_by_hand() -> None:
    def outcome(name: str, value: float) -> Outcome:
        return Outcome(
            CLAIM.conditions[name], 1e-3, [Deceived(value + seed / 100, 0.2, 0.01, value) for seed in range(4)]
        )

    values = {OURS: 0.8, EQUAL: 0.7, RETURN: -0.5, NOISE: 0.0}
    found = Found(CLAIM, CLAIM.testbed, {name: outcome(name, value) for name, value in values.items()}, {}, range(4))
    assert {name: part.sample.mean for name, part in CLAIM.parts(found).items()} == pytest.approx(
        {f"over {EQUAL}": 0.1, f"over {RETURN}": 1.3, f"over {NOISE}": 0.8}
    )


def test_the_premise_needs_a_victim_that_hovers_and_can_be_moved() -> None:
    assert not CLAIM.premise.missing({SHOWN: [0.01, 0.2]})
    assert CLAIM.premise.missing({SHOWN: [0.1, 0.2]})
    assert CLAIM.premise.missing({SHOWN: [0.01, 0.1]})


def test_all_conditions_have_the_same_settings_but_for_their_own() -> None:
    assert dict(CLAIM.testbed.settings) == SHARED
    assert {name: dict(one.settings) for name, one in CLAIM.conditions.items() if one.settings} == {
        EQUAL: {"weighting": False}
    }
