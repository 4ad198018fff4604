"""A greedy policy whose values are of the history of observations and actions, with a model of its own latents."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Discrete, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn
from torch.nn.functional import one_hot, softplus

from ..optimizers import FusedAdam
from ..policy_files import SafePolicy
from .updates import Mlp

LEAST_STD = 0.01
State = tuple[npt.NDArray[Any], ...]


class Gaussian(NamedTuple):
    """Diagonal Gaussians."""

    mean: Tensor  # [N, D]
    std: Tensor  # [N, D]


class HistoryValues(nn.Module):
    """Latents of histories, and the values of all actions at them.

    Args:
        width: of an observation.
        n_actions: n.
        feature_dim: of a latent, D.
        net_arch: widths of the hidden layers of the values.
        hidden_size: of the GRU, and of what it reads.
        recurrent: whether there is a GRU; without one a latent is of the last observation alone.
    """

    def __init__(
        self, width: int, n_actions: int, feature_dim: int, net_arch: Sequence[int], hidden_size: int, recurrent: bool
    ) -> None:
        super().__init__()
        self.n_actions, self.recurrent = n_actions, recurrent
        reads = width + n_actions if recurrent else width
        self.read = nn.Sequential(nn.Linear(reads, hidden_size), nn.ReLU())
        step = nn.Sequential(nn.Linear(hidden_size, hidden_size), nn.ReLU())
        self.memory: nn.Module = nn.GRU(hidden_size, hidden_size, batch_first=True) if recurrent else step
        self.out = nn.Linear(hidden_size, feature_dim)
        self.head = Mlp(1, feature_dim, net_arch, n_actions)

    def encode(self, seen: Tensor, before: Tensor, memory: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Latents ``[B, T, D]`` and the memory after the last ``[B, H]``, which is empty without a GRU.

        Args:
            seen: observations ``[B, T, obs]``.
            before: the action before each, ``[B, T]``; n where there was none.
            memory: before the first, ``[B, H]``; an empty one if None.
        """
        if not self.recurrent:
            return self.out(self.memory(self.read(seen))), seen.new_zeros(len(seen), 0)
        known = one_hot(before, self.n_actions + 1)[..., :-1].to(seen.dtype)
        read = self.read(th.cat([seen, known], dim=-1))
        found, after = self.memory(read, None if memory is None else memory.unsqueeze(0))
        return self.out(found), after[0]

    def values(self, latents: Tensor) -> Tensor:
        """Of all actions ``[..., n]`` at latents ``[..., D]``."""
        found: Tensor = self.head(latents.reshape(-1, latents.shape[-1]))[0]
        return found.view(*latents.shape[:-1], self.n_actions)


class LatentModel(nn.Module):
    """The next latent, given one and an action, as a diagonal Gaussian.

    Args:
        feature_dim: of a latent, D.
        n_actions: n.
        net_arch: widths of the hidden layers.
    """

    def __init__(self, feature_dim: int, n_actions: int, net_arch: Sequence[int]) -> None:
        super().__init__()
        self.n_actions, self.net = n_actions, Mlp(1, feature_dim + n_actions, net_arch, 2 * feature_dim)

    def forward(self, latents: Tensor, actions: Tensor) -> Gaussian:
        """After ``latents`` ``[N, D]`` and ``actions`` ``[N]``; standard deviations are at least 0.01."""
        known = one_hot(actions, self.n_actions).to(latents.dtype)
        mean, raw = self.net(th.cat([latents, known], dim=1))[0].chunk(2, dim=1)
        return Gaussian(mean, LEAST_STD + softplus(raw))


class HistoryPolicy(SafePolicy, BasePolicy):
    """Takes the action of the highest value; ``predict`` remembers an episode by the state that it returns.

    Args:
        observation_space: of the environment; a flat Box.
        action_space: of the environment; Discrete from 0 on.
        lr_schedule: of both optimisers.
        net_arch: widths of the hidden layers of the values, and of the model; one of 64 if None.
        hidden_size: of the GRU.
        feature_dim: of a latent.
        recurrent: whether there is a memory; without one the last observation is all that is known.

    Attributes:
        online: latents and values.
        target: follows these.
        model: of the latents.
        optimizer: of ``online``.
        model_optimizer: of ``model``.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        net_arch: Sequence[int] | None = None,
        hidden_size: int = 64,
        feature_dim: int = 32,
        recurrent: bool = True,
    ) -> None:
        super().__init__(observation_space, action_space)
        assert isinstance(observation_space, Box)
        assert isinstance(action_space, Discrete)
        self.n_actions, self.hidden_size = int(action_space.n), hidden_size if recurrent else 0
        widths = [64] if net_arch is None else list(net_arch)
        parts = (observation_space.shape[0], self.n_actions, feature_dim, widths, hidden_size, recurrent)
        self.online, self.target = HistoryValues(*parts), HistoryValues(*parts)
        self.target.load_state_dict(self.online.state_dict())
        self.target.requires_grad_(False)
        self.model = LatentModel(feature_dim, self.n_actions, widths)
        self.optimizer = FusedAdam(list(self.online.parameters()), lr=float(lr_schedule(1)))
        self.model_optimizer = FusedAdam(list(self.model.parameters()), lr=float(lr_schedule(1)))

    @property
    def optimizers(self) -> list[th.optim.Optimizer]:
        """Of all networks that learn."""
        return [self.optimizer, self.model_optimizer]

    def forward(self, obs: Tensor, deterministic: bool = False) -> Tensor:
        """Actions ``[B]`` at the first observations of episodes."""
        return self._predict(obs, deterministic)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        before = th.full((len(observation), 1), self.n_actions, device=observation.device)
        latents, _ = self.online.encode(observation.float()[:, None], before)
        return self.online.values(latents[:, 0]).argmax(dim=1)

    @th.no_grad()
    def predict(
        self,
        observation: Any,
        state: State | None = None,
        episode_start: npt.NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], State]:
        """As in SB3; give the state that it returned with the next observation.

        The state has the memory ``[n, H]`` and the last action ``[n]``, which is that returned: where another was
        taken, put it there.

        Raises:
            ValueError: a state of another number of observations.
        """
        self.set_training_mode(False)
        seen, is_batch = self.obs_to_tensor(observation)
        assert isinstance(seen, Tensor)
        n = len(seen)
        memory, before = (np.zeros((n, self.hidden_size), np.float32), np.full(n, self.n_actions))
        if state is not None:
            if [part.shape for part in state] != [memory.shape, before.shape]:
                raise ValueError(f"a state for {n} observations has arrays of shapes {memory.shape} and {before.shape}")
            new = np.zeros(n, np.bool_) if episode_start is None else np.asarray(episode_start, np.bool_)
            memory, before = np.where(new[:, None], memory, state[0]), np.where(new, before, state[1])
        known, last = (th.as_tensor(part, device=self.device) for part in (memory, before))
        latents, after = self.online.encode(seen.float()[:, None], last[:, None], known)
        chosen = self.online.values(latents[:, 0]).argmax(dim=1).cpu().numpy()
        return (chosen if is_batch else chosen[0]), (after.cpu().numpy(), chosen)
