"""Chunks of actions: those that follow each step of a dataset, acting through them, and cloning them."""

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Space
from torch import Tensor

from ..datasets import Transitions
from ..offline import LearnsFromData, taken_in
from ..replay import Columns, Demonstrations, FloatArray
from ..updates import minimise

Arrays = npt.NDArray[Any]
Self = TypeVar("Self", bound="ChunkCloning")


def chunk_indices(ends: FloatArray | Any, size: int) -> Tensor:
    """Rows ``[N, size]`` of the steps that follow each of N; at an episode's end its last step is repeated.

    Args:
        ends: ``[N]``, whether a step is its episode's last.
        size: of a chunk.
    """
    rows = th.arange(len(ends))
    lasts = th.as_tensor(ends, dtype=th.bool).nonzero().squeeze(1)
    last = lasts[th.searchsorted(lasts, rows)]
    return th.minimum(rows.unsqueeze(1) + th.arange(size), last.unsqueeze(1))


def check_flat_spaces(observations: Space[Any], actions: Space[Any], policy: str) -> None:
    """Raises ``TypeError`` unless observations are a flat Box, and actions a Box with finite bounds.

    Args:
        observations: of one environment.
        actions: of one environment.
        policy: what needs them, for the message.
    """
    if not isinstance(observations, Box) or len(observations.shape) != 1:
        raise TypeError(f"a {policy} needs flat Box observations, not {observations}")
    if not isinstance(actions, Box) or not (np.isfinite(actions.low).all() and np.isfinite(actions.high).all()):
        raise TypeError(f"a {policy} needs Box actions with finite bounds, not {actions}")


def in_units(space: Space[Any], chunks: Tensor) -> Tensor:
    """Chunks ``[B, H D]`` in which -1 and 1 are the bounds of a space, as actions ``[B, H, ...]`` in its units."""
    assert isinstance(space, Box)
    low, high = (th.as_tensor(part, dtype=th.float32, device=chunks.device) for part in (space.low, space.high))
    return low + (chunks.view(len(chunks), -1, *low.shape) + 1) / 2 * (high - low)


def through_chunks(
    chunks: Arrays, state: tuple[Arrays, ...] | None, episode_start: npt.NDArray[Any] | None
) -> tuple[Arrays, tuple[Arrays, ...]]:
    """The next action ``[n, ...]`` of each chunk under way, and the state to come back with.

    The state is the chunks ``[n, H, ...]`` and how many actions of each are left ``[n]``.

    Args:
        chunks: that begin now, ``[n, H, ...]``, for those that have none under way.
        state: that this returned before; None where all begin.
        episode_start: ``[n]``, whether an episode begins, and a chunk with it.

    Raises:
        ValueError: a state of other chunks.
    """
    n, size = chunks.shape[:2]
    left = np.full(n, size)
    if state is not None:
        if len(state) != 2 or state[0].shape != chunks.shape or state[1].shape != (n,):
            raise ValueError(f"a state for {n} observations is arrays {list(chunks.shape)} and [{n}], of predict")
        goes_on = (state[1] > 0) & ~np.asarray(np.zeros(n) if episode_start is None else episode_start, np.bool_)
        chunks[goes_on], left[goes_on] = state[0][goes_on], state[1][goes_on]
    return chunks[np.arange(n), size - left], (chunks, left - 1)


class ChunkCloning(LearnsFromData):
    """What agents share that clone chunks of actions from demonstrations before they learn online; mix it in first.

    Attributes:
        demonstrations: the dataset, None as long as there is none.
    """

    needs_data: ClassVar[bool] = False
    mixes_data: ClassVar[bool] = False
    chunk_size: int
    demonstrations: Demonstrations | None
    _chunks: Tensor

    @abstractmethod
    def clone_loss(self, observations: Tensor, chunks: Tensor) -> Tensor:
        """The loss of observations ``[B, S]`` and the chunks ``[B, H D]`` that followed, bounds at -1 and 1."""

    def clone(self, gradient_steps: int, batch_size: int) -> None:
        """So many updates of cloning.

        Raises:
            ValueError: there is no dataset.
        """
        agent: Any = self
        if self.demonstrations is None:
            name = type(self).__name__
            raise ValueError(f"{name} has no demonstrations to clone: call learn_offline(dataset, gradient_steps)")
        agent.policy.set_training_mode(True)
        for _ in range(gradient_steps):
            loss = minimise(agent.policy.clone_optimizer, self.clone_loss(*self.demonstrated(batch_size)))
            agent.logger.record("train/clone_loss", float(loss))
            agent._n_updates += 1

    def demonstrated(self, n: int) -> tuple[Tensor, Tensor]:
        """``n`` observations ``[n, S]`` of the dataset with the chunks ``[n, H D]`` that follow, bounds at -1 and 1."""
        agent: Any = self
        assert self.demonstrations is not None
        rows, found = self.demonstrations.rows, self.demonstrations.draw(n)
        columns = Columns(agent.observation_space.shape[0], agent.action_space.shape[0])
        actions = rows[self._chunks[found]][..., columns.action].flatten(1)
        return rows[found, columns.observation].to(agent.device), actions.to(agent.device)

    def _demonstrations(self, dataset: Any) -> Demonstrations:
        """The dataset; the moments of the first one stay."""
        agent: Any = self
        found = taken_in(agent, dataset)
        agent.policy.fix_moments(found.rows[:, : agent.observation_space.shape[0]])
        return found

    def sampling_weights(self, transitions: Transitions) -> None:
        """None: a dataset's transitions are drawn equally often."""
        return None

    def reference_returns(self, transitions: Transitions) -> FloatArray:
        """Returns ``[N]`` of a dataset, which cloning does not read."""
        return transitions.returns(1.0)

    def on_dataset(self, transitions: Transitions) -> None:
        """Notes which steps follow each other."""
        self._chunks = chunk_indices(transitions.ends, self.chunk_size)
