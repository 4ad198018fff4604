"""A transformer that reads returns, observations and actions as tokens, and acts; its backbone may be a language model.

Papers: Chen et al., Decision Transformer: Reinforcement Learning via Sequence Modeling (2021); Shi et al., Unleashing
the Power of Pre-trained Language Models for Offline Reinforcement Learning (2024), called LaMo; Hu et al., LoRA:
Low-Rank Adaptation of Large Language Models (2021).
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn
from torch.nn import functional as F

from ..models.english import english_model, untrained_model
from ..optimizers import FusedAdam
from ..policy_files import SafePolicy

State = tuple[npt.NDArray[Any], ...]


class LowRank(nn.Module):
    r"""A frozen linear map with an update of low rank that learns: :math:`W x + B A x`, B beginning at 0.

    Args:
        base: the map.
        rank: of the update.
    """

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(th.randn(rank, base.in_features) / base.in_features**0.5)
        self.up = nn.Parameter(th.zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        """``[..., out]`` of ``[..., in]``."""
        return self.base(x) + F.linear(F.linear(x, self.down), self.up)  # type: ignore[no-any-return]


def perceptron(inputs: int, outputs: int, width: int, mlp: bool) -> nn.Module:
    """A linear map; if ``mlp`` one hidden layer of GELU stands before it."""
    if not mlp:
        return nn.Linear(inputs, outputs)
    return nn.Sequential(nn.Linear(inputs, width), nn.GELU(), nn.Linear(width, outputs))


class DecisionPolicy(SafePolicy, BasePolicy):
    """Acts by the return that is still wanted and by the last steps, which ``predict`` keeps in its state.

    Args:
        observation_space: of the environment; a flat Box.
        action_space: of the environment; a flat Box, bounded.
        lr_schedule: of the optimiser.
        context_length: steps that are read, K.
        mlp_embedding: whether tokens are embedded, and actions read off, by perceptrons in place of linear maps.
        language_model: file of the backbone's weights, "english" for those that are shipped, or None for random ones.
        lora_rank: of the updates of queries, keys and values, beside which the backbone stays as it is; 0 where all of
            it learns.

    Attributes:
        backbone: a :class:`~tiltyard.agents.models.transformer.Transformer`.
        return_scale: by which returns are divided, ``[]``.
        target_return: the return that ``predict`` asks for, in units of ``return_scale``, ``[]``.
        seen_mean: taken off observations, ``[obs]``.
        seen_std: by which they are divided then, ``[obs]``.
    """

    seen_mean: Tensor
    seen_std: Tensor
    return_scale: Tensor
    target_return: Tensor

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        context_length: int = 20,
        mlp_embedding: bool = False,
        language_model: str | None = None,
        lora_rank: int = 0,
    ) -> None:
        super().__init__(observation_space, action_space)
        assert isinstance(observation_space, Box)
        assert isinstance(action_space, Box)
        self.context_length = context_length
        self.seen_size, self.action_size = observation_space.shape[0], action_space.shape[0]
        self.register_buffer("return_scale", th.ones(()))
        self.register_buffer("target_return", th.ones(()))
        self.register_buffer("seen_mean", th.zeros(self.seen_size))
        self.register_buffer("seen_std", th.ones(self.seen_size))
        given = untrained_model()  # drawn in any case, so that seeds mean the same in all conditions
        if language_model is not None:
            given = english_model() if language_model == "english" else english_model(Path(language_model))
        self.backbone, width = given, given.width
        self.embed_return = perceptron(1, width, width, mlp_embedding)
        self.embed_seen = perceptron(self.seen_size, width, width, mlp_embedding)
        self.embed_action = perceptron(self.action_size, width, width, mlp_embedding)
        self.norm = nn.LayerNorm(width)
        self.act = perceptron(width, self.action_size, width, mlp_embedding)
        if lora_rank:
            self.backbone.requires_grad_(False)
            for block in self.backbone.layers:
                block.qkv = LowRank(block.qkv, lora_rank)  # type: ignore[assignment]
        learning = [param for param in self.parameters() if param.requires_grad]
        self.optimizer = FusedAdam(learning, lr=float(lr_schedule(1)))

    @property
    def optimizers(self) -> list[th.optim.Optimizer]:
        """The one."""
        return [self.optimizer]

    def actions(self, wanted: Tensor, seen: Tensor, taken: Tensor) -> Tensor:
        """Actions ``[B, T, A]`` in [-1, 1] at each step, of what stands before it.

        Args:
            wanted: returns to go, in units of ``return_scale``, ``[B, T]``.
            seen: observations ``[B, T, obs]``.
            taken: actions in [-1, 1] ``[B, T, A]``; that of a step is not seen at it.
        """
        seen = (seen - self.seen_mean) / self.seen_std
        parts = (self.embed_return(wanted[..., None]), self.embed_seen(seen), self.embed_action(taken))
        tokens = self.norm(th.stack(parts, dim=2).flatten(1, 2))
        found: Tensor = self.act(self.backbone.through(tokens)[:, 1::3]).tanh()
        return found

    def forward(self, obs: Tensor, deterministic: bool = False) -> Tensor:
        """Scaled actions ``[B, A]`` at the first observations of episodes."""
        return self._predict(obs, deterministic)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        seen = observation.float()[:, None]
        wanted = self.target_return.expand(seen.shape[:2])
        return self.actions(wanted, seen, seen.new_zeros(len(seen), 1, self.action_size))[:, 0]

    def begun(self, n: int) -> State:
        """The state of n episodes before their first observation."""
        sizes = ((), (self.seen_size,), (self.action_size,))
        parts = (np.zeros((n, self.context_length, *size), np.float32) for size in sizes)
        return (*parts, np.zeros(n, np.int64), np.full(n, float(self.target_return), np.float32))

    @th.no_grad()
    def predict(
        self,
        observation: Any,
        state: State | None = None,
        episode_start: npt.NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], State]:
        """As in SB3; give the state that it returned with the next observation.

        The state has the returns that were wanted ``[n, K]``, observations ``[n, K, obs]``, actions in [-1, 1]
        ``[n, K, A]``, how many of the K steps are known ``[n]``, and the return that is wanted now ``[n]``. What is
        paid is not told here, so that this stays the same: :meth:`paid` takes off what a step brought.

        Raises:
            ValueError: a state of another number of observations.
        """
        self.set_training_mode(False)
        shown, is_batch = self.obs_to_tensor(observation)
        assert isinstance(shown, Tensor)
        n, fresh = len(shown), self.begun(len(shown))
        known = fresh if state is None else state
        if [part.shape for part in known] != [part.shape for part in fresh]:
            raise ValueError(f"a state for {n} observations has arrays of shapes {[part.shape for part in fresh]}")
        new = np.zeros(n, np.bool_) if episode_start is None else np.asarray(episode_start, np.bool_)
        wanted, seen, taken, steps, due = (
            np.where(new.reshape(-1, *[1] * (one.ndim - 1)), start, one)
            for start, one in zip(fresh, known, strict=True)
        )
        full, rows = steps == self.context_length, np.arange(n)
        for part in (wanted, seen, taken):
            part[full, :-1] = part[full, 1:]
        steps = np.where(full, steps - 1, steps)
        wanted[rows, steps], seen[rows, steps], taken[rows, steps] = due, shown.cpu().numpy(), 0
        given = (th.as_tensor(part, device=self.device) for part in (wanted, seen, taken))
        chosen = self.actions(*given)[th.arange(n), th.as_tensor(steps)].cpu().numpy()
        taken[rows, steps] = chosen
        actions = self.unscale_action(chosen)
        return (actions if is_batch else actions[0]), (wanted, seen, taken, steps + 1, due)

    def paid(self, state: State, rewards: npt.ArrayLike) -> State:
        """The state with the rewards ``[n]`` of its last steps taken off the return that is wanted."""
        return (*state[:-1], state[-1] - np.asarray(rewards, np.float32) / float(self.return_scale))

    def scale_action(self, action: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From the environment's units to [-1, 1]."""
        space: Any = self.action_space
        found: npt.NDArray[Any] = 2 * (action - space.low) / (space.high - space.low) - 1
        return found

    def unscale_action(self, scaled: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """From [-1, 1] to the environment's units."""
        space: Any = self.action_space
        found = space.low + (scaled + 1) / 2 * (space.high - space.low)
        return np.clip(found, space.low, space.high).astype(space.dtype)  # type: ignore[no-any-return]
