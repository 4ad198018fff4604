"""Where control agents keep transitions: one contiguous table, of which a batch is one gather."""

from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.buffers import DictReplayBuffer, ReplayBuffer
from stable_baselines3.common.type_aliases import DictReplayBufferSamples
from stable_baselines3.common.vec_env import VecNormalize
from torch import Tensor

from ..models.dynamics import Steps

FloatArray = npt.NDArray[np.float32]
OWN, DATASET, EXPERT, MODEL = 0, 1, 2, 3
"""Where a transition of a batch was drawn from: one's own experience, a dataset, what to imitate, a learnt model."""


class Batch(NamedTuple):
    """What one update sees. Observations are tensors, or dicts of tensors for ``Dict`` spaces."""

    observations: Any  # [B, ...]
    actions: Tensor  # [B, A], scaled to [-1, 1]
    rewards: Tensor  # [B]
    next_observations: Any  # [B, ...]
    discounts: Tensor  # [B]: gamma (or gamma^n), 0 where the episode terminated
    returns: Tensor | None = None  # [B] discounted rewards from here to the end of the episode, of demonstrations
    source: Tensor | None = None  # [B] OWN, DATASET, EXPERT or MODEL, of batches that an agent has drawn

    def is_from(self, source: int) -> Tensor:
        """Which transitions were drawn from ``source``, ``[B]``; none of a batch that does not say."""
        if self.source is None:
            return th.zeros(len(self.rewards), dtype=th.bool, device=self.rewards.device)
        return self.source == source


def joined(one: Batch, other: Batch) -> Batch:
    """Two batches of flat observations as one; what only one of them has is dropped."""
    pairs = zip(one, other, strict=True)
    parts: list[Any] = [None if a is None or b is None else th.cat([a, b]) for a, b in pairs]
    return Batch(*parts)


def fits(observation_space: Space[Any], action_space: Space[Any]) -> bool:
    """Whether transitions of these spaces are rows of numbers: flat boxes that are no images."""
    return (
        isinstance(observation_space, Box)
        and len(observation_space.shape) == 1
        and observation_space.dtype.kind == "f"
        and isinstance(action_space, Box)
        and len(action_space.shape) == 1
    )


def misfit(observation_space: Space[Any], action_space: Space[Any]) -> str:
    """What keeps transitions of these spaces from being rows of numbers, and what to do; "" where :func:`fits`."""
    if fits(observation_space, action_space):
        return ""
    if not isinstance(observation_space, Box) or len(observation_space.shape) != 1:
        return f"not {observation_space}: flatten them (gymnasium.wrappers.FlattenObservation)"
    if observation_space.dtype.kind != "f":
        return (
            f"not whole numbers such as those of {observation_space}: make them floats "
            "(gymnasium.wrappers.DtypeObservation(env, numpy.float32))"
        )
    return f"and acts in a flat Box, not in {action_space}: flatten it (gymnasium.wrappers.TransformAction)"


class Columns:
    """Where the parts of a transition lie in a row."""

    def __init__(self, n_observation: int, n_action: int) -> None:
        ends = np.cumsum([n_observation, n_action, 1, 1, 1, n_observation]).tolist()
        self.observation, self.action = slice(0, ends[0]), slice(ends[0], ends[1])
        self.reward, self.done, self.timeout = ends[1], ends[2], ends[3]
        self.next_observation = slice(ends[4], ends[5])
        self.width = ends[5]

    def batch(self, rows: Tensor, gamma: float, source: int, returns: Tensor | None = None) -> Batch:
        """The rows ``[B, width]`` drawn from ``source`` as a batch; a step cut off by a time limit is bootstrapped."""
        ended = rows[:, self.done] * (1 - rows[:, self.timeout])
        return Batch(
            rows[:, self.observation],
            rows[:, self.action],
            rows[:, self.reward],
            rows[:, self.next_observation],
            gamma * (1 - ended),
            returns,
            sources(len(rows), source, rows.device),
        )

    def steps(self, rows: Tensor) -> Steps:
        """The rows ``[N, width]`` as a dynamics model learns from them; a time limit is no end."""
        return Steps(
            rows[:, self.observation],
            rows[:, self.action],
            rows[:, self.reward],
            rows[:, self.next_observation],
            rows[:, self.done] * (1 - rows[:, self.timeout]),
        )

    @staticmethod
    def rows(steps: Steps) -> Tensor:
        """What :meth:`steps` reads, ``[N, width]``, of steps ``[N, ...]``."""
        ends = steps.terminated[:, None]
        parts = [steps.observations, steps.actions, steps.rewards[:, None], ends, th.zeros_like(ends)]
        return th.cat([*parts, steps.next_observations], dim=1)


def sources(n: int, source: int, device: th.device | str) -> Tensor:
    """The column of a batch of ``n`` transitions drawn from one source."""
    return th.full((n,), source, dtype=th.int8, device=device)


class RowReplay(ReplayBuffer):
    """SB3's replay buffer as one float32 table ``[buffer_size, n_envs, width]``; SB3's arrays are views of it."""

    views: ClassVar[tuple[str, ...]] = (
        *("observations", "actions", "rewards", "dones", "timeouts", "next_observations"),
        *("_rows", "_ready"),
    )
    """Attributes that are views of the table."""

    def __init__(
        self,
        buffer_size: int,
        observation_space: Box,
        action_space: Box,
        device: th.device | str = "auto",
        n_envs: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(buffer_size, observation_space, action_space, device, n_envs=n_envs, **kwargs)
        self.columns = columns = Columns(observation_space.shape[0], self.action_dim)
        self._view(np.zeros((self.buffer_size, n_envs, columns.width), np.float32))
        self.ahead = 1
        """Batches that the next :meth:`draw` prepares at once, for those that follow before anything is added."""

    def _view(self, table: FloatArray) -> None:
        """Makes SB3's arrays views of the table."""
        columns, self._table = self.columns, table
        self.observations, self.actions = table[..., columns.observation], table[..., columns.action]
        self.rewards, self.dones = table[..., columns.reward], table[..., columns.done]
        self.timeouts, self.next_observations = table[..., columns.timeout], table[..., columns.next_observation]
        self._rows = th.from_numpy(table).view(-1, table.shape[-1])
        self._ready = self._rows[:0]

    def __getstate__(self) -> dict[str, Any]:
        """For copies and pickle: the table without its views, which a copy would turn into arrays of their own."""
        return {name: value for name, value in vars(self).items() if name not in self.views}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of a copy: its own table, and views of it."""
        vars(self).update(state)
        self._view(self._table)

    @property
    def transitions(self) -> int:
        """How many are stored."""
        return self.size() * self.n_envs

    def stored(self) -> Tensor:
        """All rows that are stored, ``[transitions, width]``, on the CPU; a view."""
        return self._rows[: self.transitions]

    def add(self, *args: Any, **kwargs: Any) -> None:
        """As in SB3."""
        super().add(*args, **kwargs)
        self.forget_drawn()

    def forget_drawn(self) -> None:
        """Drops what was drawn ahead, when the table has changed."""
        self._ready = self._rows[:0]

    def draw(self, n: int) -> Tensor:
        """``n`` rows, each drawn from all stored, ``[n, width]`` on the CPU."""
        if len(self._ready) < n:
            self._ready = self._rows.index_select(0, th.randint(self.transitions, (n * self.ahead,)))
        drawn, self._ready = self._ready[:n], self._ready[n:]
        return drawn


class DictReplay(DictReplayBuffer):
    """SB3's replay buffer for dicts of observations, drawn from as :class:`RowReplay` is.

    With equal seeds an agent thus learns from the same transitions, whether a flat observation comes in a dict or not.
    """

    def sample(self, batch_size: int, env: VecNormalize | None = None) -> DictReplayBufferSamples:  # type: ignore[override]
        """A batch, each transition drawn from all stored; see SB3."""
        drawn = th.randint(self.size() * self.n_envs, (batch_size,)).numpy()
        at = drawn // self.n_envs, drawn % self.n_envs
        seen = [{key: part[at] for key, part in of.items()} for of in (self.observations, self.next_observations)]
        now, following = (self._tensors(self._normalize_obs(one, env)) for one in seen)
        ended = (self.dones[at] * (1 - self.timeouts[at])).reshape(-1, 1)  # not by a time limit
        rewards = self._normalize_reward(self.rewards[at].reshape(-1, 1), env)
        rest = (self.to_torch(part) for part in (ended, rewards))
        return DictReplayBufferSamples(now, self.to_torch(self.actions[at]), following, *rest)

    def _tensors(self, observations: Any) -> dict[str, Tensor]:
        return {key: self.to_torch(part) for key, part in observations.items()}


class Demonstrations:
    """A fixed set of transitions, drawn uniformly or by weight.

    Args:
        rows: ``[N, width]`` as :class:`Columns` has them.
        returns: ``[N]`` discounted rewards to the end of the episode.
        weights: ``[N]`` how often each is drawn, in proportion; equally often if None.

    Raises:
        ValueError: weights that are no distribution.
    """

    def __init__(self, rows: Tensor, returns: Tensor, weights: Tensor | None = None) -> None:
        self.rows, self.returns = rows, returns
        self._cumulated: Tensor | None = None
        if weights is not None:
            if weights.shape != returns.shape or not bool((weights >= 0).all()) or not 0 < float(weights.sum()) < 1e38:
                raise ValueError("a sampler's weights must be one finite number of at least 0 a transition, not all 0")
            self._cumulated = (weights.double() / weights.double().sum()).cumsum(0)

    def __len__(self) -> int:
        return len(self.rows)

    def draw(self, n: int) -> Tensor:
        """``n`` positions."""
        if self._cumulated is None:
            return th.randint(len(self), (n,))
        found = th.searchsorted(self._cumulated, th.rand(n, dtype=th.float64), right=True)
        return found.clamp_max_(len(self) - 1)
