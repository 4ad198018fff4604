"""Sequences from a replay buffer, whose returns stop where episodes end, by hand."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.buffers import ReplayBuffer

from tiltyard.agents.control.sequences import Sequences, cut, draw, returns


def filled(
    steps: int, size: int, *, ends: tuple[int, ...] = (), limits: tuple[int, ...] = (), n_envs: int = 2
) -> ReplayBuffer:
    """Step t of environment e observes 100 e + t and pays t; episodes end at ``ends``, at ``limits`` by time."""
    buffer = ReplayBuffer(size * n_envs, Box(0, 1000, (1,)), Discrete(3), device="cpu", n_envs=n_envs)
    for t in range(steps):
        seen = np.array([[100.0 * e + t] for e in range(n_envs)], np.float32)
        done = np.full(n_envs, t in ends or t in limits)
        infos = [{"TimeLimit.truncated": t in limits}] * n_envs
        buffer.add(seen, seen + 0.5, np.full((n_envs, 1), t % 3), np.full(n_envs, float(t)), done, infos)
    return buffer


@pytest.mark.parametrize("steps", [9, 10, 17])
def test_sequences_are_consecutive_and_never_cross_the_newest_step(steps: int) -> None:
    buffer = filled(steps, 10)
    drawn = draw(buffer, 500, 4)
    seen = drawn.of(buffer.observations)[..., 0]
    assert (np.diff(seen, axis=1) == 1).all()
    assert set(np.unique(seen // 100)) == {0, 1}
    first = seen[:, 0] % 100
    assert (first.min(), first.max()) == (max(0, steps - 10), steps - 4)
    assert len(np.unique(first)) == min(steps, 10) - 3
    assert drawn.of(buffer.observations, 2).shape == (500, 2, 1)


def test_what_follows_the_end_of_an_episode_is_not_alive() -> None:
    buffer = filled(10, 10, ends=(4,), limits=(7,))
    drawn = draw(buffer, 400, 4)
    for first, alive in zip(drawn.rows[:, 0], drawn.alive, strict=True):
        wanted = [1.0, *(float(not {4, 7} & set(range(first, first + j))) for j in range(1, 4))]
        assert alive.tolist() == wanted


def at(buffer: ReplayBuffer, first: int, length: int) -> Sequences:
    """The sequence of environment 0 from a row on."""
    rows = np.arange(first, first + length)[None]
    ended = np.cumsum(buffer.dones[rows[0], 0])[None]
    return Sequences(rows, np.array([0]), np.concatenate([[[1.0]], ended[:, :-1] == 0], axis=1).astype(np.float32))


@pytest.mark.parametrize(
    ("first", "rewards", "discount", "last"),
    [
        (0, 0 + 0.5 * 1 + 0.25 * 2, 0.125, 2),
        (3, 3 + 0.5 * 4, 0.0, 4),  # terminated: no value behind it
        (6, 6 + 0.5 * 7, 0.25, 7),  # a time limit: the value of its last observation
        (4, 4.0, 0.0, 4),
    ],
)
def test_returns_of_three_steps_by_hand(first: int, rewards: float, discount: float, last: int) -> None:
    buffer = filled(10, 10, ends=(4,), limits=(7,))
    found = returns(buffer, at(buffer, first, 4), 3, 0.5)
    assert (found.rewards[0], found.discounts[0], found.last[0]) == pytest.approx((rewards, discount, last))


def test_too_few_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="sequences of 4 steps need as many of each environment in the buffer, not 3"):
        draw(filled(3, 10), 1, 4)


@pytest.mark.parametrize("steps", [6, 10, 13])
def test_episodes_that_are_cut_end_as_at_a_time_limit(steps: int) -> None:
    buffer = filled(steps, 10, ends=(5,))
    before = buffer.dones.copy()
    cut(buffer)
    last = (steps - 1) % 10
    assert buffer.dones[last].tolist() == [1, 1]
    assert buffer.timeouts[last].tolist() == [float(steps != 6)] * 2  # an end stays an end
    assert (np.delete(buffer.dones, last, 0) == np.delete(before, last, 0)).all()
    cut(empty := filled(0, 10))
    assert not empty.dones.any()
