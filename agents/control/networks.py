"""Networks that control agents share."""

import math
from typing import Any

import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.policies import BaseModel
from stable_baselines3.common.preprocessing import get_action_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, CombinedExtractor, FlattenExtractor, NatureCNN
from stable_baselines3.common.type_aliases import Schedule
from stable_baselines3.sac.policies import Actor, SACPolicy
from torch import Tensor, nn
from torch.nn import functional as F


class StackedLinear(nn.Module):
    """``n`` linear layers of equal shape side by side, as one batched product: ``[n, B, in] -> [n, B, out]``."""

    def __init__(self, n: int, n_in: int, n_out: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(n_in)  # as torch.nn.Linear begins
        self.weight = nn.Parameter(th.empty(n, n_in, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(th.empty(n, 1, n_out).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        """Maps ``[n, B, in]`` to ``[n, B, out]``."""
        return th.baddbmm(self.bias, x, self.weight)


class GaussianCritics(BaseModel):
    """``n_critics`` value distributions Z_i(s, a) ~ N(Q_i, sigma_i^2), evaluated together.

    Calling it gives the means and standard deviations, each ``[n_critics, B]``.

    Args:
        observation_space: of the environment.
        action_space: of the environment, flattened by the caller.
        net_arch: widths of the hidden layers.
        features_extractor: shared with the actor or not, as in SB3's ``ContinuousCritic``.
        features_dim: width of the extracted features.
        activation_fn: between the layers.
        normalize_images: divide images by 255.
        n_critics: how many.
        share_features_extractor: True if the actor alone trains the extractor.
    """

    features_extractor: BaseFeaturesExtractor
    mean_std: Tensor  # [n_critics]: slowly moving E[sigma]
    mean_var: Tensor  # [n_critics]: slowly moving E[sigma^2]

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Box,
        net_arch: list[int],
        features_extractor: BaseFeaturesExtractor,
        features_dim: int,
        activation_fn: type[nn.Module] = nn.GELU,
        normalize_images: bool = True,
        n_critics: int = 2,
        share_features_extractor: bool = False,
    ) -> None:
        super().__init__(
            observation_space,
            action_space,
            features_extractor=features_extractor,
            normalize_images=normalize_images,
        )
        self.n_critics = n_critics
        self.share_features_extractor = share_features_extractor
        widths = [features_dim + get_action_dim(action_space), *net_arch]
        layers: list[nn.Module] = []
        for n_in, n_out in zip(widths[:-1], widths[1:], strict=True):
            layers += [StackedLinear(n_critics, n_in, n_out), activation_fn()]
        self.layers = nn.Sequential(*layers, StackedLinear(n_critics, widths[-1], 2))
        self.register_buffer("mean_std", th.zeros(n_critics))
        self.register_buffer("mean_var", th.zeros(n_critics))

    def forward(self, observations: Any, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Means and standard deviations, each ``[n_critics, B]``."""
        with th.set_grad_enabled(th.is_grad_enabled() and not self.share_features_extractor):
            features = self.extract_features(observations, self.features_extractor)
        x = th.cat([features, actions], dim=1)
        mean, raw = self.layers(x.expand(self.n_critics, *x.shape)).unbind(dim=-1)
        return mean, F.softplus(raw)


class GaussianCriticPolicy(SACPolicy):
    """SAC's policy with Gaussian critics and a slowly moving copy of the actor; three hidden layers of GELU."""

    actor_target: Actor
    critic: GaussianCritics  # type: ignore[assignment]
    critic_target: GaussianCritics  # type: ignore[assignment]

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Box,
        lr_schedule: Schedule,
        net_arch: list[int] | dict[str, list[int]] | None = None,
        activation_fn: type[nn.Module] = nn.GELU,
        features_extractor_class: type[BaseFeaturesExtractor] = FlattenExtractor,
        optimizer_class: type[th.optim.Optimizer] = th.optim.Adam,
        optimizer_kwargs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            observation_space,
            action_space,
            lr_schedule,
            net_arch=net_arch or [256, 256, 256],
            activation_fn=activation_fn,
            features_extractor_class=features_extractor_class,
            optimizer_class=optimizer_class,
            # One pass over all parameters: the same numbers as Adam's loop, in less time.
            optimizer_kwargs=optimizer_kwargs or ({"fused": True} if optimizer_class is th.optim.Adam else None),
            **kwargs,
        )

    def _build(self, lr_schedule: Schedule) -> None:
        super()._build(lr_schedule)
        self.actor_target = self.make_actor()
        self.actor_target.load_state_dict(self.actor.state_dict())
        self.actor_target.set_training_mode(False)
        self.actor_target.requires_grad_(False)
        self.critic_target.requires_grad_(False)

    def make_critic(  # type: ignore[override]
        self, features_extractor: BaseFeaturesExtractor | None = None
    ) -> GaussianCritics:
        """The twin value distributions."""
        kwargs = self._update_features_extractor(self.critic_kwargs, features_extractor)
        return GaussianCritics(**kwargs).to(self.device)


class GaussianCriticCnnPolicy(GaussianCriticPolicy):
    """For images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("features_extractor_class", NatureCNN)
        super().__init__(*args, **kwargs)


class GaussianCriticMultiInputPolicy(GaussianCriticPolicy):
    """For dicts of observations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("features_extractor_class", CombinedExtractor)
        super().__init__(*args, **kwargs)
