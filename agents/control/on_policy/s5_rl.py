"""PPO whose memory is a stack of S5 layers: sequences are learnt from without a step-by-step recurrent network."""

from typing import Any, ClassVar

import torch as th
from gymnasium.spaces import Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.torch_layers import CombinedExtractor, NatureCNN
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from .recurrent import MemoryPolicy
from .recurrent_ppo import RecurrentPPO
from .state_space import S5Layer


class S5Policy(MemoryPolicy):
    """A policy whose memory is a stack of S5 layers: real and imaginary parts of their states.

    Args:
        observation_space: of one environment.
        action_space: of one environment; Box, Discrete, MultiDiscrete or MultiBinary.
        lr_schedule: of the learning rate.
        s5_width: of the layers' inputs and outputs; features are brought to it by a linear layer and a leaky ReLU.
        s5_states: of each layer, even; one of each conjugate pair is kept.
        n_s5_layers: how many layers lie on each other.
        **kwargs: of :class:`~.recurrent.MemoryPolicy`.

    Raises:
        ValueError: ``s5_states`` is odd or less than 2, or there is no layer.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        s5_width: int = 64,
        s5_states: int = 64,
        n_s5_layers: int = 2,
        **kwargs: Any,
    ) -> None:
        if n_s5_layers < 1 or s5_width < 1:
            raise ValueError(f"n_s5_layers and s5_width must be at least 1, got {n_s5_layers} and {s5_width}")
        self.s5_width, self.s5_states, self.n_s5_layers = s5_width, s5_states, n_s5_layers
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)

    def _build_memory(self) -> int:
        self.s5_input = nn.Sequential(nn.Linear(self.features_dim, self.s5_width), nn.LeakyReLU())
        self.s5 = nn.ModuleList(S5Layer(self.s5_width, self.s5_states) for _ in range(self.n_s5_layers))
        return self.s5_width

    @property
    def memory_size(self) -> tuple[int, int]:
        """See :class:`~.recurrent.MemoryPolicy`."""
        return self.n_s5_layers, self.s5_states // 2

    def remembered(self, features: Tensor, memory: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        """See :class:`~.recurrent.MemoryPolicy`."""
        out, after = self.s5_input(features), []
        for layer, real, imaginary in zip(self.s5, memory[0], memory[1], strict=True):
            out, state = layer(out, th.complex(real, imaginary), starts)
            after.append(state)
        states = th.stack(after)
        return out, th.stack((states.real, states.imag))


class S5CnnPolicy(S5Policy):
    """Images, read by the network of the Nature paper (2015)."""

    extractor = NatureCNN


class S5MultiInputPolicy(S5Policy):
    """Dictionaries of observations, each part read by a network of its kind."""

    extractor = CombinedExtractor


class S5PPO(RecurrentPPO):
    """:class:`~.recurrent_ppo.RecurrentPPO` with S5 layers in place of the LSTM.

    States of a linear recurrence are reset where episodes begin without cutting the sequence there, which an LSTM has
    to be: the more environments a minibatch holds, the more often one of them begins. Sequences may therefore be long.

    Paper: Lu et al., Structured State Space Models for In-Context Reinforcement Learning (2023), section 3; the layers
    are in :mod:`.state_space`.

    Args:
        policy: "MlpPolicy", "CnnPolicy", "MultiInputPolicy" or a class of such; ``policy_kwargs`` of the memory are
            ``s5_width``, ``s5_states`` and ``n_s5_layers``.
        env: to learn in.
        **kwargs: of :class:`~.recurrent_ppo.RecurrentPPO`.
    """

    policy_aliases: ClassVar[dict[str, type[BasePolicy]]] = {
        "MlpPolicy": S5Policy,
        "CnnPolicy": S5CnnPolicy,
        "MultiInputPolicy": S5MultiInputPolicy,
    }
