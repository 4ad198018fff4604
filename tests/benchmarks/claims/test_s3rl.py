from typing import Any

import gymnasium
import numpy as np
import pytest

from tiltyard.benchmarks.claims import s3rl
from tiltyard.wrappers import S3RL, teacher_snapshots


def test_students_differ_in_their_wrapper_alone() -> None:
    snapshots = teacher_snapshots(gymnasium.make(s3rl.TASK, max_episode_steps=100), episodes=1)
    envs = {name: wrap(gymnasium.make(s3rl.TASK), snapshots) for name, wrap in s3rl.STUDENTS.items()}
    assert not isinstance(envs.pop("alone"), S3RL)
    made = {name: (env.truncate_steps, len(env.clusters)) for name, env in envs.items() if isinstance(env, S3RL)}
    assert made == {"S3RL": (100, 6), "no truncation": (None, 6), "random states": (100, 1)}
    assert all(env.get_wrapper_attr("snapshot_steps") == s3rl.STEPS / 10 for env in envs.values())


def test_the_effect_is_the_area_gained_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = {"alone": [0.0, 0.2], "S3RL": [0.3, 0.5], "no truncation": [0.1, 0.1], "random states": [0.2, 0.2]}

    def pretended(student: str, snapshots: Any, seed: int) -> list[float]:
        return [score + 0.1 * seed for score in curves[student]]

    monkeypatch.setattr(s3rl, "curve", pretended)
    monkeypatch.setattr(s3rl, "TEACHER_EPISODES", 1)
    found = s3rl.measure(seeds=3)
    assert found.effect.estimate == pytest.approx(0.4 - 0.1)  # the same in every seed: no width
    assert found.effect.low == pytest.approx(found.effect.high)
    assert found.details["S3RL minus"]["no truncation"]["estimate"] == pytest.approx(0.3)
    assert found.details["area under the curve"]["alone"]["estimate"] == pytest.approx(0.1 + 0.1)


def test_the_experiment_runs_and_evaluates_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"TASK": "tiltyard/Hopper-v5", "STEPS": 40, "MOMENTS": 2, "EPISODES": 2, "TEACHER_EPISODES": 1}
    for name, value in settings.items():  # where beginners fall soon
        monkeypatch.setattr(s3rl, name, value)
    monkeypatch.setattr(s3rl, "SETTINGS", {**s3rl.SETTINGS, "learning_starts": 10, "batch_size": 8})
    judged = []

    def evaluate(agent: Any, task: str, **kwargs: Any) -> Any:
        judged.append(task)  # an id: the bare environment, made anew
        return plain(agent, task, **kwargs)

    plain = s3rl.evaluate
    monkeypatch.setattr(s3rl, "evaluate", evaluate)
    found = s3rl.measure(seeds=3)
    assert np.isfinite([found.effect.low, found.effect.estimate, found.effect.high]).all()
    assert judged == [s3rl.TASK] * (4 * 3 * 2)
