"""A transformer that reads transitions of a task as a set, and says what to do in query states.

It is made of the blocks of :mod:`.transformer`, without positions. A transition attends to itself alone, a query to
itself and to the transitions that it is given. So the order of the transitions does not matter, what is read of one is
the same whatever comes later, and a set can grow by one without reading the others again.
"""

from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .transformer import Block

Array = npt.NDArray[Any]


class Context(NamedTuple):
    """Transitions of B tasks, up to n of each, in any order.

    Attributes:
        observations: ``[B, n, O]`` float32.
        actions: ``[B, n]`` int64, counted from 0.
        rewards: ``[B, n]`` float32.
        next_observations: ``[B, n, O]`` float32.
        valid: ``[B, n]`` bool, False where a task has fewer.
    """

    observations: Array
    actions: Array
    rewards: Array
    next_observations: Array
    valid: Array

    @classmethod
    def of(
        cls, observations: npt.ArrayLike, actions: npt.ArrayLike, rewards: npt.ArrayLike, following: npt.ArrayLike
    ) -> "Context":
        """All transitions of a dataset, the same number for each task: ``[B, n, ...]`` each.

        Args:
            observations: of a Box, of any shape.
            actions: of a Discrete that counts from 0.
            rewards: one a transition.
            following: observations after the transitions.

        Raises:
            ValueError: arrays of different tasks or lengths.
        """
        earned = np.asarray(rewards, np.float32)
        seen, after = (np.asarray(one, np.float32) for one in (observations, following))
        chosen = np.asarray(actions, np.int64)
        if earned.ndim != 2 or chosen.shape != earned.shape or {seen.shape[:2], after.shape[:2]} != {earned.shape}:
            raise ValueError(
                "a context has arrays [tasks, transitions, ...] of one size, got observations "
                f"{seen.shape}, actions {chosen.shape}, rewards {earned.shape} and next observations {after.shape}"
            )
        flat = (*earned.shape, -1)
        return cls(seen.reshape(flat), chosen, earned, after.reshape(flat), np.ones(earned.shape, np.bool_))

    @classmethod
    def empty(cls, tasks: int, observation_size: int) -> "Context":
        """Nothing of so many tasks."""
        seen = np.zeros((tasks, 0, observation_size), np.float32)
        none = np.zeros((tasks, 0))
        return cls(seen, none.astype(np.int64), none.astype(np.float32), seen, none.astype(np.bool_))

    def joined(self, other: "Context") -> "Context":
        """These transitions and others of the same tasks."""
        return Context(*(np.concatenate(pair, axis=1) for pair in zip(self, other, strict=True)))

    def latest(self, count: int) -> "Context":
        """The last ``count`` columns."""
        return Context(*(part[:, -count:] for part in self))


class InContextTransformer(nn.Module):
    """From query states and the keys and values of transitions to logits of actions.

    Args:
        observation_size: numbers of an observation.
        n_actions: number of actions.
        width: channels of the residual stream; a multiple of ``heads``.
        depth: number of blocks.
        heads: of the attention.
    """

    def __init__(self, observation_size: int, n_actions: int, *, width: int, depth: int, heads: int) -> None:
        super().__init__()
        self.n_actions, self.width = n_actions, width
        self.embed_transition = nn.Linear(2 * (observation_size + n_actions) + 1, width)
        self.embed_query = nn.Linear(observation_size, width)
        self.blocks = nn.ModuleList(Block(width, heads, depth) for _ in range(depth))
        self.norm = nn.RMSNorm(width, eps=1e-6)
        self.head = nn.Linear(width, n_actions)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    @property
    def layers(self) -> list[Block]:
        """The blocks, typed."""
        return cast("list[Block]", self.blocks)

    @staticmethod
    def _project(block: Block, x: Tensor, first: int) -> Tensor:
        """Queries, keys and values, from number ``first`` of these on, ``[3 - first, B, heads, T, channels]``."""
        batch, length, width = x.shape
        found = F.linear(block.norm_1(x), block.qkv.weight[first * width :])
        return found.view(batch, length, 3 - first, block.heads, width // block.heads).permute(2, 0, 3, 1, 4)

    def embed_transitions(self, observations: Tensor, actions: Tensor, rewards: Tensor, following: Tensor) -> Tensor:
        """Transitions before the first block ``[B, n, width]``; arguments as of :meth:`read`."""
        taken, earned = F.one_hot(actions, self.n_actions).to(rewards.dtype), rewards.unsqueeze(-1)
        embedded: Tensor = self.embed_transition(
            torch.cat([observations, taken, following, earned, earned * taken], dim=-1)
        )
        return embedded

    def read(self, observations: Tensor, actions: Tensor, rewards: Tensor, following: Tensor) -> Tensor:
        """Keys and values ``[depth, 2, B, heads, n, channels]`` of transitions, each by itself.

        Args:
            observations: ``[B, n, O]``.
            actions: ``[B, n]`` int64.
            rewards: ``[B, n]``.
            following: ``[B, n, O]`` observations after them.
        """
        x = self.embed_transitions(observations, actions, rewards, following)
        kept = []
        for i, block in enumerate(self.layers):
            kept.append(self._project(block, x, 1))
            if i + 1 < len(self.layers):  # what a transition has to say after the last block is not asked for
                x = block.finish(x, kept[-1][1].transpose(1, 2).flatten(2))
        return torch.stack(kept)

    def forward(self, queries: Tensor, read: Tensor, seen: Tensor) -> Tensor:
        """Logits of actions ``[B, m, A]``.

        Args:
            queries: ``[B, m, O]`` states.
            read: of :meth:`read`.
            seen: ``[B, m, n]`` bool, which transitions each query is given.
        """
        m = queries.shape[1]
        own = torch.eye(m, dtype=torch.bool, device=queries.device)
        logits: Tensor = self.head(self.attend(self.embed_query(queries), read, seen, own))
        return logits

    def attend(self, y: Tensor, read: Tensor, seen: Tensor, own: Tensor) -> Tensor:
        """What queries are after the last block ``[B, q, width]``, normed.

        Args:
            y: ``[B, q, width]`` before the first.
            read: of :meth:`read`.
            seen: ``[B, q, n]`` bool, the transitions that each attends to.
            own: ``[q, q]`` bool, the queries that each attends to.
        """
        allowed = torch.cat((seen, own.expand(len(y), *own.shape)), dim=-1).unsqueeze(1)
        for block, kept in zip(self.layers, read, strict=True):
            q, k, v = self._project(block, y, 0)
            keys, values = torch.cat((kept[0], k), dim=2), torch.cat((kept[1], v), dim=2)
            attended = F.scaled_dot_product_attention(q, keys, values, attn_mask=allowed)
            y = block.finish(y, attended.transpose(1, 2).flatten(2))
        normed: Tensor = self.norm(y)
        return normed


class ArmTransformer(InContextTransformer):
    """One for tasks whose observation is a list of what each action is: ``[A, d]`` features, flattened.

    A transition is read as the features of the action taken and its reward; each action of a query state is a query of
    its own, beside the state's other actions, and has one logit. So logits go with the actions in whatever order these
    are listed, and nothing has to be learnt about one of them twice.

    Args:
        observation_size: numbers of an observation, a multiple of ``n_actions``.
        n_actions: number of actions.
        width: channels of the residual stream; a multiple of ``heads``.
        depth: number of blocks.
        heads: of the attention.

    Raises:
        ValueError: observations that actions cannot share.
    """

    def __init__(self, observation_size: int, n_actions: int, *, width: int, depth: int, heads: int) -> None:
        if observation_size % n_actions:
            raise ValueError(
                f"observations list the features of each of {n_actions} actions, which {observation_size} numbers do "
                "not divide into: use MlpPolicy"
            )
        super().__init__(observation_size, n_actions, width=width, depth=depth, heads=heads)
        self.features = observation_size // n_actions
        self.embed_transition = nn.Linear(2 * self.features + 1, width)
        self.embed_query = nn.Linear(self.features, width)
        self.head = nn.Linear(width, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def embed_transitions(self, observations: Tensor, actions: Tensor, rewards: Tensor, following: Tensor) -> Tensor:
        """Features of the actions taken, rewards, and their products; what follows is not read."""
        each = observations.reshape(*observations.shape[:-1], self.n_actions, self.features)
        taken = each.take_along_dim(actions[..., None, None], dim=-2).squeeze(-2)
        earned = rewards.unsqueeze(-1)
        embedded: Tensor = self.embed_transition(torch.cat([taken, earned, earned * taken], dim=-1))
        return embedded

    def forward(self, queries: Tensor, read: Tensor, seen: Tensor) -> Tensor:
        """Logits of actions ``[B, m, A]``; arguments as of :meth:`InContextTransformer.forward`."""
        m, count = queries.shape[1], self.n_actions
        y = self.embed_query(queries.reshape(len(queries), m * count, self.features))
        state = torch.arange(m * count, device=queries.device) // count
        own = state[:, None] == state
        logits: Tensor = self.head(self.attend(y, read, seen.repeat_interleave(count, dim=1), own))
        return logits.view(len(queries), m, count)
