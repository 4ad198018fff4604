"""The policy of the elements face for Stable-Baselines3: see :mod:`tiltyard.agents.models.elements`."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch as th
from gymnasium.spaces import Dict, MultiDiscrete, Space
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn

from ...envs.gui.elements import SIZES
from ..models.elements import ActionDistribution, ActionHeads, ElementsNetwork, Encoded, Shape
from ..models.elements_base import PARTS, read_elements_base
from ..policy_files import SafePolicy

Seen = Mapping[str, Tensor]


def reads(observation_space: Space[Any]) -> bool:
    """Whether observations are elements and goal words."""
    return isinstance(observation_space, Dict) and observation_space.keys() == {"elements", "goal"}


def check_spaces(observation_space: Space[Any], action_space: Space[Any]) -> None:
    """Raises ``TypeError`` for spaces of any other face."""
    fits = isinstance(action_space, MultiDiscrete) and tuple(action_space.nvec.tolist()) == SIZES
    if not (reads(observation_space) and fits):
        raise TypeError(
            f"this policy reads elements and acts in verb, element and words, but the spaces are {observation_space} "
            f'and {action_space}: make the phone with observation="elements"'
        )


class ElementsPolicy(SafePolicy, ActorCriticPolicy):
    """Actor and value of elements and goal words; both read one network.

    Args:
        observation_space: ``Dict(elements, goal)``.
        action_space: verb, element, second, start, length.
        lr_schedule: of the learning rate.
        width: of hidden states.
        layers: of self-attention.
        heads: of each.
        token_width: of a word's embedding.
        base: weights to begin from, a name of :data:`~tiltyard.agents.models.elements_base.BASES` or a file; it brings
            its own width, layers, heads and token_width.
        **kwargs: of SB3's ``ActorCriticPolicy``; those of its own networks have no effect.

    Raises:
        TypeError: other spaces.
        FileNotFoundError, ValueError: no such base, or a damaged one.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        width: int = 96,
        layers: int = 2,
        heads: int = 4,
        token_width: int = 64,
        base: str | None = None,
        **kwargs: Any,
    ) -> None:
        check_spaces(observation_space, action_space)
        if width % heads:
            raise ValueError(f"width is a multiple of heads, got {width} and {heads}")
        self.shape = Shape(width, layers, heads, token_width)
        weights: dict[str, Tensor] = {}
        if base is not None:
            self.shape, weights = read_elements_base(base)
        kwargs = {"ortho_init": False, "features_extractor_class": FlattenExtractor, **kwargs}
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)
        if weights:
            self._begin_from(weights, str(base))

    def _begin_from(self, weights: Mapping[str, Tensor], base: str) -> None:
        own = {name: value for name, value in self.state_dict().items() if name.startswith(PARTS)}
        if own.keys() != weights.keys() or any(own[name].shape != weights[name].shape for name in own):
            raise ValueError(f"base {base} is of another network than this version's: make it anew")
        self.load_state_dict({**self.state_dict(), **{name: value.float() for name, value in weights.items()}})

    def _build(self, lr_schedule: Schedule) -> None:
        self.network, self.heads = ElementsNetwork(self.shape), ActionHeads(self.shape.width)
        width = self.shape.width
        self.value = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))
        make: Any = partial(self.optimizer_class, **self.optimizer_kwargs)
        self.optimizer = make(self.parameters(), lr=lr_schedule(1))

    def encoded(self, obs: PyTorchObs) -> Encoded:
        """Hidden states of observations."""
        assert isinstance(obs, Mapping)
        found: Encoded = self.network(obs["elements"], obs["goal"])
        return found

    def distribution(self, obs: PyTorchObs) -> ActionDistribution:
        """What to do."""
        found: ActionDistribution = self.heads(self.encoded(obs))
        return found

    def forward(self, obs: PyTorchObs, deterministic: bool = False) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[override]
        """Actions ``[B, 5]``, values ``[B, 1]`` and log-probabilities ``[B]``."""
        seen = self.encoded(obs)
        distribution: ActionDistribution = self.heads(seen)
        actions = distribution.actions(deterministic)
        return actions, self.value(seen.summary), distribution.log_prob(actions)

    def evaluate_actions(self, obs: PyTorchObs, actions: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Values ``[B, 1]``, log-probabilities and entropies ``[B]``."""
        seen = self.encoded(obs)
        distribution: ActionDistribution = self.heads(seen)
        return self.value(seen.summary), distribution.log_prob(actions), distribution.entropy()

    def predict_values(self, obs: PyTorchObs) -> Tensor:
        """``[B, 1]``."""
        values: Tensor = self.value(self.encoded(obs).summary)
        return values

    def _predict(self, observation: PyTorchObs, deterministic: bool = False) -> Tensor:
        with th.no_grad():
            return self.distribution(observation).actions(deterministic)
