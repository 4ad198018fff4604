"""Finished runs as the race leaves them, made up but of real shape."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.runs import FinishedRun, Run
from tiltyard.envs.catalogue import find

VERSIONS = {"tiltyard": "0.1.0", "python": "3.11.7", "torch": "2.13.0", "mujoco": "3.11.0", "numba": "0.68.0"}
MakeRun = Callable[..., FinishedRun]


def make_run(
    env_id: str, agent: str, seed: int, level: float, *, budget: int = 20_000, points: int = 6, **changes: Any
) -> FinishedRun:
    """A run that ends near ``level`` on the normalised scale."""
    row = find(env_id)
    rng = np.random.default_rng([seed, sum(map(ord, env_id + agent))])
    run = Run(env_id, agent, seed, budget, changes.pop("params", {}), eval_episodes=100, eval_points=points)
    spread = row.expert_score - row.random_score
    final = level + 0.05 * rng.standard_normal()
    scores = row.random_score + spread * (final + 0.1 * rng.standard_normal(100))
    if row.expert_score <= 1:  # a whole success is worth 1
        scores = np.minimum(scores, 1.0)
    progress = np.linspace(0, 1, points + 1)[1:]
    steps = (budget * progress).astype(int)
    curve = row.random_score + spread * (final * (1 - np.exp(-4 * progress)) + 0.02 * rng.standard_normal(points))
    curve[-1] = scores.mean()
    values = {
        "scores": tuple(scores.tolist()),
        "successes": tuple((rng.random(100) < level).tolist()),
        "normalised": row.normalise(float(scores.mean())),
        "curve": tuple((int(a), float(b), float(level)) for a, b in zip(steps, curve, strict=True)),
        "versions": dict(VERSIONS),
        "wall_seconds": 50.0 + seed,
        "commit": "0123456789abcdef0123456789abcdef01234567",
        "hardware": "Example CPU, 2 cores, 8 GiB",
        "folder": Path("runs") / run.name,
    }
    return FinishedRun(run=run, **{**values, **changes})


@pytest.fixture(name="make_run")
def make_run_fixture() -> MakeRun:
    return make_run


@pytest.fixture
def smoke_runs() -> list[FinishedRun]:
    """Two agents a domain, three seeds, as ``make race`` leaves them."""
    levels = {
        ("tiltyard/Countdown-v0", "grpo"): 0.62,
        ("tiltyard/Countdown-v0", "sft"): 0.31,
        ("tiltyard/Phone-v0", "ppo"): 0.34,
        ("tiltyard/Phone-v0", "dqn"): 0.12,
        ("tiltyard/Highway-v0", "ppo"): 0.71,
        ("tiltyard/Highway-v0", "dqn"): 0.66,
        ("tiltyard/Hopper-v5", "sac"): 0.14,
        ("tiltyard/Hopper-v5", "dsac-t"): 0.24,
    }
    return [make_run(*key, seed, level) for key, level in levels.items() for seed in range(3)]
