from typing import Any

import numpy as np
import pytest

from tiltyard.benchmarks.claims import serl


class Still:
    """Never moves."""

    def predict(self, observations: Any, deterministic: bool = False) -> tuple[Any, None]:
        return np.zeros((len(observations), 4), np.float32), None


class Aligner:
    """A hand-made policy: straight across to the hole, straight down when above it."""

    def predict(self, observations: Any, deterministic: bool = False) -> tuple[Any, None]:
        across, height, yaw = -observations[:, :2], observations[:, 2], -observations[:, 5]  # cm, cm, 0.1 rad
        aligned = (np.abs(across) < 0.04).all(axis=1) & (np.abs(yaw) < 0.2)
        down = np.where(aligned | (height < -0.1), -0.4, 0.5 - height)
        return np.clip(np.column_stack((across, down, 2 * yaw)), -1, 1).astype(np.float32), None


@pytest.fixture(scope="module")
def data() -> Any:
    return serl.demonstrations(3, 7)


def test_demonstrations_end_with_their_only_reward(data: Any) -> None:
    assert data.episode_returns.tolist() == [1.0, 1.0, 1.0]
    assert data.rewards[data.ends].tolist() == data.terminations[data.ends].tolist() == [1.0, 1.0, 1.0]
    assert data.rewards.sum() == data.terminations.sum() == 3
    assert data.episodes[data.ends].tolist() == [0, 1, 2]
    inside = ~data.ends[:-1]
    np.testing.assert_array_equal(data.next_observations[:-1][inside], data.observations[1:][inside])


def test_demonstrations_hang_on_the_seed(data: Any) -> None:
    np.testing.assert_array_equal(serl.demonstrations(3, 7).actions, data.actions)
    assert not np.array_equal(serl.demonstrations(3, 8).observations[0], data.observations[0])


def test_success_is_of_those_who_insert() -> None:
    assert serl.success(Still(), 0) == 0
    assert serl.success(Aligner(), 0) == 1


def test_all_arms_are_measured_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"MOMENTS": (16, 32), "EPISODES": 4, "LIMIT": 3, "DEMONSTRATIONS": 2, "CLONED": 2}.items():
        monkeypatch.setattr(serl, name, value)
    monkeypatch.setattr(serl, "CLONING_UPDATES", 2)
    monkeypatch.setitem(serl.EQUAL, "learning_starts", 8)
    told: list[tuple[str, int, int, int]] = []

    def success(agent: Any, seed: int) -> float:
        share = 0 if agent.demonstrations is None else len(agent.demonstrations) and 1
        told.append((type(agent).__name__, agent.num_timesteps, agent._n_updates, share))
        return 0.25 * share * agent.num_timesteps / 16

    monkeypatch.setattr(serl, "success", success)
    found = serl.measure(seeds=3)
    # After 8 steps at random, updates follow every 4 steps (one a lane): twice by step 16, 6 times by step 32.
    assert told[:9] == [
        ("SAC", 16, 32, 1),
        ("SAC", 32, 96, 1),
        ("SAC", 16, 8, 1),
        ("SAC", 32, 24, 1),
        ("SAC", 16, 32, 1),
        ("SAC", 32, 96, 1),
        ("SAC", 16, 8, 0),
        ("SAC", 32, 24, 0),
        ("BC", 0, 2, 1),
    ]
    # Of curves 0.25, 0.5 the area is 0.375; all arms with demonstrations are told the same, so that nothing is gained.
    areas = found.details["area under the curve"]
    assert [one["estimate"] for one in areas.values()] == [0.375, 0.375, 0.375, 0]
    assert found.details["best baseline"] == "SAC, demonstrations preloaded"
    assert found.details["RLPD minus each"]["SAC from scratch"]["low"] == 0.375
    assert (found.effect.low, found.effect.estimate, found.effect.high) == (0, 0, 0)


def test_the_actor_of_rlpd_moves_once_a_step() -> None:
    agent = serl.make("serl", serl.TASK, n_envs=serl.LANES, **(serl.EQUAL | serl.ARMS[serl.SERL][1]))
    assert agent.gradient_steps / agent.policy_delay == serl.LANES
    assert (agent.critic.net.n, agent.critic_subset, agent.offline_ratio) == (10, 2, 0.5)
    assert agent.policy_kwargs["critic_layer_norm"]
    assert not agent.backup_entropy
