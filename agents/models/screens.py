"""A small encoder of a phone's pixels and goal, for Stable-Baselines3's ``MultiInputPolicy``.

Use: ``PPO("MultiInputPolicy", env, policy_kwargs={"features_extractor_class": ScreenExtractor})`` with the environments
of ``sb3_env("tiltyard/Phone-v1", 8, observation="pixels")``.
"""

import torch as th
from gymnasium.spaces import Dict, Space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn


class ScreenExtractor(BaseFeaturesExtractor):
    """Convolutions over the screen and its coordinates, modulated by the goal's words.

    Three convolutions of stride 2 make a map of an eighth of the screen's size; each channel of the last two is scaled
    and shifted by what a linear layer says of the goal (FiLM: Perez et al., FiLM: Visual Reasoning with a General
    Conditioning Layer (2018), eq. 2). Positions stay: coordinates are two input channels (CoordConv: Liu et al., 2018),
    and the map is flattened after its channels have been narrowed, so that a place on the screen remains a place.

    Args:
        observation_space: ``Dict(screen: [C, H, W] image, goal: [bits])``, as :class:`~tiltyard.wrappers.pixels.Pixels`
            makes it and SB3 transposes it.
        features_dim: size of the features.
        channels: of the last two maps.

    Raises:
        ValueError: no screen and goal among the observations.
    """

    def __init__(self, observation_space: Space[object], features_dim: int = 256, channels: int = 48) -> None:
        super().__init__(observation_space, features_dim)
        if not isinstance(observation_space, Dict) or not {"screen", "goal"} <= observation_space.keys():
            raise ValueError(f"a ScreenExtractor reads observations with screen and goal, got {observation_space}")
        shape, words = observation_space["screen"].shape, observation_space["goal"].shape
        assert shape is not None
        assert words is not None
        depth, height, width = shape
        self.first = nn.Conv2d(depth + 2, 32, 5, stride=2, padding=2)
        self.second = nn.Conv2d(32, channels, 3, stride=2, padding=1)
        self.third = nn.Conv2d(channels, channels, 3, stride=2, padding=1)
        self.modulation = nn.Linear(words[0], 4 * channels)
        self.narrow = nn.Conv2d(channels, 8, 1)
        rows, columns = (-(-size // 8) for size in (height, width))
        self.out = nn.Linear(8 * rows * columns + words[0], features_dim)
        y, x = th.meshgrid(th.linspace(-1, 1, height), th.linspace(-1, 1, width), indexing="ij")
        self.register_buffer("coordinates", th.stack([x, y])[None], persistent=False)

    def forward(self, observations: dict[str, Tensor]) -> Tensor:
        """Features ``[B, features_dim]`` of screens ``[B, C, H, W]`` in [0, 1] and goals ``[B, bits]``."""
        screen, goal = observations["screen"], observations["goal"]
        coordinates = self.get_buffer("coordinates").expand(len(screen), -1, -1, -1)
        scale_2, shift_2, scale_3, shift_3 = self.modulation(goal)[:, :, None, None].chunk(4, dim=1)
        seen = self.first(th.cat([screen, coordinates], dim=1)).relu()
        seen = ((1 + scale_2) * self.second(seen) + shift_2).relu()
        seen = ((1 + scale_3) * self.third(seen) + shift_3).relu()
        places = self.narrow(seen).relu().flatten(1)
        features: Tensor = self.out(th.cat([places, goal], dim=1)).relu()
        return features
