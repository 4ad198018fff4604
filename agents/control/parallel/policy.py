"""The networks of agents over many environments: an actor and critics behind one normalisation of observations."""

from typing import Any

import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import Schedule

from ...optimizers import FusedAdamW
from ..actor_critic_policy import ActorCriticPolicy
from .normalisation import NormalizedObservations


class NormalizedActorCriticPolicy(ActorCriticPolicy):
    """:class:`ActorCriticPolicy` whose networks and targets see observations through the same running moments.

    Args:
        observation_space: of one environment, flat.
        action_space: of one environment.
        lr_schedule: of all optimisers.
        norm_obs: whether observations are normalised.
        clip_obs: limit of normalised observations, either way.
        optimizer_class: :class:`~tiltyard.agents.optimizers.FusedAdamW` by default.
        **kwargs: of :class:`ActorCriticPolicy`.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Box,
        lr_schedule: Schedule,
        *,
        norm_obs: bool = True,
        clip_obs: float = 10.0,
        optimizer_class: type[th.optim.Optimizer] = FusedAdamW,
        **kwargs: Any,
    ) -> None:
        self._normalizer: list[NormalizedObservations] = []  # in a list, which modules do not look into
        if norm_obs:
            kwargs |= {"features_extractor_class": NormalizedObservations}
            kwargs["features_extractor_kwargs"] = {"clip_obs": clip_obs}
        super().__init__(observation_space, action_space, lr_schedule, optimizer_class=optimizer_class, **kwargs)

    def make_features_extractor(self) -> BaseFeaturesExtractor:
        """The same normalisation for all networks, if there is one."""
        made = self._normalizer[0] if self._normalizer else super().make_features_extractor()
        if isinstance(made, NormalizedObservations):
            self._normalizer = [made]
        return made

    @property
    def normalizer(self) -> NormalizedObservations | None:
        """Of observations."""
        return self._normalizer[0] if self._normalizer else None
