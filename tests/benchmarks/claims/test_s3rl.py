from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.benchmarks.claims import s3rl
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.testbeds import snapshot_starts
from tiltyard.benchmarks.testbeds.control import Trained, evenly
from tiltyard.benchmarks.testbeds.hanging_pendulum import (
    HangingPendulum,
    HangingPendulums,
    SwungUp,
    limited,
    references,
)
from tiltyard.benchmarks.testbeds.pendulum import swing_up
from tiltyard.wrappers import S3RL


def test_conditions_differ_in_their_wrapper_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = snapshot_starts.snapshots(1)
    monkeypatch.setattr(snapshot_starts, "snapshots", lambda: found)
    wraps = {name: condition.wrap for name, condition in s3rl.CLAIM.conditions.items()}
    assert wraps.pop("alone") is None
    envs = {name: wrap(limited()) for name, wrap in wraps.items() if wrap}
    made = {name: (env.truncate_steps, len(env.clusters)) for name, env in envs.items() if isinstance(env, S3RL)}
    assert made == {"S3RL": (20, 6), "no truncation": (None, 6), "random states": (20, 1)}
    assert all(env.get_wrapper_attr("snapshot_steps") == snapshot_starts.STEPS / 10 for env in envs.values())
    assert all(not condition.settings for condition in s3rl.CLAIM.conditions.values())


def test_the_pendulum_is_gymnasiums_but_hangs_at_first() -> None:
    ours, theirs = HangingPendulum(), gymnasium.make("Pendulum-v1").unwrapped
    seen, _ = ours.reset(seed=5)
    assert np.arctan2(seen[1], seen[0]) % (2 * np.pi) == pytest.approx(np.pi, abs=0.1)
    theirs.reset(seed=0)
    theirs.state = np.array([ours.batched.angle[0], ours.batched.speed[0]])  # type: ignore[attr-defined]
    for torque in (1.0, -2.0, 0.5) * 20:
        action = np.array([torque], np.float32)
        found, reward, *_ = ours.step(action)
        expected, paid, *_ = theirs.step(action)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert reward == pytest.approx(paid, abs=1e-3)


def test_a_step_of_the_pendulum_by_hand() -> None:
    env = HangingPendulums(1)
    env.angle[:], env.speed[:] = np.pi / 2, 2.0
    reward, _ = env.advance(env.check(np.array([[1.0]], np.float32)), np.ones(1, np.bool_))
    assert reward == pytest.approx([-(np.pi**2 / 4 + 0.4 + 0.001)])
    assert env.speed == pytest.approx([2.9])  # 2 + 0.05 (15 sin(pi / 2) + 3)
    assert env.angle == pytest.approx([np.pi / 2 + 0.145])


def test_scores_are_between_those_of_random_torques_and_the_swing_up() -> None:
    random, expert = references(20, 200)
    assert random < -1500 < expert < 0 > -500

    class Teacher:
        """The swing-up."""

        def predict(self, seen: Any, deterministic: bool) -> Any:
            return swing_up(seen), None

    assert SwungUp()(Teacher(), 0) == pytest.approx(1.0)
    stages = snapshot_starts.snapshots(2).states
    angles = [np.cos(state["angle"]) for state in stages]
    assert len(stages) == 40
    assert min(angles) < -0.99
    assert max(angles) > 0.99  # where a beginner never is


def test_the_effect_is_the_area_gained_by_hand() -> None:
    curves = {"alone": [0.0, 0.2], "S3RL": [0.3, 0.5], "no truncation": [0.1, 0.1], "random states": [0.2, 0.2]}
    outcomes: Any = {
        name: Outcome(None, 0.0, [Trained([score + 0.1 * seed for score in curve]) for seed in range(3)])
        for name, curve in curves.items()
    }
    (effect,) = s3rl.CLAIM.parts(Found(s3rl.CLAIM, s3rl.CLAIM.testbed, outcomes, {})).values()
    assert effect.sample.mean == pytest.approx(0.4 - 0.1)
    assert np.isnan(effect.sample.interval().low)  # the same in every seed: no interval of no width
    assert effect.highest == np.inf  # SAC may do better than the scripted swing-up


def test_the_premise_is_that_sac_alone_learns() -> None:
    def curves(end: float) -> dict[str, dict[str, list[float]]]:
        return {"mean curve": {"alone": [0.1, 0.5, end]}}

    assert s3rl.CLAIM.premise.missing(curves(0.19))
    assert not s3rl.CLAIM.premise.missing(curves(0.21))


def test_phases_are_even() -> None:
    amounts = [phase.amount for phase in evenly(10, 4)]
    assert np.cumsum(amounts).tolist() == [2, 5, 7, 10]
