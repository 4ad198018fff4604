"""Networks of SPR: an encoder, a dueling head on its latents, and a transition model between latents.

Paper: Schwarzer, Anand, Goel, Hjelm, Courville and Bachman, Data-Efficient Reinforcement Learning with Self-Predictive
Representations (2020), section 2 and appendix. "The authors' code" is github.com/mila-iqia/spr, ``src/models.py``.
"""

from typing import Any

import numpy as np
import torch as th
from gymnasium.spaces import Box, Discrete
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

from ..optimizers import Adam
from ..policy_files import SafePolicy

LARGE = 64
"""Pixels of a side from which images are read by the three convolutions of Atari agents."""
ADAM_EPS = 1.5e-4
"""Of the authors' configuration."""


def renormalised(latents: Tensor) -> Tensor:
    """Every latent ``[B, ...]`` scaled to [0, 1] by its own least and largest entry, so that rollouts cannot drift."""
    flat = latents.flatten(1)
    low, high = flat.amin(1, keepdim=True), flat.amax(1, keepdim=True)
    return ((flat - low) / (high - low).clamp_min(1e-6)).view_as(latents)


class Encoder(BaseFeaturesExtractor):
    """Latents of observations: ``[B, C, H, W]`` of images, ``[B, D]`` of vectors, each renormalised.

    Images of 64 pixels a side or more pass the convolutions of Atari agents (8, 4, 3 wide with strides 4, 2, 1);
    smaller ones three that are 3 wide, the second with stride 2. Vectors pass two layers.

    Args:
        observation_space: images with channels first, or vectors.
        filters: of the convolutions; of vectors the last one is the width.
    """

    def __init__(self, observation_space: Box, filters: tuple[int, ...] | list[int] = (32, 64, 64)) -> None:
        super().__init__(observation_space, features_dim=1)
        if len(filters) != 3 or min(filters) < 1:
            raise ValueError(f"filters are the numbers of filters of three convolutions, got {list(filters)}")
        shape = observation_space.shape
        if len(shape) == 1:
            width = filters[-1]
            self.net = nn.Sequential(nn.Linear(shape[0], width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        else:
            atari, small = ((8, 4, 0), (4, 2, 0), (3, 1, 0)), ((3, 1, 1), (3, 2, 1), (3, 1, 1))
            layers: list[nn.Module] = []
            sizes = atari if min(shape[1:]) >= LARGE else small
            for before, after, (kernel, stride, padding) in zip((shape[0], *filters), filters, sizes, strict=False):
                layers += [nn.Conv2d(before, after, kernel, stride, padding), nn.ReLU()]
            self.net = nn.Sequential(*layers)
        with th.no_grad():
            self.latent_shape = tuple(self.net(th.zeros(1, *shape)).shape[1:])
        self._features_dim = int(np.prod(self.latent_shape))

    def forward(self, observations: Tensor) -> Tensor:
        """See the class; observations are preprocessed."""
        return renormalised(self.net(observations.float()))


class DuelingHead(nn.Module):
    """Q-values ``[B, A]`` of latents, the sum of a value and of advantages less their mean.

    Args:
        size: entries of a latent.
        actions: how many.
        width: of both hidden layers, which are also SPR's projection.
    """

    def __init__(self, size: int, actions: int, width: int) -> None:
        super().__init__()
        self.value_hidden, self.advantage_hidden = nn.Linear(size, width), nn.Linear(size, width)
        self.value, self.advantage = nn.Linear(width, 1), nn.Linear(width, actions)

    def project(self, latents: Tensor) -> Tensor:
        """Both hidden layers before their activation, ``[B, 2 * width]``."""
        flat = latents.flatten(1)
        return th.cat([self.value_hidden(flat), self.advantage_hidden(flat)], dim=1)

    def forward(self, latents: Tensor) -> Tensor:
        """See the class."""
        value, advantage = self.project(latents).relu().chunk(2, dim=1)
        advantages = self.advantage(advantage)
        return th.as_tensor(self.value(value) + advantages - advantages.mean(dim=1, keepdim=True))


class Transition(nn.Module):
    """The next latent of a latent and an action, renormalised: two convolutions (or layers, of vectors).

    The action is one-hot, of images a plane of ones for each; batch normalisation is between the two.

    Args:
        latent_shape: ``[C, H, W]`` or ``[D]``.
        actions: how many.
    """

    def __init__(self, latent_shape: tuple[int, ...], actions: int) -> None:
        super().__init__()
        width, self.actions = latent_shape[0], actions
        if len(latent_shape) == 1:
            hidden: tuple[nn.Module, ...] = (nn.Linear(width + actions, width), nn.ReLU(), nn.BatchNorm1d(width))
            self.net = nn.Sequential(*hidden, nn.Linear(width, width))
        else:
            hidden = (nn.Conv2d(width + actions, width, 3, padding=1), nn.ReLU(), nn.BatchNorm2d(width))
            self.net = nn.Sequential(*hidden, nn.Conv2d(width, width, 3, padding=1))

    def forward(self, latents: Tensor, actions: Tensor) -> Tensor:
        """Of latents ``[B, ...]`` and actions ``[B]``."""
        chosen = nn.functional.one_hot(actions, self.actions).to(latents.dtype)
        planes = chosen.view(*chosen.shape, *([1] * (latents.ndim - 2))).expand(-1, -1, *latents.shape[2:])
        return renormalised(th.relu(self.net(th.cat([latents, planes], dim=1))))


class SPRNetwork(QNetwork):
    """Encoder, head, transition model and predictor; as a network it gives Q-values."""

    features_extractor: Encoder

    def __init__(
        self,
        observation_space: Box,
        action_space: Discrete,
        features_extractor: Encoder,
        features_dim: int,
        net_arch: list[int],
        activation_fn: type[nn.Module] = nn.ReLU,
        normalize_images: bool = True,
    ) -> None:
        super().__init__(
            observation_space, action_space, features_extractor, features_dim, [], activation_fn, normalize_images
        )
        actions, (width,) = int(action_space.n), net_arch
        self.q_net = DuelingHead(features_dim, actions, width)  # type: ignore[assignment]
        self.transition = Transition(features_extractor.latent_shape, actions)
        self.predictor = nn.Linear(2 * width, 2 * width)

    def encode(self, observations: PyTorchObs) -> Tensor:
        """Latents of observations ``[B, ...]`` as they are stored."""
        return self.extract_features(observations, self.features_extractor)

    def project(self, latents: Tensor) -> Tensor:
        """Projections ``[B, 2 * width]``."""
        return th.as_tensor(self.q_net.project(latents))  # type: ignore[operator]


class SPRPolicy(SafePolicy, DQNPolicy):
    """SB3's policy of DQN on :class:`SPRNetwork`, with a third copy that moves slowly: the targets of predictions.

    Args:
        observation_space: images or vectors.
        action_space: discrete.
        lr_schedule: of the optimiser.
        net_arch: the width of both hidden layers of the head.
        filters: of :class:`Encoder`.
        normalize_images: whether images are divided by 255.
        optimizer_class: of all networks.
        optimizer_kwargs: by default Adam's eps of the authors, 1.5e-4.
    """

    q_net: SPRNetwork
    q_net_target: SPRNetwork

    def __init__(
        self,
        observation_space: Box,
        action_space: Discrete,
        lr_schedule: Schedule,
        net_arch: list[int] | None = None,
        filters: list[int] | None = None,
        normalize_images: bool = True,
        optimizer_class: type[th.optim.Optimizer] = Adam,
        optimizer_kwargs: dict[str, Any] | None = None,
    ) -> None:
        net_arch = [256] if net_arch is None else net_arch
        if len(net_arch) != 1 or net_arch[0] < 1:
            raise ValueError(f"net_arch is the one width of the head's hidden layers, such as [256], got {net_arch}")
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch,
            features_extractor_class=Encoder,
            features_extractor_kwargs={"filters": list(filters or (32, 64, 64))},
            normalize_images=normalize_images,
            optimizer_class=optimizer_class,
            optimizer_kwargs={"eps": ADAM_EPS} if optimizer_kwargs is None else optimizer_kwargs,
        )

    def make_q_net(self) -> SPRNetwork:
        """One of the three networks."""
        return SPRNetwork(**self._update_features_extractor(self.net_args)).to(self.device)

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        self.q_net_momentum = self.make_q_net()
        self.q_net_momentum.load_state_dict(self.q_net.state_dict())
        self.q_net_momentum.set_training_mode(False)
