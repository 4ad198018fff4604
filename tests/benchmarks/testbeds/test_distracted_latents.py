"""The point mass among noise: its steps by hand, what distractors do, who can steer it, and how latents are read."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tiltyard.agents import make
from tiltyard.benchmarks.testbeds.distracted_latents import (
    MEMORY,
    SPREAD,
    STEPS,
    DistractedLatents,
    DistractedMass,
    Dreaming,
    Masses,
    mean_reward,
    moved,
    probed,
    read,
    starts,
)


class Steerer:
    """Thrusts to where the goal lies, or nowhere."""

    def __init__(self, gain: float) -> None:
        self.gain = gain

    def predict(self, seen: np.ndarray, memory: Any, deterministic: bool) -> tuple[np.ndarray, None]:
        return np.clip(self.gain * (seen[:, :2] / 2 - 2 * seen[:, 2:4] / 8), -1, 1), None


def test_a_step_by_hand() -> None:
    now = Masses(np.array([[0.5, 0.0]]), np.array([[0.0, 0.1]]), np.zeros((1, 0)))
    after, reward = moved(now, np.array([[1.0, -9.0]]), np.random.default_rng(0))
    assert after.velocity[0].tolist() == pytest.approx([0.08, 0.07 - 0.08])
    assert after.away[0].tolist() == pytest.approx([0.42, 0.01])
    assert reward[0] == pytest.approx(5 * (1 - math.hypot(0.42, 0.01)))
    assert after.seen[0].tolist() == pytest.approx([0.84, 0.02, 0.64, -0.08], abs=1e-6)


def test_half_of_the_distractors_are_fresh_and_the_others_remember() -> None:
    rng = np.random.default_rng(0)
    now = starts(4000, 4, rng)
    after, _ = moved(now, np.zeros((4000, 2)), rng)
    alike = [np.corrcoef(now.noise[:, i], after.noise[:, i])[0, 1] for i in range(4)]
    assert alike == pytest.approx([0, 0, MEMORY, MEMORY], abs=0.05)
    assert after.noise.std(axis=0).tolist() == pytest.approx([SPREAD] * 4, rel=0.05)


def test_what_matters_varies_about_as_much_as_one_distractor_less() -> None:
    rng = np.random.default_rng(0)
    now, found = starts(200, 0, rng), []
    for _ in range(STEPS):
        now, _ = moved(now, rng.uniform(-1, 1, (200, 2)), rng)
        found.append(now.state)
    assert 0.5 < np.concatenate(found).std(axis=0).min()
    assert np.concatenate(found).std(axis=0).max() < SPREAD


def test_who_steers_is_paid_and_who_does_nothing_is_not() -> None:
    assert mean_reward(Steerer(5.0), 40, 8) > 0.85
    assert mean_reward(Steerer(0.0), 40, 8) == pytest.approx(0.25, abs=0.05)
    assert mean_reward(Steerer(-5.0), 40, 8) < -0.5


def test_episodes_end_by_time_and_the_seed_decides_them() -> None:
    env, same = DistractedMass(6), DistractedMass(6)
    assert env.reset(seed=3)[0].tolist() == same.reset(seed=3)[0].tolist()
    assert env.observation_space.shape == (10,)
    for step in range(STEPS):
        seen, _, ended, cut, _ = env.step(np.zeros(2, np.float32))
        assert (ended, cut) == (False, step == STEPS - 1)
        assert seen.tolist() == same.step(np.zeros(2, np.float32))[0].tolist()


def test_a_reading_finds_what_is_there_in_held_out_episodes_alone() -> None:
    rng = np.random.default_rng(0)
    latents, other = rng.normal(size=(40, 10, 12)), rng.normal(size=(40, 10, 3))
    assert read(latents, latents @ rng.normal(size=(12, 3)) + 5) > 0.99
    assert read(latents, other) < 0.02  # where the first half alone would show 12 / 200 = 0.06 and chance more
    half = np.concatenate([latents[..., :1] + rng.normal(size=(40, 10, 1)), other[..., :1]], axis=2)
    assert read(latents, half) == pytest.approx(0.25, abs=0.06)


def test_untrained_latents_tell_something_of_all_and_nothing_of_none() -> None:
    agent = make("repo", DistractedMass(4), seed=0, device="cpu", **DistractedLatents().smallest().settings)
    state, noise, kl = probed(agent, 120, 4)
    assert 0 < state < 1
    assert 0 < noise < 1
    assert kl > 0
    none = make("repo", DistractedMass(0), seed=0, device="cpu", **DistractedLatents().smallest().settings)
    assert probed(none, 20, 0)[1] == 0


def test_a_run_trains_all_networks_at_the_rate() -> None:
    bed = replace(DistractedLatents().smallest(), parts=2)
    one, same = (bed.run(Dreaming("repo", 2), 0.01, 7) for _ in range(2))
    other = bed.run(Dreaming("repo", 2), 0.02, 7)
    assert one.rewards.shape == (2,)
    assert one.rewards.tolist() == same.rewards.tolist()
    assert one.kl == same.kl != other.kl
