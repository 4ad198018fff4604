"""The buffer of WMAR: what it keeps, of what probability, in how much memory; and the agent around it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as th
from gymnasium.spaces import Box
from scipy.stats import chisquare

from tiltyard.agents import SAC, make
from tiltyard.agents.control.wmar import AugmentedReplay
from tiltyard.benchmarks.testbeds.distracted import SETTINGS, Puck

SMALL: dict[str, Any] = {
    **{"policy_kwargs": {"net_arch": [16]}, "batch_size": 20, "buffer_size": 40, "chunk_length": 10, "seed": 0},
    **{"gradient_steps": 1, "n_models": 3, "n_elites": 2, "model_net_arch": [8], "model_train_freq": 10},
    **{"model_updates": 5, "model_patience": None, "rollouts_per_step": 3, "device": "cpu", "learning_starts": 20},
}


def buffer(size: int = 40, chunk: int = 5, n_envs: int = 1) -> AugmentedReplay:
    return AugmentedReplay(size, Box(-9, 9, (1,)), Box(-1, 1, (1,)), "cpu", n_envs, chunk_length=chunk)


def fill(replay: AugmentedReplay, steps: int, first: int = 0) -> None:
    """Observation t in environment 0, t + 0.25 in the next, and so on."""
    n = replay.n_envs
    for t in range(first, first + steps):
        seen = np.array([[t + 0.25 * i] for i in range(n)], np.float32)
        replay.add(seen, seen + 1, np.zeros((n, 1)), np.full(n, t), np.zeros(n), [{} for _ in range(n)])


def times(rows: Any) -> list[float]:
    return np.asarray(rows)[..., 0].tolist()


def test_one_half_is_the_newest_and_the_other_whole_chunks_of_any_time() -> None:
    th.manual_seed(0)
    replay = buffer()  # 20 of each, in chunks of 5
    fill(replay, 200)
    assert sorted(times(replay._rows)) == list(range(180, 200))
    assert replay.chunks == 4
    for chunk in replay.long_term:
        start = chunk[0, 0]
        assert start % 5 == 0
        assert times(chunk) == list(start + np.arange(5))
        assert chunk[:, replay.columns.reward].tolist() == times(chunk)
    assert len({chunk[0, 0] for chunk in replay.long_term}) == 4
    assert len(replay.stored()) == 40


def test_chunks_are_each_environments_own_and_may_lie_across_the_end_of_the_table() -> None:
    th.manual_seed(3)
    replay = buffer(size=28, chunk=3, n_envs=2)  # 7 steps of two environments, so that chunks wrap around
    fill(replay, 9)
    found = sorted(times(chunk) for chunk in replay.long_term)
    assert len(found) == 4
    for one in found:
        assert np.diff(one).tolist() == [1, 1]
        assert int(one[0]) % 3 == 0
    assert {one[0] % 1 for one in found} == {0.0, 0.25}


def test_every_chunk_is_kept_with_the_same_probability() -> None:
    th.manual_seed(1)
    kept = np.zeros(20)
    for _ in range(400):
        replay = buffer(size=20, chunk=2)  # five chunks of twenty
        fill(replay, 40)
        for chunk in replay.long_term:
            kept[int(chunk[0, 0]) // 2] += 1
    assert kept.sum() == 400 * 5
    # Five of twenty without replacement: counts vary by 1 - 5/20 of what independent draws would.
    assert chisquare(kept).statistic / (1 - 5 / 20) < 43.8  # 0.1% of 19 degrees of freedom


def test_memory_is_that_of_a_fifo_buffer_and_does_not_grow() -> None:
    replay = buffer(size=400, chunk=20)
    held = [replay._table.nbytes + replay.long_term.nbytes]
    for first in (0, 500, 1000):
        fill(replay, 500, first)
        held.append(replay._table.nbytes + replay.long_term.nbytes)
    assert set(held) == {400 * replay.columns.width * 4}


def test_batches_are_half_of_each_half_once_there_is_a_chunk() -> None:
    th.manual_seed(2)
    replay = buffer(size=40, chunk=5)
    fill(replay, 4)
    assert set(times(replay.draw(200))) == {0, 1, 2, 3}
    fill(replay, 1000, 4)
    share = np.mean(np.asarray(times(replay.draw(4000))) < 984)
    old = np.mean(np.asarray(times(replay._kept())) < 984)
    assert share == pytest.approx(0.5 * old, abs=0.03)


def test_places_without_a_chunk_are_not_drawn() -> None:
    replay = buffer(size=40, chunk=5)
    fill(replay, 7, 100)
    assert times(replay._kept()) == [100, 101, 102, 103, 104]
    assert min(times(replay.draw(500))) == 100
    assert len(replay.stored()) == 12


@pytest.mark.parametrize("chunk", [0, 21])
def test_a_half_needs_room_for_a_chunk(chunk: int) -> None:
    with pytest.raises(
        ValueError, match=f"chunk_length must be from 1 to half of the steps of buffer_size, 20, got {chunk}"
    ):
        buffer(chunk=chunk)


def test_chunks_are_the_authors_or_as_long_as_a_half() -> None:
    spaces = Box(-9, 9, (1,)), Box(-1, 1, (1,))
    assert AugmentedReplay(4000, *spaces).chunk_length == 512
    assert AugmentedReplay(600, *spaces).chunk_length == 300


def test_the_model_learns_from_both_halves() -> None:
    agent: Any = make("wmar", Puck(2, steps=10), **SMALL).learn(90)
    assert isinstance(agent.replay_buffer, AugmentedReplay)
    assert agent.replay_buffer.chunks == 2
    np.testing.assert_array_equal(agent.real_steps().rewards, agent.replay_buffer.stored()[:, agent._columns().reward])
    assert len(agent.real_steps().rewards) == 40
    assert agent.settings.model_loss == "mle"


def test_any_control_agent_takes_the_buffer() -> None:
    settings: dict[str, Any] = {"buffer_size": 60, "learning_starts": 10, "batch_size": 8, "device": "cpu"}
    how = {"replay_buffer_class": AugmentedReplay, "replay_buffer_kwargs": {"chunk_length": 10}}
    agent = SAC("MlpPolicy", "Pendulum-v1", seed=0, **settings, **how).learn(80)
    assert isinstance(agent.replay_buffer, AugmentedReplay)
    assert agent.replay_buffer.chunks == 3


def test_another_buffer_is_refused() -> None:
    with pytest.raises(ValueError, match="long_term=True is a replay buffer of its own"):
        make("wmar", Puck(2), **{**SMALL, "replay_buffer_class": dict})


def test_both_halves_are_saved_and_come_back(tmp_path: Path) -> None:
    agent: Any = make("wmar", Puck(2, steps=10), **SMALL).learn(90)
    agent.save_replay_buffer(tmp_path / "buffer")
    other: Any = make("wmar", Puck(2, steps=10), **SMALL)
    other.load_replay_buffer(tmp_path / "buffer")
    for name in ("long_term", "keys"):
        np.testing.assert_array_equal(getattr(other.replay_buffer, name), getattr(agent.replay_buffer, name))
    assert sorted(times(other.replay_buffer.stored())) == sorted(times(agent.replay_buffer.stored()))
    shorter: Any = make("wmar", Puck(2, steps=10), **{**SMALL, "chunk_length": 20})
    with pytest.raises(ValueError, match="it holds long_term of shape"):
        shorter.load_replay_buffer(tmp_path / "buffer")


@pytest.mark.slow
def test_it_learns_where_tasks_do_not_change() -> None:
    from tiltyard.benchmarks.testbeds.distracted import Distracted

    settings = {**SETTINGS, "buffer_size": 600, "chunk_length": 30, "model_learning_rate": 0.03}
    agent = make("wmar", Puck(0), seed=0, **{"device": "cpu", **settings})
    before = Distracted().score(agent, 0)
    assert Distracted().score(agent.learn(600), 0) > max(0.3, before + 0.3)
