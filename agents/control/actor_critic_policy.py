"""The policy that holds an actor-critic agent's networks: an actor, critics, and their slowly moving targets."""

from typing import Any, cast

import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, CombinedExtractor, FlattenExtractor, NatureCNN
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from ... import unknown
from ..optimizers import FusedAdam
from ..policy_files import SafePolicy
from .mixture import ExpertActor
from .networks import ACTORS as SIMPLE
from .networks import Actor, Critics, Network
from .state_dependent import StateDependent
from .updates import Mlp

ACTORS: dict[str, type[Actor]] = {
    **SIMPLE,
    "state-dependent": StateDependent,
    "mixture-of-experts": ExpertActor,
}


class ActorCriticPolicy(SafePolicy, BasePolicy):
    """An actor, critics with slowly moving targets, and what else an agent asks for; flat observations.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        lr_schedule: of all optimisers, unless ``actor_lr`` says otherwise.
        net_arch: widths of the hidden layers, or ``{"pi": [...], "qf": [...]}``; two of 256 if None.
        activation_fn: between the layers.
        actor: a name of :data:`ACTORS`.
        mixture: of the actor "mixture-of-experts", keywords of :class:`~.mixture.Mixture`.
        actor_layer_norm: normalise the actor's hidden layers.
        actor_target: whether there is a slowly moving copy of the actor.
        n_critics: critics Q(s, a).
        n_values: critics V(s), without targets.
        critic_head: what critics learn: a name of :data:`~.heads.HEADS`.
        critic_head_kwargs: of the head.
        n_quantiles: of the head "quantile", where sb3-contrib's TQC has it.
        critic_layer_norm: normalise the critics' hidden layers.
        value_layer_norm: normalise the hidden layers of critics V(s).
        orthogonal_init: gain of the last layers where all networks begin orthogonally; see :class:`~.updates.Mlp`.
        log_std_offset: of the actor; see :class:`Actor`.
        log_std_init: with ``use_sde``, the logarithm that the deviations of its noise begin at, -3 if None.
        use_expln: with ``use_sde``, deviations grow exponentially below 1 and logarithmically above.
        clip_mean: with ``use_sde``, limit of means before the squashing, 2 if None; 0 is no limit.
        features_extractor_class: of observations.
        features_extractor_kwargs: of the extractor.
        share_features_extractor: critics see through the actor's extractor, which the actor alone trains; likewise
            their targets through that of the actor's target, if there is one.
        normalize_images: divide images by 255.
        optimizer_class: Adam in one pass by default.
        optimizer_kwargs: of the optimiser.

    Raises:
        ValueError: an unknown actor, or settings of ``use_sde``, of a mixture or of quantiles without them.
    """

    actor: Actor
    actor_target: Actor | None
    critic: Critics
    critic_target: Critics
    value: Critics | None

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Box,
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        activation_fn: type[nn.Module] = nn.ReLU,
        actor: str = "squashed-gaussian",
        mixture: dict[str, Any] | None = None,
        actor_layer_norm: bool = False,
        actor_target: bool = False,
        n_critics: int = 2,
        n_values: int = 0,
        critic_head: str = "mse",
        critic_head_kwargs: dict[str, Any] | None = None,
        n_quantiles: int | None = None,
        critic_layer_norm: bool = False,
        value_layer_norm: bool = False,
        orthogonal_init: float | None = None,
        log_std_offset: float | None = None,
        log_std_init: float | None = None,
        use_expln: bool = False,
        clip_mean: float | None = None,
        features_extractor_class: type[BaseFeaturesExtractor] = FlattenExtractor,
        features_extractor_kwargs: dict[str, Any] | None = None,
        share_features_extractor: bool = False,
        normalize_images: bool = True,
        optimizer_class: type[th.optim.Optimizer] = FusedAdam,
        optimizer_kwargs: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            observation_space,
            action_space,
            features_extractor_class,
            features_extractor_kwargs,
            normalize_images=normalize_images,
            optimizer_class=optimizer_class,
            optimizer_kwargs=optimizer_kwargs,
            squash_output=True,
        )
        if actor not in ACTORS:
            raise ValueError(unknown("actor", actor, ACTORS))
        net_arch = [256, 256] if net_arch is None else net_arch
        arch = net_arch if isinstance(net_arch, dict) else {"pi": net_arch, "qf": net_arch}
        common: dict[str, Any] = {"activation_fn": activation_fn, "normalize_images": normalize_images}
        common["orthogonal"] = orthogonal_init
        actors: dict[str, Any] = {
            "net_arch": arch["pi"],
            "layer_norm": actor_layer_norm,
            "log_std_offset": log_std_offset,
            **_noise_settings(actor, log_std_init=log_std_init, use_expln=use_expln, clip_mean=clip_mean),
            **_mixture_settings(actor, mixture),
        }
        self._actor_kwargs = actors | common
        critics = {"net_arch": arch["qf"], "layer_norm": critic_layer_norm, "head": critic_head, **common}
        self._critic_kwargs = critics | {"head_kwargs": _head_settings(critic_head, critic_head_kwargs, n_quantiles)}
        lr = float(lr_schedule(1))
        self.actor = self._trained(self._actor(actor), lr)
        shared = self.actor.features_extractor if share_features_extractor else None
        self.critic = self._trained(self._critics(shared, n=n_critics), lr)
        self.actor_target = self._follower(self._actor(actor), self.actor) if actor_target else None
        seen = self.actor_target.features_extractor if self.actor_target is not None and shared is not None else None
        self.critic_target = self._follower(self._critics(seen, n=n_critics), self.critic)
        values: dict[str, Any] = {"n": n_values, "acts": False, "layer_norm": value_layer_norm or critic_layer_norm}
        self.value = self._trained(self._critics(shared, **values), lr) if n_values else None

    def forward(self, obs: Any, deterministic: bool = False) -> Tensor:
        """Actions ``[B, A]`` in [-1, 1]."""
        return self._predict(obs, deterministic)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        actions: Tensor = self.actor(observation, deterministic)
        return actions

    def reset_noise(self, batch_size: int = 1) -> None:
        """With ``use_sde`` draws the matrices that make noise anew, one for each of ``batch_size`` states.

        Raises:
            ValueError: there is no such noise.
        """
        if not isinstance(self.actor, StateDependent):
            raise ValueError("reset_noise() is for policies with use_sde=True: other noise is drawn at each step")
        self.actor.reset_noise(batch_size)

    def set_training_mode(self, mode: bool) -> None:
        """For batch normalisation and dropout; targets stay in evaluation mode."""
        for network in (self.actor, self.critic, self.value):
            if network is not None:
                network.set_training_mode(mode)
        self.training = mode

    def set_precision(self, precision: str) -> None:
        """Precision of the matrix products of all networks: "fp32" or "bf16"."""
        for module in self.modules():
            if isinstance(module, Mlp):
                module.set_precision(precision)

    def _actor(self, kind: str) -> Actor:
        space, extractor = cast(Box, self.action_space), self.make_features_extractor()
        made = ACTORS[kind](self.observation_space, space, extractor, **self._actor_kwargs)
        made.extractor_kwargs = self.features_extractor_kwargs
        return made

    def _critics(self, shared: BaseFeaturesExtractor | None = None, **settings: Any) -> Critics:
        space, extractor = cast(Box, self.action_space), shared or self.make_features_extractor()
        settings = {**self._critic_kwargs, "borrowed": shared is not None, **settings}
        made = Critics(self.observation_space, space, extractor, **settings)
        made.extractor_kwargs = self.features_extractor_kwargs
        return made

    def _trained(self, network: Any, lr: float) -> Any:
        make: Any = self.optimizer_class
        owned = network.named_parameters()
        if getattr(network, "borrowed", False):
            owned = ((name, param) for name, param in owned if not name.startswith("features_extractor"))
        network.optimizer = make([param for _, param in owned], lr=lr, **self.optimizer_kwargs)
        return network

    @staticmethod
    def _follower(copy: Any, source: Network) -> Any:
        copy.load_state_dict(source.state_dict())
        copy.requires_grad_(False)
        copy.set_training_mode(False)
        return copy


def _head_settings(head: str, settings: dict[str, Any] | None, n_quantiles: int | None) -> dict[str, Any] | None:
    """Those of the critics' head, with the number of quantiles if it is given."""
    if n_quantiles is None:
        return settings
    if head != "quantile":
        raise ValueError(f'n_quantiles of policy_kwargs is for the critic_head "quantile", not "{head}": leave it out')
    return {**(settings or {}), "n_quantiles": n_quantiles}


def _noise_settings(actor: str, **settings: Any) -> dict[str, Any]:
    """Those of ``use_sde`` that are given."""
    given = {name: value for name, value in settings.items() if value is not None and value is not False}
    if given and actor != "state-dependent":
        raise ValueError(f"{', '.join(given)} of policy_kwargs is for use_sde=True: set that too, or leave it out")
    return given


def _mixture_settings(actor: str, mixture: dict[str, Any] | None) -> dict[str, Any]:
    """Those of a mixture of experts, if they are given."""
    if mixture is None:
        return {}
    if actor != "mixture-of-experts":
        raise ValueError(f'mixture of policy_kwargs is for the actor "mixture-of-experts", not "{actor}": leave it out')
    return {"mixture": mixture}


class ActorCriticCnnPolicy(ActorCriticPolicy):
    """For images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("features_extractor_class", NatureCNN)
        super().__init__(*args, **kwargs)


class ActorCriticMultiInputPolicy(ActorCriticPolicy):
    """For dicts of observations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("features_extractor_class", CombinedExtractor)
        super().__init__(*args, **kwargs)
