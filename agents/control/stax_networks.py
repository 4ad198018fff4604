"""What STAX evaluates and learns: policies whose weights are one vector, and the autoencoder of its behaviour space.

Paper: Paolo et al., Discovering and Exploiting Sparse Rewards in a Learned Behavior Space (2021), sec. 4; numbers are
those of the authors' code (github.com/GPaolo/STAX) where the abstract does not say them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch as th
from gymnasium.spaces import Box, Discrete, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn
from torch.nn import functional as F

LARGEST = 64 * 64 * 3
"""Numbers of an observation at most: the images that the paper's autoencoder sees."""
SHARE_HELD_OUT = 5
"""One of so many samples validates the autoencoder."""
PATIENCE = 3
"""Epochs in a row that may raise the validation error; at the next one training stops."""


def check_spaces(observation_space: Space[Any], action_space: Space[Any]) -> None:
    """Refuses what policies of :class:`GenomePolicy` cannot read or do.

    Raises:
        ValueError: observations that are no Box of at most :data:`LARGEST` numbers, or actions that are no Discrete or
            bounded Box.
    """
    if not isinstance(observation_space, Box):
        raise ValueError(
            f"STAX observes Box spaces, not {observation_space}: flatten others with "
            "gymnasium.wrappers.FlattenObservation"
        )
    if (size := int(np.prod(observation_space.shape))) > LARGEST:
        raise ValueError(
            f"STAX reads observations of at most {LARGEST:,} numbers (an image of 64 x 64 in colour), not {size:,}: "
            "make images smaller with gymnasium.wrappers.ResizeObservation"
        )
    if isinstance(action_space, Box) and not action_space.is_bounded():
        raise ValueError(f"STAX needs bounds of actions, and {action_space} has none: bound them by a wrapper")
    if not isinstance(action_space, Box | Discrete):
        raise ValueError(f"STAX acts in Box or Discrete spaces, not in {action_space}: choose another agent")


def genome_size(widths: Sequence[int]) -> int:
    """Numbers of a network of these widths, inputs first: weights and a bias for each unit."""
    return sum((n_in + 1) * n_out for n_in, n_out in zip(widths, widths[1:], strict=False))


def outputs_of(genomes: Tensor, inputs: Tensor, widths: Sequence[int]) -> Tensor:
    """Outputs in [-1, 1], ``[B, widths[-1]]``, of networks ``[B, genome_size]``, each on its inputs ``[B, widths[0]]``.

    Every layer is followed by tanh, the last one too. A layer's weights are ``[in, out]``, then come its biases.
    """
    found, at = inputs, 0
    for n_in, n_out in zip(widths, widths[1:], strict=False):
        weight = genomes[:, at : at + n_in * n_out].reshape(-1, n_in, n_out)
        bias = genomes[:, at + n_in * n_out : at + (n_in + 1) * n_out]
        found = th.tanh(th.baddbmm(bias.unsqueeze(1), found.unsqueeze(1), weight).squeeze(1))
        at += (n_in + 1) * n_out
    return found


class GenomePolicy(BasePolicy):
    """A deterministic policy whose weights are one vector, its genome; it also acts by many genomes at once.

    Observations are read flat, images divided by 255, other numbers as they are. In a Box, outputs in [-1, 1] are
    scaled to its bounds; of a Discrete space the largest output is the action.

    Args:
        observation_space: Box, see :func:`check_spaces`.
        action_space: bounded Box or Discrete.
        lr_schedule: not used.
        net_arch: widths of hidden layers.
        **kwargs: of SB3's ``BasePolicy``.

    Raises:
        ValueError: other spaces.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        net_arch: list[int] | None = None,
        **kwargs: Any,
    ) -> None:
        check_spaces(observation_space, action_space)
        super().__init__(observation_space, action_space, squash_output=isinstance(action_space, Box), **kwargs)
        if isinstance(action_space, Discrete):
            n_out = int(action_space.n)
        else:
            n_out = int(np.prod(action_space.shape or ()))
        hidden = [5, 5] if net_arch is None else list(net_arch)
        self.widths = [int(np.prod(observation_space.shape or ())), *hidden, n_out]
        self.net_arch, self._scale = hidden, 1 / 255 if is_image_space(observation_space) else 1.0
        self.genome = nn.Parameter(th.zeros(genome_size(self.widths)), requires_grad=False)

    def features(self, observations: Any) -> Tensor:
        """Observations ``[B, ...]`` as networks read them, ``[B, widths[0]]``."""
        return th.as_tensor(observations, device=self.device).flatten(1).float() * self._scale

    def decided(self, genomes: Tensor, observations: Any) -> Tensor:
        """Actions of genomes ``[B, genome_size]``, each on its own observation; of a Box within [-1, 1]."""
        found = outputs_of(genomes, self.features(observations), self.widths)
        if isinstance(self.action_space, Discrete):
            return found.argmax(dim=1) + int(self.action_space.start)
        return found.reshape(-1, *(self.action_space.shape or ()))

    def act(self, genomes: Tensor, observations: Any) -> Any:
        """Actions ``[B, ...]`` as the environment takes them."""
        with th.no_grad():
            found = self.decided(genomes, observations).cpu().numpy()
        return self.unscale_action(found) if isinstance(self.action_space, Box) else found

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """As :meth:`_predict`."""
        return self._predict(*args, **kwargs)

    def _predict(self, observation: PyTorchObs, deterministic: bool = False) -> Tensor:
        assert isinstance(observation, Tensor)
        return self.decided(self.genome.expand(len(observation), -1), observation)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        known = super()._get_constructor_parameters()
        known.pop("normalize_images", None)
        return known | {"lr_schedule": self._dummy_schedule, "net_arch": self.net_arch}


class Autoencoder(nn.Module):
    """Descriptors of observations, and how badly those are reconstructed from them.

    A fully connected network with SELU in between. Inputs are standardised by the moments of the samples that it last
    learnt from; those of images are left as they are, in [0, 1].

    Args:
        n_in: numbers of an observation.
        descriptor_size: numbers of its descriptor.
        width: of the hidden layers.
        standardise: whether inputs are standardised.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, n_in: int, descriptor_size: int, width: int, *, standardise: bool) -> None:
        super().__init__()
        self.standardise = standardise
        self.encoder = nn.Sequential(nn.Linear(n_in, width), nn.SELU(), nn.Linear(width, descriptor_size))
        self.decoder = nn.Sequential(nn.Linear(descriptor_size, width), nn.SELU(), nn.Linear(width, n_in))
        self.register_buffer("mean", th.zeros(n_in))
        self.register_buffer("std", th.ones(n_in))

    def forward(self, views: Tensor) -> tuple[Tensor, Tensor]:
        """Descriptors ``[B, descriptor_size]`` and mean squared errors ``[B]`` of observations ``[B, n_in]``."""
        inputs = (views - self.mean) / self.std
        found = self.encoder(inputs)
        return found, F.mse_loss(self.decoder(found), inputs, reduction="none").mean(dim=1)

    @th.no_grad()
    def described(self, views: Tensor, n_views: int) -> tuple[Tensor, Tensor]:
        """Descriptors ``[B, n_views * descriptor_size]`` and surprise ``[B]`` of views ``[B, n_views * n_in]``.

        The surprise is the sum of the errors of an individual's observations.
        """
        found, errors = self(views.reshape(-1, len(self.mean)))
        return found.reshape(len(views), n_views * found.shape[1]), errors.reshape(len(views), n_views).sum(dim=1)

    def learn(
        self, views: Tensor, optimizer: th.optim.Optimizer, *, n_epochs: int, batch_size: int, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Learns to reconstruct observations ``[B, n_in]``; the validation error before and after.

        A fifth of them is held out; training stops once the error on those has risen in four epochs in a row.

        Raises:
            ValueError: fewer than two observations.
        """
        if len(views) < 2:
            raise ValueError(f"an autoencoder needs two observations to learn from at least, got {len(views)}")
        if self.standardise:
            self.mean.copy_(views.mean(dim=0))
            self.std.copy_(views.std(dim=0).clamp(min=1e-3))
        order = th.as_tensor(rng.permutation(len(views)))
        held = max(1, len(views) // SHARE_HELD_OUT)
        checked, shown = views[order[:held]], views[order[held:]]
        begun = before = after = self._error(checked)
        risen = 0
        for _ in range(n_epochs):
            for rows in th.split(th.as_tensor(rng.permutation(len(shown))), batch_size):
                loss = self(shown[rows])[1].mean()
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
            after = self._error(checked)
            if after <= before:
                risen, before = 0, after
            elif (risen := risen + 1) > PATIENCE:
                break
        return begun, after

    @th.no_grad()
    def _error(self, views: Tensor) -> float:
        return float(self(views)[1].mean())
