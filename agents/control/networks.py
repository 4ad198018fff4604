"""Actors and critics, shared by control agents."""

import math
from abc import ABC, abstractmethod
from typing import Any

import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.preprocessing import get_action_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor
from torch import Tensor, nn

from ..policy_files import SafePolicy
from .heads import Head, make_head
from .updates import Mlp

LOG_STD_RANGE = (-20.0, 2.0)  # as in SB3 and the SAC authors' code
EPSILON = 1e-6  # guards log(1 - a^2), as in SB3
HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


class Network(SafePolicy):
    """An ensemble behind a features extractor. Flat observations pass the extractor by."""

    features_extractor: BaseFeaturesExtractor

    def __init__(self, observation_space: Space[Any], action_space: Box, extractor: BaseFeaturesExtractor, **kw: Any):
        super().__init__(observation_space, action_space, features_extractor=extractor, **kw)
        flat = isinstance(observation_space, Box) and len(observation_space.shape) == 1
        self._flat = flat and isinstance(extractor, FlattenExtractor)

    def features(self, observations: Any) -> Tensor:
        """``[B, features]``."""
        if self._flat and isinstance(observations, Tensor):
            return observations.to(next(self.parameters()).dtype)  # environments may observe in float64
        return self.extract_features(observations, self.features_extractor)


class Critics(Network):
    """``n`` critics Q_i(s, a), or with ``acts=False`` values V_i(s), evaluated together.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        extractor: of features.
        net_arch: widths of the hidden layers.
        n: how many.
        head: what the outputs mean: a name of :data:`~.heads.HEADS`.
        head_kwargs: of the head.
        acts: whether actions are an input.
        activation_fn: between the layers.
        layer_norm: normalise the hidden layers.
        orthogonal: gain of the last layer where weights begin orthogonally; see :class:`~.updates.Mlp`.
        normalize_images: divide images by 255.
        borrowed: whether the extractor is the actor's, which trains it alone.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Box,
        extractor: BaseFeaturesExtractor,
        *,
        net_arch: list[int],
        n: int = 2,
        head: str = "mse",
        head_kwargs: dict[str, Any] | None = None,
        acts: bool = True,
        activation_fn: type[nn.Module] = nn.ReLU,
        layer_norm: bool = False,
        orthogonal: float | None = None,
        normalize_images: bool = True,
        borrowed: bool = False,
    ) -> None:
        super().__init__(observation_space, action_space, extractor, normalize_images=normalize_images)
        self.borrowed = borrowed
        self.head: Head = make_head(head, n, **(head_kwargs or {}))
        n_in = extractor.features_dim + acts * get_action_dim(action_space)
        shape: dict[str, Any] = {"activation": activation_fn, "layer_norm": layer_norm, "orthogonal": orthogonal}
        self.net = Mlp(n, n_in, net_arch, self.head.n_out, **shape)

    def inputs(self, observations: Any, actions: Tensor | None) -> Tensor:
        """Features, and actions if there are any, side by side ``[B, n_in]``."""
        features = self.features(observations)
        features = features.detach() if self.borrowed else features
        return features if actions is None else th.cat([features, actions], dim=1)

    def outputs(self, observations: Any, actions: Tensor | None = None) -> Tensor:
        """What the head reads, ``[n, B, n_out]``."""
        out: Tensor = self.net(self.inputs(observations, actions))
        return out

    def forward(self, observations: Any, actions: Tensor | None = None) -> Tensor:
        """Values ``[n, B]``."""
        return self.head.value(self.outputs(observations, actions))

    def minimum(self, observations: Any, actions: Tensor | None = None) -> Tensor:
        """The least value of all critics ``[B]``; gradients go to the actions alone."""
        x = self.inputs(observations, actions)
        return self.net.minimum(x) if self.head.n_out == 1 else self.head.value(self.net.frozen(x)).min(0).values

    def mean(self, observations: Any, actions: Tensor | None = None) -> Tensor:
        """The mean value of all critics ``[B]``; gradients go to the actions alone."""
        return self.head.value(self.net.frozen(self.inputs(observations, actions))).mean(0)

    def first(self, observations: Any, actions: Tensor | None = None) -> Tensor:
        """The value of the first critic ``[B]``; gradients go to the actions alone."""
        return self.head.value(self.net.frozen(self.inputs(observations, actions), members=1))[0]

    def loss(self, observations: Any, actions: Tensor | None, target: Tensor) -> tuple[Tensor, Tensor]:
        """The loss ``[n, B]`` against targets ``[B]`` or ``[n, B]``, and the values ``[n, B]`` without gradient."""
        out = self.outputs(observations, actions)
        return self.head.loss(out, target), self.head.value(out.detach())


class _Squash(th.autograd.Function):
    """Draws a = tanh(m + s e) and its log-probability, with the backward pass written out."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        mean, raw = out.chunk(2, dim=-1)
        log_std = raw.clamp(*LOG_STD_RANGE)
        spread = log_std.exp() * noise
        actions = (mean + spread).tanh_()
        gap = 1 - actions * actions + EPSILON  # in this order: nothing is lost where 1 - a^2 is tiny
        log_prob = (-0.5 * noise * noise - log_std - gap.log() - HALF_LOG_TAU).sum(-1)
        ctx.save_for_backward(actions, gap, spread, raw)
        return actions, log_prob

    @staticmethod
    def backward(ctx: Any, g_actions: Tensor, g_log_prob: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        actions, gap, spread, raw = ctx.saved_tensors
        g_log_prob = g_log_prob.unsqueeze(-1)
        g_mean = (g_actions + 2 * g_log_prob * actions / gap) * (1 - actions * actions)
        inside = (raw >= LOG_STD_RANGE[0]) & (raw <= LOG_STD_RANGE[1])
        return th.cat([g_mean, (g_mean * spread - g_log_prob) * inside], dim=-1), None


class Actor(Network, BasePolicy, ABC):
    """A policy network; actions are scaled to [-1, 1]. It is a policy itself: ``agent.actor.predict`` acts.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        extractor: of features.
        net_arch: widths of the hidden layers.
        activation_fn: between the layers.
        layer_norm: normalise the hidden layers.
        orthogonal: gain of the last layer where weights begin orthogonally; see :class:`~.updates.Mlp`.
        normalize_images: divide images by 255.
        log_std_offset: where a learned scale (from 1) and offset (from this) of the log-deviations begin, for actors
            whose deviation depends on the state; None for neither.

    Raises:
        ValueError: an offset for an actor whose deviation does not depend on the state.
    """

    outputs_per_action = 1

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Box,
        extractor: BaseFeaturesExtractor,
        *,
        net_arch: list[int],
        activation_fn: type[nn.Module] = nn.ReLU,
        layer_norm: bool = False,
        orthogonal: float | None = None,
        normalize_images: bool = True,
        log_std_offset: float | None = None,
    ) -> None:
        super().__init__(
            observation_space, action_space, extractor, normalize_images=normalize_images, squash_output=True
        )
        self.n_actions = get_action_dim(action_space)
        width = self.outputs_per_action * self.n_actions
        shape: dict[str, Any] = {"activation": activation_fn, "layer_norm": layer_norm, "orthogonal": orthogonal}
        self.net = Mlp(1, extractor.features_dim, net_arch, width, **shape)
        if log_std_offset is not None and self.outputs_per_action != 2:
            raise ValueError("log_std_offset is for the actor squashed-gaussian: leave it out")
        self.log_std_line = None if log_std_offset is None else nn.Parameter(th.tensor([1.0, log_std_offset]))

    def out(self, observations: Any) -> Tensor:
        """The network's output ``[B, outputs_per_action * A]``."""
        out: Tensor = self.net(self.features(observations))
        return out.squeeze(0)

    @abstractmethod
    def forward(self, observations: Any, deterministic: bool = False) -> Tensor:
        """Actions ``[B, A]``."""

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        actions: Tensor = self(observation, deterministic)
        return actions


class SquashedGaussian(Actor):
    """SAC's actor: tanh of a Gaussian whose mean and deviation both depend on the state."""

    outputs_per_action = 2

    def out(self, observations: Any) -> Tensor:
        """Means and raw log-deviations ``[B, 2 A]``."""
        out = super().out(observations)
        if self.log_std_line is None:
            return out
        mean, raw = out.chunk(2, dim=-1)
        return th.cat([mean, raw * self.log_std_line[0] + self.log_std_line[1]], dim=-1)

    def forward(self, observations: Any, deterministic: bool = False) -> Tensor:
        """Actions ``[B, A]``; the most central one if ``deterministic``."""
        mean, raw = self.out(observations).chunk(2, dim=-1)
        if deterministic:
            return mean.tanh()
        return (mean + raw.clamp(*LOG_STD_RANGE).exp() * th.randn_like(mean)).tanh()

    def action_log_prob(self, observations: Any) -> tuple[Tensor, Tensor]:
        """Drawn actions ``[B, A]`` and their log-probabilities ``[B]``, both with gradients."""
        out = self.out(observations)
        noise = th.randn(len(out), self.n_actions, device=out.device)
        drawn: tuple[Tensor, Tensor] = _Squash.apply(out, noise)  # type: ignore[no-untyped-call]
        return drawn

    def log_prob(self, observations: Any, actions: Tensor) -> Tensor:
        """Log-probability ``[B]`` of given actions; those at the very border count as just inside it."""
        mean, raw = self.out(observations).chunk(2, dim=-1)
        log_std = raw.clamp(*LOG_STD_RANGE)
        actions = actions.clamp(-1 + EPSILON, 1 - EPSILON)
        noise = (actions.atanh() - mean) / log_std.exp()
        return (-0.5 * noise**2 - log_std - (1 - actions**2 + EPSILON).log() - HALF_LOG_TAU).sum(-1)


class Gaussian(Actor):
    """The actor of weighted regression: a Gaussian around tanh of the output, with one learned deviation an action.

    Its log-probabilities are those of the Gaussian before it is cut to [-1, 1], as in IQL's code.
    """

    log_std_range = (-5.0, 2.0)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.log_std = nn.Parameter(th.zeros(self.n_actions))

    def forward(self, observations: Any, deterministic: bool = False) -> Tensor:
        """Actions ``[B, A]``."""
        mean = self.out(observations).tanh()
        return mean if deterministic else (mean + self._log_std().exp() * th.randn_like(mean)).clamp(-1, 1)

    def action_log_prob(self, observations: Any) -> tuple[Tensor, Tensor]:
        """Drawn actions ``[B, A]`` and their log-probabilities ``[B]``, both with gradients."""
        mean = self.out(observations).tanh()
        log_std = self._log_std()
        noise = th.randn_like(mean)
        return (mean + log_std.exp() * noise).clamp(-1, 1), (-0.5 * noise**2 - log_std - HALF_LOG_TAU).sum(-1)

    def log_prob(self, observations: Any, actions: Tensor) -> Tensor:
        """Log-probability ``[B]`` of given actions."""
        log_std = self._log_std()
        noise = (actions - self.out(observations).tanh()) / log_std.exp()
        return (-0.5 * noise**2 - log_std - HALF_LOG_TAU).sum(-1)

    def _log_std(self) -> Tensor:
        return self.log_std.clamp(*self.log_std_range)


class Deterministic(Actor):
    """TD3's actor: tanh of the output."""

    def forward(self, observations: Any, deterministic: bool = False) -> Tensor:
        """Actions ``[B, A]``."""
        return self.out(observations).tanh()


ACTORS: dict[str, type[Actor]] = {
    "squashed-gaussian": SquashedGaussian,
    "gaussian": Gaussian,
    "deterministic": Deterministic,
}
