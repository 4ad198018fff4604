"""The networks of Dreamer and RePo: a world model, an actor and a value on its states; acting remembers an episode."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn
from torch.nn.functional import softplus

from ..optimizers import Adam
from ..policy_files import SafePolicy
from .rssm import RSSM, Gaussian, Latent, perceptron

State = tuple[npt.NDArray[Any], ...]
MEAN_LIMIT = 5.0
"""Means before the tanh lie within it, as in the authors' code."""


class WorldModel(nn.Module):
    """A recurrent state-space model that predicts rewards and whether an episode goes on, and may see observations.

    Args:
        width: of an observation.
        actions: width of an action.
        belief_size: of the recurrent part of a state.
        stoch_size: of its stochastic part.
        hidden_size: of hidden layers.
        **size: ``embedding_size``, the width of encoded observations.
    """

    def __init__(self, width: int, actions: int, belief_size: int, stoch_size: int, hidden_size: int, **size: int):
        super().__init__()
        self.rssm = RSSM(width, actions, belief_size, stoch_size, hidden_size, **size)
        self.features = belief_size + stoch_size
        self.outlook = perceptron(self.features, [hidden_size, hidden_size], 2)
        self.decoder = perceptron(self.features, [hidden_size, hidden_size], width)

    def foreseen(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """The mean reward of arriving in states ``[..., features]``, and the logit of going on there, ``[...]``."""
        rewards, going_on = self.outlook(features).unbind(-1)
        return rewards, going_on


class LatentActor(nn.Module):
    """A Gaussian squashed by tanh, on states of the model.

    Args:
        features: width of a state.
        hidden_size: of its hidden layers.
        actions: width of an action.
    """

    def __init__(self, features: int, hidden_size: int, actions: int) -> None:
        super().__init__()
        self.net = perceptron(features, [hidden_size, hidden_size], 2 * actions)

    def gaussian(self, features: Tensor) -> Gaussian:
        """Before the tanh."""
        mean, std = Gaussian.of(self.net(features))
        return Gaussian(MEAN_LIMIT * th.tanh(mean / MEAN_LIMIT), std)

    def sample(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Actions ``[..., A]`` in [-1, 1], and the logarithm of their density ``[...]``; gradients pass through."""
        found = self.gaussian(features)
        raw = found.sample()
        within = -0.5 * ((raw - found.mean) / found.std).square() - found.std.log() - 0.5 * math.log(2 * math.pi)
        squashed = 2 * (math.log(2) - raw - softplus(-2 * raw))  # log(1 - tanh^2)
        return raw.tanh(), (within - squashed).sum(dim=-1)


class LatentPolicy(SafePolicy, BasePolicy):
    """The world model, an actor and a value; ``predict`` remembers an episode by the state that it returns.

    Args:
        observation_space: of the environment; a flat Box.
        action_space: of the environment; a Box.
        lr_schedule: of the model's optimiser.
        belief_size: of the recurrent part of a state.
        stoch_size: of its stochastic part.
        hidden_size: of hidden layers.
        embedding_size: of encoded observations.

    Attributes:
        model: see :class:`WorldModel`.
        actor: see :class:`LatentActor`.
        value: of a state.
        log_multiplier: of the bound on what a state tells of its observation.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        belief_size: int = 200,
        stoch_size: int = 30,
        hidden_size: int = 200,
        embedding_size: int = 200,
    ) -> None:
        super().__init__(observation_space, action_space)
        assert isinstance(observation_space, Box)
        assert isinstance(action_space, Box)
        width, self.actions = observation_space.shape[0], math.prod(action_space.shape)
        self.belief_size, self.stoch_size = belief_size, stoch_size
        self.model = WorldModel(
            width, self.actions, belief_size, stoch_size, hidden_size, embedding_size=embedding_size
        )
        self.actor = LatentActor(self.model.features, hidden_size, self.actions)
        self.value = perceptron(self.model.features, [hidden_size, hidden_size], 1)
        self.log_multiplier = nn.Parameter(th.zeros(()))
        rate = float(lr_schedule(1))
        self.model_optimizer = Adam(self.model.parameters(), rate, fused=True)
        self.actor_optimizer = Adam(self.actor.parameters(), rate, fused=True)
        self.value_optimizer = Adam(self.value.parameters(), rate, fused=True)
        self.multiplier_optimizer = Adam([self.log_multiplier], rate)

    @property
    def optimizers(self) -> list[th.optim.Optimizer]:
        """Of all that learns."""
        return [self.model_optimizer, self.actor_optimizer, self.value_optimizer, self.multiplier_optimizer]

    def forward(self, obs: Tensor, deterministic: bool = False) -> Tensor:
        """Actions ``[B, A]`` in [-1, 1] at the first observations of episodes."""
        return self._predict(obs, deterministic)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        latent = self.model.rssm.initial(len(observation))
        nothing = latent.stoch.new_zeros(len(observation), self.actions)
        return self._step(latent, nothing, observation, deterministic)[1]

    def _step(self, latent: Latent, before: Tensor, seen: Tensor, deterministic: bool) -> tuple[Latent, Tensor]:
        """The next state and its action."""
        rssm = self.model.rssm
        belief = rssm.believed(latent, before)
        posterior = rssm.posterior(belief, rssm.encoder(seen.float()))
        latent = Latent(belief, posterior.mean if deterministic else posterior.sample())
        if deterministic:
            return latent, self.actor.gaussian(latent.features).mean.tanh()
        return latent, self.actor.sample(latent.features)[0]

    @th.no_grad()
    def predict(
        self,
        observation: Any,
        state: State | None = None,
        episode_start: npt.NDArray[Any] | None = None,
        deterministic: bool = False,
    ) -> tuple[npt.NDArray[Any], State]:
        """As in SB3; give the state that it returned with the next observation.

        The state has the belief ``[n, H]``, the stochastic part ``[n, Z]`` and the action ``[n, A]`` in [-1, 1], which
        is that returned: where another was taken, put it there.

        Raises:
            ValueError: a state of another number of observations.
        """
        self.set_training_mode(False)
        seen, is_batch = self.obs_to_tensor(observation)
        assert isinstance(seen, Tensor)
        n = len(seen)
        parts: State = tuple(
            np.zeros((n, size), np.float32) for size in (self.belief_size, self.stoch_size, self.actions)
        )
        if state is not None:
            if [part.shape for part in state] != [part.shape for part in parts]:
                shapes = ", ".join(str(part.shape) for part in parts)
                raise ValueError(f"a state for {n} observations has arrays of shapes {shapes}")
            new = np.zeros(n, np.bool_) if episode_start is None else np.asarray(episode_start, np.bool_)
            parts = tuple(np.where(new[:, None], none, old) for none, old in zip(parts, state, strict=True))
        belief, stoch, before = (th.as_tensor(part, device=self.device) for part in parts)
        latent, action = self._step(Latent(belief, stoch), before, seen, deterministic)
        chosen = action.cpu().numpy()
        shown: Any = self.unscale_action(chosen.reshape(n, *self.action_space.shape))  # type: ignore[misc]
        return (shown if is_batch else shown[0]), (latent.belief.cpu().numpy(), latent.stoch.cpu().numpy(), chosen)
