"""WMAR: a replay buffer of half the newest transitions and half a uniform sample of all, for tasks that come in turn.

    agent = make("wmar", env, buffer_size=100_000)            # a learnt model, and policies from its rollouts
    agent = make("sac", env, replay_buffer_class=AugmentedReplay)   # the buffer alone

Tasks come one after another, without labels. The model learns from :class:`AugmentedReplay`, and policies from rollouts
that begin in its states, so that both go on learning what is over. Departure: the world model is the ensemble of
:class:`~.vagram.VaGraM` on flat observations with MBPO's loss, where the authors have DreamerV3 on images.

Paper: Yang, Kuhlmann and Kowadlo, Augmenting Replay in World Models for Continual Reinforcement Learning (2024),
section 3. "The authors' code" is github.com/Cerenaut/WMAR, ``Code/ARROW_and_DV3/Atari/replay.py``.
"""

from typing import Any

import numpy as np
import torch as th
from torch import Tensor

from .replay import RowReplay

CHUNK = 512
"""Steps of the authors' chunks."""


class AugmentedReplay(RowReplay):
    """Two buffers of equal size: the newest transitions, and chunks of consecutive ones drawn from everything seen.

    Every ``chunk_length`` steps the last of them are a chunk, of each environment one, whatever episodes they belong
    to. A chunk gets a random key, and the long-term half keeps those with the largest keys (reservoir sampling, so that
    every chunk since the beginning is there with the same probability). Of a batch each transition comes from either
    half with equal probability, as soon as there is a chunk. Together they take ``buffer_size`` transitions, a FIFO
    buffer's memory. Any control agent with flat observations takes it as ``replay_buffer_class``.

    Departure: the authors' code draws each batch from one of the two, so that only the expectation is the same.

    Args:
        buffer_size: transitions in all; the long-term half is cut to whole chunks.
        observation_space: of one environment, flat.
        action_space: of one environment.
        device: of batches.
        n_envs: environments.
        chunk_length: steps of a chunk; the authors' 512, or all of a shorter half, if None.
        **kwargs: SB3's.

    Raises:
        ValueError: a half that has no room for a chunk of each environment.
    """

    def __init__(
        self,
        buffer_size: int,
        observation_space: Any,
        action_space: Any,
        device: th.device | str = "auto",
        n_envs: int = 1,
        *,
        chunk_length: int | None = None,
        **kwargs: Any,
    ) -> None:
        half = buffer_size // n_envs // 2
        chunk_length = max(1, min(CHUNK, half)) if chunk_length is None else chunk_length
        if not 1 <= chunk_length <= half:
            raise ValueError(
                f"chunk_length must be from 1 to half of the steps of buffer_size, {half}, got {chunk_length}: "
                "make buffer_size larger or chunks shorter"
            )
        super().__init__(half * n_envs, observation_space, action_space, device, n_envs=n_envs, **kwargs)
        chunks = half * n_envs // chunk_length
        self.chunk_length, self._since = chunk_length, 0  # steps since the last chunk
        self.long_term = np.zeros((chunks, chunk_length, self.columns.width), np.float32)
        self.keys = np.full(chunks, -np.inf)

    @property
    def chunks(self) -> int:
        """How many the long-term half holds."""
        return int(np.isfinite(self.keys).sum())

    def add(self, *args: Any, **kwargs: Any) -> None:
        """As in SB3; the last step of a chunk offers it to the long-term half."""
        super().add(*args, **kwargs)
        self._since += 1
        if self._since == self.chunk_length:
            self._since = 0
            steps = (self.pos - self.chunk_length + np.arange(self.chunk_length)) % self.buffer_size
            for index, key in enumerate(th.rand(self.n_envs, dtype=th.float64).tolist()):
                least = int(self.keys.argmin())
                if key > self.keys[least]:
                    self.keys[least], self.long_term[least] = key, self._table[steps, index]

    def stored(self) -> Tensor:
        """All rows of both halves, ``[transitions, width]``; newer ones may be in both."""
        return th.cat([super().stored(), self._kept()])

    def _kept(self) -> Tensor:
        """Rows of the long-term half, ``[chunks * chunk_length, width]``: it fills from its first place on."""
        return th.from_numpy(self.long_term[: self.chunks]).view(-1, self.columns.width)

    def draw(self, n: int) -> Tensor:
        """``n`` rows, about half of each half, ``[n, width]`` on the CPU."""
        newest = self._rows.index_select(0, th.randint(self.transitions, (n,)))
        kept = self._kept()
        if not len(kept):
            return newest
        old = kept.index_select(0, th.randint(len(kept), (n,)))
        return th.where(th.rand(n, 1) < 0.5, newest, old)

    def saved_whole(self) -> dict[str, np.ndarray[Any, Any]]:
        """Arrays that a file holds as they are, beside the newest transitions."""
        return {"long_term": self.long_term, "keys": self.keys}
