"""SB3's actor-critic policies with normalised observations, masked actions and fewer calls a step."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch as th
from gymnasium.spaces import Box, Dict, Discrete, MultiDiscrete, Space
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.preprocessing import is_image_space
from stable_baselines3.common.torch_layers import CombinedExtractor, NatureCNN
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import Tensor, nn

from ...optimizers import Adam
from ...policy_files import SafePolicy
from .distributions import StateDependentGaussian, distribution_of, masked
from .moments import RunningMoments

MASK = "action_mask"
"""The key of a dictionary observation that says which actions are allowed (1) and which are not (0)."""


class NormalizedPolicy(SafePolicy, ActorCriticPolicy):
    """SB3's ``MlpPolicy`` (the same networks, weights drawn in the same order), with three additions.

    * Observations are normalised by running moments, which are part of the policy and so of its checkpoint; images,
      choices and masks are not.
    * Of a dictionary observation the part :data:`MASK`, ``[n]`` for ``Discrete(n)`` and ``[sum(nvec)]`` for
      ``MultiDiscrete(nvec)``, forbids actions where it is 0.
    * Actions, log-probabilities and entropies are computed by :mod:`.distributions`.

    With ``use_sde=True`` noise is linear in the actor's last hidden layer, as in SB3: see
    :class:`~.distributions.StateDependentGaussian`.

    Args:
        observation_space: of one environment.
        action_space: of one environment; Box, Discrete, MultiDiscrete or MultiBinary.
        lr_schedule: of the learning rate.
        norm_obs: whether to normalise observations.
        clip_obs: limit of normalised observations, either way.
        **kwargs: of SB3's ``ActorCriticPolicy``.

    Raises:
        TypeError: a mask of a wrong size, or an action space that is none of these.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        *,
        norm_obs: bool = True,
        clip_obs: float = 10.0,
        **kwargs: Any,
    ) -> None:
        self.distribution = distribution_of(action_space)
        self.has_mask = isinstance(observation_space, Dict) and MASK in observation_space.spaces
        if self.has_mask:
            check_mask(observation_space[MASK], action_space)  # type: ignore[index]
        is_adam = kwargs.setdefault("optimizer_class", Adam) in (Adam, th.optim.Adam)
        kwargs.setdefault("optimizer_kwargs", {"eps": 1e-5, "fused": True} if is_adam else {})
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)
        self.norm_obs, self.clip_obs = norm_obs, clip_obs
        assert isinstance(self.action_net, nn.Linear)
        self.n_outputs = self.action_net.out_features
        if self.use_sde:
            self.distribution = StateDependentGaussian(self.squash_output)
            self.n_outputs *= 2
            self.reset_noise()
        self.moments = nn.ModuleDict()
        if norm_obs:
            for key, part in _parts(observation_space).items():
                if is_measured(key, part):
                    assert part.shape is not None
                    self.moments[_name(key)] = RunningMoments(part.shape)

    def update_moments(self, observations: Any, rows: Tensor | None = None) -> None:
        """Takes in a batch of observations ``[B, ...]``, or those of its ``rows``."""
        for key, part in _batches(observations).items():
            if _name(key) in self.moments:
                chosen = part if rows is None else part[rows]
                self.moments[_name(key)].update(chosen)  # type: ignore[operator]

    def normalized(self, observations: PyTorchObs) -> PyTorchObs:
        """Observations as the networks read them."""
        if not self.moments:
            return observations
        if not isinstance(observations, Mapping):
            found: Tensor = self.moments[_name("")](observations, self.clip_obs)
            return found
        return {
            key: self.moments[_name(key)](part, self.clip_obs) if _name(key) in self.moments else part
            for key, part in observations.items()
        }

    def outputs(self, observations: PyTorchObs) -> tuple[Tensor, Tensor]:
        """What :attr:`distribution` takes ``[B, K]`` and values ``[B]``, of normalised observations."""
        features = self.extract_features(observations)
        if isinstance(features, tuple):
            actor = self.mlp_extractor.forward_actor(features[0])
            critic = self.mlp_extractor.forward_critic(features[1])
        else:
            actor, critic = self.mlp_extractor(features)
        return self._outputs_of(actor, observations), self.value_net(critic).squeeze(-1)

    def actor_outputs(self, observations: PyTorchObs) -> Tensor:
        """What :attr:`distribution` takes ``[B, K]`` alone."""
        return self._outputs_of(self._actor_latent(observations), observations)

    def drawn(self, outputs: Tensor, observations: PyTorchObs, deterministic: bool = False) -> Tensor:
        """Actions ``[B, ...]``, given :meth:`actor_outputs` of these normalised observations."""
        if self.use_sde and not deterministic:
            maker: Any = self.action_dist
            noise: Tensor = maker.get_noise(self._actor_latent(observations))
            assert isinstance(self.distribution, StateDependentGaussian)
            return self.distribution.squashed(outputs.chunk(2, -1)[0] + noise)
        return self.distribution.sample(outputs, self.noise_scale, deterministic)

    @th.no_grad()
    def reset_noise(self, n_envs: int = 1) -> None:
        """With ``use_sde`` draws the matrices that make noise, one for each of ``n_envs``; without gradients."""
        super().reset_noise(n_envs)

    def critic_values(self, observations: PyTorchObs) -> Tensor:
        """Values ``[B]`` alone, of normalised observations."""
        features = self.extract_features(observations)
        latent = self.mlp_extractor.forward_critic(features[1] if isinstance(features, tuple) else features)
        values: Tensor = self.value_net(latent).squeeze(-1)
        return values

    def forward(self, obs: PyTorchObs, deterministic: bool = False) -> tuple[Tensor, Tensor, Tensor]:  # type: ignore[override]
        """Actions ``[B, ...]``, values ``[B, 1]`` and log-probabilities ``[B]``."""
        seen = self.normalized(obs)
        outputs, values = self.outputs(seen)
        actions = self.drawn(outputs, seen, deterministic)
        logp, _ = self.distribution.log_prob(outputs, self.noise_scale, actions)
        return actions, values.unsqueeze(-1), logp

    def evaluate_actions(self, obs: PyTorchObs, actions: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Values ``[B, 1]``, log-probabilities ``[B]`` and entropies ``[B]`` (or one for all)."""
        values, logp, entropy = self.evaluate_normalized(self.normalized(obs), actions)
        return values.unsqueeze(-1), logp, entropy

    def evaluate_normalized(self, obs: PyTorchObs, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As :meth:`evaluate_actions`, of observations that are normalised already; values ``[B]``."""
        outputs, values = self.outputs(obs)
        logp, entropy = self.distribution.log_prob(outputs, self.noise_scale, actions)
        return values, logp, entropy

    def predict_values(self, obs: PyTorchObs) -> Tensor:
        """``[B, 1]``."""
        return self.critic_values(self.normalized(obs)).unsqueeze(-1)

    def _predict(self, observation: PyTorchObs, deterministic: bool = False) -> Tensor:
        with th.no_grad():
            seen = self.normalized(observation)
            return self.drawn(self.actor_outputs(seen), seen, deterministic)

    def get_distribution(self, obs: PyTorchObs) -> Any:
        """SB3's distribution of actions, for tools that ask for it."""
        seen = self.normalized(obs)
        outputs = self.actor_outputs(seen)
        if self.use_sde:
            means, latent = outputs.chunk(2, -1)[0], self._actor_latent(seen)
            return self.action_dist.proba_distribution(means, self.log_std, latent)  # type: ignore[call-arg]
        if isinstance(self.action_space, Box):
            return self.action_dist.proba_distribution(outputs, self.log_std)  # type: ignore[call-arg]
        return self.action_dist.proba_distribution(action_logits=outputs)  # type: ignore[call-arg]

    @property
    def noise_scale(self) -> Tensor | None:
        """Log standard deviations of actions in a Box, unless they depend on the state."""
        return self.log_std if isinstance(self.action_space, Box) and not self.use_sde else None

    def _actor_latent(self, observations: PyTorchObs) -> Tensor:
        features = self.extract_features(observations)
        return self.mlp_extractor.forward_actor(features[0] if isinstance(features, tuple) else features)

    def _outputs_of(self, latent: Tensor, observations: PyTorchObs) -> Tensor:
        outputs: Tensor = self.action_net(latent)
        if self.use_sde:
            maker: Any = self.action_dist
            return th.cat([outputs, StateDependentGaussian.log_std(latent, maker.get_std(self.log_std))], -1)
        return self._allowed(outputs, observations)

    def _allowed(self, outputs: Tensor, observations: PyTorchObs) -> Tensor:
        if not self.has_mask:
            return outputs
        assert isinstance(observations, Mapping)
        return masked(outputs, observations[MASK])


class NormalizedCnnPolicy(NormalizedPolicy):
    """Images, read by the network of the Nature paper (2015)."""

    def __init__(self, observation_space: Any, action_space: Any, lr_schedule: Schedule, **kwargs: Any) -> None:
        kwargs.setdefault("features_extractor_class", NatureCNN)
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)


class NormalizedMultiInputPolicy(NormalizedPolicy):
    """Dictionaries of observations, each part read by a network of its kind."""

    def __init__(self, observation_space: Any, action_space: Any, lr_schedule: Schedule, **kwargs: Any) -> None:
        kwargs.setdefault("features_extractor_class", CombinedExtractor)
        super().__init__(observation_space, action_space, lr_schedule, **kwargs)


def check_mask(mask: Space[Any], action_space: Space[Any]) -> None:
    """Raises ``TypeError`` unless ``mask`` is as long as there are actions to forbid."""
    options = -1
    if isinstance(action_space, Discrete | MultiDiscrete):
        options = int(action_space.n if isinstance(action_space, Discrete) else action_space.nvec.sum())
    if mask.shape != (options,):
        raise TypeError(
            f"the observation {MASK!r} is {mask} beside actions in {action_space}: a mask has one entry for each "
            "option of a Discrete or MultiDiscrete space"
        )


def is_measured(key: str, space: Space[Any]) -> bool:
    """Whether a part of an observation is made of measurements, which running moments make sense of."""
    return (
        isinstance(space, Box) and key != MASK and np.issubdtype(space.dtype, np.floating) and not is_image_space(space)
    )


def _parts(space: Space[Any]) -> dict[str, Space[Any]]:
    return dict(space.spaces) if isinstance(space, Dict) else {"": space}


def _batches(observations: Any) -> dict[str, Tensor]:
    return dict(observations) if isinstance(observations, Mapping) else {"": observations}


def _name(key: str) -> str:
    """A module's name for a part of an observation; dots have a meaning there."""
    return f"of_{key.replace('.', '-')}"
