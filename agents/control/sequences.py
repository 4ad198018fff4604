"""Consecutive steps drawn from a replay buffer of Stable-Baselines3, with what happens at the ends of episodes."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from stable_baselines3.common.buffers import ReplayBuffer


class Sequences(NamedTuple):
    """B sequences of L steps of a buffer, each of one environment; they may run on into the next episode.

    ``alive[b, j]`` is 1 as long as no step before step j has ended the first step's episode.
    """

    rows: npt.NDArray[np.int64]  # [B, L] of the buffer
    envs: npt.NDArray[np.int64]  # [B]
    alive: npt.NDArray[np.float32]  # [B, L]

    def of(self, stored: npt.NDArray[Any], steps: int | None = None) -> npt.NDArray[Any]:
        """What a buffer's array ``[rows, environments, ...]`` holds of the first ``steps``, ``[B, steps, ...]``."""
        return stored[self.rows[:, :steps], self.envs[:, None]]


class Returns(NamedTuple):
    """Of the first n steps of sequences, or fewer where the episode ends."""

    rewards: npt.NDArray[np.float32]  # [B] discounted sums
    discounts: npt.NDArray[np.float32]  # [B] of the value behind them: gamma^steps, 0 where the episode terminated
    last: npt.NDArray[np.int64]  # [B] rows of the last steps


def cut(buffer: ReplayBuffer) -> None:
    """Ends episodes that have not ended at the newest step, as a time limit does: what is stored next begins anew."""
    if buffer.size():
        last = (buffer.pos - 1) % buffer.buffer_size
        begun = buffer.dones[last] == 0
        buffer.dones[last][begun] = buffer.timeouts[last][begun] = 1


def draw(buffer: ReplayBuffer, count: int, length: int) -> Sequences:
    """Draws ``count`` sequences of ``length`` steps, uniformly among those that are stored.

    Raises:
        ValueError: the buffer holds fewer steps of an environment.
    """
    stored = buffer.buffer_size if buffer.full else buffer.pos
    if stored < length:
        raise ValueError(f"sequences of {length} steps need as many of each environment in the buffer, not {stored}")
    first = th.randint(stored - length + 1, (count,)).numpy() + (buffer.pos if buffer.full else 0)
    rows = (first[:, None] + np.arange(length)) % buffer.buffer_size
    envs = th.randint(buffer.n_envs, (count,)).numpy()
    ended = np.cumsum(buffer.dones[rows, envs[:, None]] > 0, axis=1)
    alive = np.concatenate([np.ones((count, 1)), ended[:, :-1] == 0], axis=1).astype(np.float32)
    return Sequences(rows, envs, alive)


def returns(buffer: ReplayBuffer, drawn: Sequences, n_steps: int, gamma: float) -> Returns:
    """n-step returns of sequences; a time limit ends the sum, and the value behind it still counts."""
    alive, rows = drawn.alive[:, :n_steps], np.arange(len(drawn.envs))
    rewards = drawn.of(buffer.rewards, n_steps) * alive * gamma ** np.arange(n_steps)
    steps = alive.sum(axis=1).astype(np.int64)
    last = drawn.rows[rows, steps - 1]
    terminated = buffer.dones[last, drawn.envs] * (1 - buffer.timeouts[last, drawn.envs])
    discounts = gamma**steps * (1 - terminated)
    return Returns(rewards.sum(axis=1).astype(np.float32), discounts.astype(np.float32), last)
