from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.benchmarks.claims import s3rl
from tiltyard.benchmarks.claims.claim import Found, Outcome
from tiltyard.benchmarks.testbeds import snapshot_starts
from tiltyard.benchmarks.testbeds.control import Trained, evenly
from tiltyard.wrappers import S3RL


def test_conditions_differ_in_their_wrapper_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    found = snapshot_starts.snapshots(1)
    monkeypatch.setattr(snapshot_starts, "snapshots", lambda: found)
    wraps = {name: condition.wrap for name, condition in s3rl.CLAIM.conditions.items()}
    envs = {name: wrap(gymnasium.make(snapshot_starts.TASK)) for name, wrap in wraps.items() if wrap}
    assert not isinstance(envs.pop("alone"), S3RL)
    made = {name: (env.truncate_steps, len(env.clusters)) for name, env in envs.items() if isinstance(env, S3RL)}
    assert made == {"S3RL": (100, 6), "no truncation": (None, 6), "random states": (100, 1)}
    assert all(env.get_wrapper_attr("snapshot_steps") == snapshot_starts.STEPS / 10 for env in envs.values())
    assert all(not condition.settings for condition in s3rl.CLAIM.conditions.values())


def test_the_effect_is_the_area_gained_by_hand() -> None:
    curves = {"alone": [0.0, 0.2], "S3RL": [0.3, 0.5], "no truncation": [0.1, 0.1], "random states": [0.2, 0.2]}
    outcomes: Any = {
        name: Outcome(None, 0.0, [Trained([score + 0.1 * seed for score in curve]) for seed in range(3)])
        for name, curve in curves.items()
    }
    (effect,) = s3rl.CLAIM.parts(Found(s3rl.CLAIM, s3rl.CLAIM.testbed, outcomes, {})).values()
    assert effect.sample.mean == pytest.approx(0.4 - 0.1)
    assert np.isnan(effect.sample.interval().low)  # the same in every seed: no interval of no width
    assert effect.highest == pytest.approx(1 - 0.2)


def test_phases_are_even() -> None:
    amounts = [phase.amount for phase in evenly(10, 4)]
    assert np.cumsum(amounts).tolist() == [2, 5, 7, 10]
