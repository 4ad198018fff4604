"""Actors and critics, shared by control agents."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.preprocessing import get_action_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, FlattenExtractor
from torch import Tensor, nn

from ..optimizers import FusedAdam
from ..policy_files import SafePolicy
from .heads import Head, make_head
from .updates import Mlp, Passed, minimise

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
        self._plain = type(extractor) is FlattenExtractor
        self.learns_features = any(True for _ in extractor.parameters())
        """Whether the extractor learns with this network: then all its gradients are autograd's."""

    def features(self, observations: Any) -> Tensor:
        """``[B, features]``."""
        if self._flat and isinstance(observations, Tensor):
            seen = observations.to(self.like.dtype)  # environments may observe in float64
            return seen if self._plain else th.as_tensor(self.features_extractor(seen))
        return self.extract_features(observations, self.features_extractor)

    @property
    def like(self) -> Tensor:
        """A tensor of its device and type."""
        return next(self.parameters())

    def descend(self, loss: Tensor, gradients: Sequence[Tensor]) -> Tensor:
        """One step of the optimiser down ``loss``, whose ``gradients`` are given in the order of its parameters.

        Where the loss has a graph, of an extractor that learns, the gradients are autograd's. Returns the loss.
        """
        optimizer = self.optimizer
        if loss.requires_grad:
            return minimise(optimizer, loss)
        if isinstance(optimizer, FusedAdam):
            optimizer.apply(gradients)
        else:
            for param, gradient in zip(optimizer.param_groups[0]["params"], gradients, strict=True):
                param.grad = gradient
            optimizer.step()
        return loss


class Perceptrons(Network):
    """A network that is one ensemble."""

    net: Mlp

    @property
    def like(self) -> Tensor:
        """A tensor of its device and type."""
        return self.net.params[0]


class Critics(Perceptrons):
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
        self.borrowed, self.n_actions = borrowed, acts * get_action_dim(action_space)
        self.learns_features = self.learns_features and not borrowed
        self.head: Head = make_head(head, n, **(head_kwargs or {}))
        n_in = extractor.features_dim + self.n_actions
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

    def passed(self, observations: Any, actions: Tensor | None = None, members: slice | Tensor | None = None) -> Passed:
        """:meth:`outputs` of some ``members`` (a slice or indices; all if None), kept for the backward pass."""
        return self.net.passed(self.inputs(observations, actions), members)

    def frozen(self, observations: Any, actions: Tensor | None = None) -> Tensor:
        """Values ``[n, B]``; gradients go to the actions alone."""
        return self.head.value(self.net.frozen(self.inputs(observations, actions)))

    def minimum(self, observations: Any, actions: Tensor | None = None) -> Tensor:
        """The least value of all critics ``[B]``; gradients go to the actions alone."""
        return self.frozen(observations, actions).min(0).values

    def mean(self, observations: Any, actions: Tensor | None = None) -> Tensor:
        """The mean value of all critics ``[B]``; gradients go to the actions alone."""
        return self.frozen(observations, actions).mean(0)

    def loss(self, observations: Any, actions: Tensor | None, target: Tensor) -> tuple[Tensor, Tensor]:
        """The loss ``[n, B]`` against targets ``[B]`` or ``[n, B]``, and the values ``[n, B]`` without gradient."""
        out = self.outputs(observations, actions)
        return self.head.loss(out, target), self.head.value(out.detach())


class Drawn(NamedTuple):
    """Actions a = tanh(m + s e), and what the backward pass needs of them."""

    actions: Tensor  # [B, A]
    log_prob: Tensor  # [B]
    gap: Tensor  # [B, A] 1 - a^2, guarded
    spread: Tensor  # [B, A] the deviation times the noise
    raw: Tensor  # [B, A] the log-deviation before it is bounded

    @classmethod
    def by(cls, out: Tensor, noise: Tensor) -> "Drawn":
        """Drawn by the outputs ``[B, 2 A]`` of an actor with ``noise`` ``[B, A]``."""
        mean, raw = out.chunk(2, dim=-1)
        log_std = raw.clamp(*LOG_STD_RANGE)
        spread = log_std.exp() * noise
        actions = (mean + spread).tanh()
        gap = 1 - actions * actions + EPSILON  # in this order: nothing is lost where 1 - a^2 is tiny
        log_prob = (-0.5 * noise * noise - log_std - gap.log() - HALF_LOG_TAU).sum(-1)
        return cls(actions, log_prob, gap, spread, raw)

    def by_outputs(self, g_actions: Tensor, g_log_prob: Tensor) -> Tensor:
        """Gradients of the outputs, given those of actions ``[B, A]`` and log-probabilities ``[B, 1]`` or ``[1]``."""
        g_mean = (g_actions + 2 * g_log_prob * self.actions / self.gap) * (1 - self.actions * self.actions)
        return th.cat([g_mean, (g_mean * self.spread - g_log_prob) * bounded(self.raw, LOG_STD_RANGE)], dim=-1)


def bounded(raw: Tensor, limits: tuple[float, float]) -> Tensor:
    """Where a clamp between ``limits`` lets gradients pass."""
    return (raw >= limits[0]) & (raw <= limits[1])


class _Squash(th.autograd.Function):
    """Actions of :class:`Drawn` and their log-probabilities as one node."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        drawn = Drawn.by(out, noise)
        ctx.save_for_backward(*drawn)
        return drawn.actions, drawn.log_prob

    @staticmethod
    def backward(ctx: Any, g_actions: Tensor, g_log_prob: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return Drawn(*ctx.saved_tensors).by_outputs(g_actions, g_log_prob.unsqueeze(-1)), None


class Actor(Perceptrons, BasePolicy, ABC):
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

    def noise(self, size: int) -> Tensor | None:
        """Drawn anew for actions at ``size`` states, ``[B, A]``; None where actions are not random."""
        return th.randn(size, self.n_actions, device=self.like.device)

    def forward(self, observations: Any, deterministic: bool = False) -> Tensor:
        """Actions ``[B, A]``; the most central one if ``deterministic``."""
        out = self.out(observations)
        return self.actions(out, None if deterministic else self.noise(len(out)))

    @abstractmethod
    def actions(self, out: Tensor, noise: Tensor | None) -> Tensor:
        """Actions ``[B, A]`` of outputs; the most central one without ``noise``."""

    def gradients(self, passed: Passed, g: Tensor) -> list[Tensor]:
        """Of the optimiser's parameters, given those of :meth:`out` ``[B, outputs_per_action * A]``."""
        return passed.gradients(g[None])

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        actions: Tensor = self(observation, deterministic)
        return actions


class SquashedGaussian(Actor):
    """SAC's actor: tanh of a Gaussian whose mean and deviation both depend on the state."""

    outputs_per_action = 2

    def out(self, observations: Any) -> Tensor:
        """Means and raw log-deviations ``[B, 2 A]``."""
        return self.lined(super().out(observations))

    def lined(self, out: Tensor) -> Tensor:
        """The network's outputs with scale and offset of the log-deviations, if they are learned."""
        if self.log_std_line is None:
            return out
        mean, raw = out.chunk(2, dim=-1)
        return th.cat([mean, raw * self.log_std_line[0] + self.log_std_line[1]], dim=-1)

    def actions(self, out: Tensor, noise: Tensor | None) -> Tensor:
        """See :class:`Actor`."""
        mean, raw = out.chunk(2, dim=-1)
        return (mean if noise is None else mean + raw.clamp(*LOG_STD_RANGE).exp() * noise).tanh()

    def action_log_prob(self, observations: Any) -> tuple[Tensor, Tensor]:
        """Drawn actions ``[B, A]`` and their log-probabilities ``[B]``, both with gradients."""
        out = self.out(observations)
        noise = self.noise(len(out))
        assert noise is not None
        if not th.is_grad_enabled():
            return Drawn.by(out, noise)[:2]
        drawn: tuple[Tensor, Tensor] = _Squash.apply(out, noise)  # type: ignore[no-untyped-call]
        return drawn

    def log_prob(self, observations: Any, actions: Tensor) -> Tensor:
        """Log-probability ``[B]`` of given actions; those at the very border count as just inside it."""
        return self.likelihood(self.out(observations), actions)[0]

    def likelihood(self, out: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities ``[B]`` of given actions, and their gradients by the outputs ``[B, 2 A]``."""
        mean, raw = out.chunk(2, dim=-1)
        log_std = raw.clamp(*LOG_STD_RANGE)
        actions = actions.clamp(-1 + EPSILON, 1 - EPSILON)
        std = log_std.exp()
        noise = (actions.atanh() - mean) / std
        log_prob = (-0.5 * noise**2 - log_std - (1 - actions**2 + EPSILON).log() - HALF_LOG_TAU).sum(-1)
        return log_prob, th.cat([noise / std, (noise**2 - 1) * bounded(raw, LOG_STD_RANGE)], dim=-1)

    def imitation(self, passed: Passed, actions: Tensor, weights: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The loss -E[w log pi(a|s)] with ``weights`` ``[B]``, and its gradients."""
        log_prob, slope = self.likelihood(self.lined(passed.out[0]), actions)
        return -(weights * log_prob).mean(), self.gradients(passed, slope * (-weights / len(weights))[:, None])

    def gradients(self, passed: Passed, g: Tensor) -> list[Tensor]:
        """See :class:`Actor`."""
        if self.log_std_line is None:
            return super().gradients(passed, g)
        raw, (g_mean, g_raw) = passed.out[0][:, self.n_actions :], g.chunk(2, dim=-1)
        inner = th.cat([g_mean, g_raw * self.log_std_line[0]], dim=-1)
        return [th.stack([(g_raw * raw).sum(), g_raw.sum()]), *super().gradients(passed, inner)]


class Gaussian(Actor):
    """The actor of weighted regression: a Gaussian around tanh of the output, with one learned deviation an action.

    Its log-probabilities are those of the Gaussian before it is cut to [-1, 1], as in IQL's code.
    """

    log_std_range = (-5.0, 2.0)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.log_std = nn.Parameter(th.zeros(self.n_actions))

    def actions(self, out: Tensor, noise: Tensor | None) -> Tensor:
        """See :class:`Actor`."""
        mean = out.tanh()
        return mean if noise is None else (mean + self._log_std().exp() * noise).clamp(-1, 1)

    def action_log_prob(self, observations: Any) -> tuple[Tensor, Tensor]:
        """Drawn actions ``[B, A]`` and their log-probabilities ``[B]``, both with gradients."""
        out = self.out(observations)
        noise = self.noise(len(out))
        assert noise is not None
        return self.actions(out, noise), (-0.5 * noise**2 - self._log_std() - HALF_LOG_TAU).sum(-1)

    def log_prob(self, observations: Any, actions: Tensor) -> Tensor:
        """Log-probability ``[B]`` of given actions."""
        log_std = self._log_std()
        noise = (actions - self.out(observations).tanh()) / log_std.exp()
        return (-0.5 * noise**2 - log_std - HALF_LOG_TAU).sum(-1)

    def imitation(self, passed: Passed, actions: Tensor, weights: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The loss -E[w log pi(a|s)] with ``weights`` ``[B]``, and its gradients."""
        mean, log_std = passed.out[0].tanh(), self._log_std()
        std, share = log_std.exp(), (-weights / len(weights))[:, None]
        noise = (actions - mean) / std
        loss = -(weights * (-0.5 * noise**2 - log_std - HALF_LOG_TAU).sum(-1)).mean()
        by_log_std = (share * (noise**2 - 1)).sum(0) * bounded(self.log_std, self.log_std_range)
        return loss, [by_log_std, *self.gradients(passed, share * noise / std * (1 - mean**2))]

    def _log_std(self) -> Tensor:
        return self.log_std.clamp(*self.log_std_range)


class Deterministic(Actor):
    """TD3's actor: tanh of the output."""

    def noise(self, size: int) -> None:
        """None: actions are not random."""

    def actions(self, out: Tensor, noise: Tensor | None) -> Tensor:
        """See :class:`Actor`."""
        return out.tanh()


ACTORS: dict[str, type[Actor]] = {
    "squashed-gaussian": SquashedGaussian,
    "gaussian": Gaussian,
    "deterministic": Deterministic,
}
