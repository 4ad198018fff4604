"""Values of finely discretised actions, found one dimension after the other, from coarse to fine.

Each of A dimensions of [-1, 1] is cut into ``bins`` intervals, the chosen one into ``bins`` again, and so on for
``levels`` levels: ``bins ** levels`` cells. A *position* is one such choice; there are P = levels * A, in the order
level by level and, within a level, dimension by dimension (position p is level p // A of dimension p % A). At each, the
network sees the observation and the centres of the intervals that earlier choices have left, ``[A]``.

Paper: Liu et al., Learning from Suboptimal Data in Continuous Control via Auto-Regressive Soft Q-Network (2025), whose
discretisation is that of Seo et al., Continuous Control with Coarse-to-fine Reinforcement Learning (2024).
"""

from collections.abc import Callable
from typing import Any, cast

import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.preprocessing import get_action_dim
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, CombinedExtractor, FlattenExtractor, NatureCNN
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from ... import unknown
from ..optimizers import FusedAdam
from .networks import Network
from .updates import Mlp

DECOMPOSITIONS = ("auto-regressive", "additive", "independent")
MOST_CELLS = 2**16
"""Cells a dimension: float32 still tells their borders apart."""


def cells(actions: Tensor, levels: int, bins: int) -> Tensor:
    """The bins ``[levels, A, B]`` that hold actions ``[B, A]``: integers from 0 to ``bins - 1``; +1 is in the last."""
    count = bins**levels
    cell: Tensor = ((actions.clamp(-1, 1) + 1) * (count / 2)).long().clamp_max_(count - 1).T
    return th.stack([cell // bins ** (levels - 1 - level) % bins for level in range(levels)])


def centres(chosen: Tensor, bins: int) -> Tensor:
    """Centres ``[levels + 1, A, B]`` of what is left after each level of the bins ``[levels, A, B]``; at first 0.

    The last are the actions: ``centres(cells(a, levels, bins), bins)[-1].T`` is the centre of a's cell.
    """
    left = [th.zeros(chosen.shape[1:], device=chosen.device)]
    for level, bin_ in enumerate(chosen):
        left.append(left[-1] + offset(bin_, level, bins))
    return th.stack(left)


def offset(chosen: Tensor, level: int, bins: int) -> Tensor:
    """From the centre of an interval of ``level`` to that of its chosen bin."""
    width: float = 2 / bins ** (level + 1)
    return (chosen + 0.5 - bins / 2) * width


def soft_advantages(scores: Tensor, ent_coef: float) -> Tensor:
    r""":math:`A = u - \alpha \log \sum_b \exp(u_b / \alpha)` over the last axis, so that exp(A / alpha) sums to 1."""
    advantages: Tensor = ent_coef * (scores / ent_coef).log_softmax(-1)
    return advantages


class CoarseToFine(Network):
    """``n`` networks side by side, each a value V(s) and a score u of every bin at every position.

    What conditions a score: the observation; and, "auto-regressive", all earlier positions, or otherwise ("additive",
    "independent") coarser levels alone, so that all dimensions of a level are scored at once. Scores begin at 0: all
    cells alike.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        extractor: of features.
        net_arch: widths of the hidden layers of either part.
        levels: of discretisation.
        bins: a level.
        decomposition: one of :data:`DECOMPOSITIONS`.
        ent_coef: alpha, the softmax temperature of what :meth:`act` draws.
        n: networks.
        activation_fn: between the layers.
        normalize_images: divide images by 255.

    Raises:
        ValueError: another decomposition, fewer than 2 bins or 1 level, too many cells, or no hidden layer.
    """

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Box,
        extractor: BaseFeaturesExtractor,
        *,
        net_arch: list[int],
        levels: int,
        bins: int,
        decomposition: str,
        ent_coef: float,
        n: int = 2,
        activation_fn: type[nn.Module] = nn.Tanh,
        normalize_images: bool = True,
    ) -> None:
        super().__init__(observation_space, action_space, extractor, normalize_images=normalize_images)
        if decomposition not in DECOMPOSITIONS:
            raise ValueError(unknown("decomposition", decomposition, DECOMPOSITIONS))
        if bins**levels > MOST_CELLS:
            raise ValueError(f"bins ** levels is at most {MOST_CELLS}, got {bins} bins and {levels} levels")
        if not net_arch:
            raise ValueError("net_arch needs at least one hidden layer")
        self.levels, self.bins, self.decomposition, self.ent_coef = levels, bins, decomposition, ent_coef
        self.n_actions = get_action_dim(action_space)
        alone = decomposition == "auto-regressive"
        self.together = 1 if alone else self.n_actions
        """Dimensions scored in one pass."""
        self.steps = levels * (self.n_actions // self.together)
        """Passes an action takes."""
        features, width = extractor.features_dim, net_arch[-1]
        self.value = Mlp(n, features, net_arch, 1, activation=activation_fn)
        self.trunk = Mlp(n, features + self.n_actions, net_arch[:-1], width, activation=activation_fn)
        self.activation = activation_fn()
        self.weight = nn.Parameter(th.zeros(n, self.steps, width, self.together * bins))
        self.bias = nn.Parameter(th.zeros(n, self.steps, 1, self.together * bins))

    @property
    def positions(self) -> int:
        """P, choices an action consists of."""
        return self.levels * self.n_actions

    def values(self, features: Tensor) -> Tensor:
        """V(s) of features ``[B, F]``: ``[n, B]``."""
        out: Tensor = self.value(features)
        return out.squeeze(-1)

    def scores(self, features: Tensor, chosen: Tensor) -> Tensor:
        """U at every position of the choices ``[levels, A, B]``, all in one pass: ``[n, P, B, bins]``."""
        batch = len(features)
        seen = th.cat([features.expand(self.steps, -1, -1), self.contexts(chosen)], dim=-1)
        hidden = self.activation(self.trunk(seen.flatten(0, 1))).view(-1, self.steps, batch, self.weight.shape[2])
        out = hidden @ self.weight + self.bias  # [n, steps, B, together * bins]
        found: Tensor = out.unflatten(-1, (self.together, self.bins)).transpose(2, 3).flatten(1, 2)
        return found

    def contexts(self, chosen: Tensor) -> Tensor:
        """What each pass sees of the choices ``[levels, A, B]``: centres ``[steps, B, A]``."""
        left = centres(chosen, self.bins).transpose(1, 2)  # [levels + 1, B, A]
        if self.decomposition != "auto-regressive":
            return left[:-1]
        done = th.ones(self.n_actions, self.n_actions, dtype=th.bool, device=chosen.device).tril(-1)[:, None]
        return th.where(done, left[1:, None], left[:-1, None]).flatten(0, 1)  # dimensions before d are a level ahead

    def next_scores(self, features: Tensor, context: Tensor, step: int) -> Tensor:
        """U of the bins of one pass, given the centres ``[B, A]`` so far: ``[n, B, together, bins]``."""
        hidden = self.activation(self.trunk(th.cat([features, context], dim=-1)))
        out: Tensor = hidden @ self.weight[:, step] + self.bias[:, step]
        return out.view(*out.shape[:-1], self.together, self.bins)

    @th.no_grad()
    def act(self, observations: Any, deterministic: bool = True) -> Tensor:
        """Actions ``[B, A]``, each bin chosen given those before it.

        Of several networks' normalised advantages (of values where dimensions are "independent") the least counts. If
        ``deterministic`` the best bin is taken, otherwise bins are drawn from the softmax of advantage / ent_coef;
        "independent" dimensions are always greedy.
        """
        greedy = deterministic or self.decomposition == "independent"
        return self._decode(self.features(observations), best if greedy else draw)

    def _decode(self, features: Tensor, choose: Callable[[Tensor], Tensor]) -> Tensor:
        context = features.new_zeros(len(features), self.n_actions)
        values = self.values(features)[..., None, None]
        for step in range(self.steps):
            level, dim = divmod(step * self.together, self.n_actions)
            scores = self.next_scores(features, context, step)
            if self.decomposition == "independent":
                scores = scores + values
            else:
                scores = soft_advantages(scores, self.ent_coef)
            chosen = choose(scores.amin(0) / self.ent_coef)
            context[:, dim : dim + self.together] += offset(chosen, level, self.bins)
        return context


def best(logits: Tensor) -> Tensor:
    """The largest of the last axis."""
    return logits.argmax(-1)


def draw(logits: Tensor) -> Tensor:
    """One of the last axis, with the probabilities of the softmax."""
    drawn = th.multinomial(logits.softmax(-1).flatten(0, -2), 1)
    return drawn.view(logits.shape[:-1])


class ARSQPolicy(BasePolicy):
    """Coarse-to-fine values that are the policy, and their slowly moving copy; flat observations.

    Args:
        observation_space: of the environment.
        action_space: of the environment.
        lr_schedule: of the optimiser.
        net_arch: widths of the hidden layers; the paper's three of 512 if None.
        activation_fn: between the layers.
        n_critics: networks, of which the least counts.
        critic_kwargs: of :class:`CoarseToFine`, which the agent sets: levels, bins, decomposition, ent_coef.
        features_extractor_class: of observations.
        features_extractor_kwargs: of the extractor.
        normalize_images: divide images by 255.
        optimizer_class: Adam in one pass by default.
        optimizer_kwargs: of the optimiser.
    """

    actor = actor_target = value = None  # the values are the policy

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Box,
        lr_schedule: Schedule,
        net_arch: list[int] | None = None,
        activation_fn: type[nn.Module] = nn.Tanh,
        n_critics: int = 2,
        critic_kwargs: dict[str, Any] | None = None,
        features_extractor_class: type[BaseFeaturesExtractor] = FlattenExtractor,
        features_extractor_kwargs: dict[str, Any] | None = None,
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
        self._settings: dict[str, Any] = {
            "net_arch": [512, 512, 512] if net_arch is None else net_arch,
            "activation_fn": activation_fn,
            "n": n_critics,
            "normalize_images": normalize_images,
            **(critic_kwargs or {}),
        }
        self.critic, self.critic_target = self._critic(), self._critic()
        make: Any = self.optimizer_class
        self.critic.optimizer = make(self.critic.parameters(), lr=float(lr_schedule(1)), **self.optimizer_kwargs)
        self.critic_target.load_state_dict(self.critic.state_dict())
        self.critic_target.requires_grad_(False)
        self.critic_target.set_training_mode(False)

    def _critic(self) -> CoarseToFine:
        space, extractor = cast(Box, self.action_space), self.make_features_extractor()
        return CoarseToFine(self.observation_space, space, extractor, **self._settings)

    def forward(self, obs: Any, deterministic: bool = False) -> Tensor:
        """Actions ``[B, A]`` in [-1, 1]."""
        return self._predict(obs, deterministic)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        return self.critic.act(observation, deterministic)

    def set_precision(self, precision: str) -> None:
        """Precision of the matrix products of hidden layers: "fp32" or "bf16"."""
        for module in self.modules():
            if isinstance(module, Mlp):
                module.set_precision(precision)


class ARSQCnnPolicy(ARSQPolicy):
    """For images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("features_extractor_class", NatureCNN)
        super().__init__(*args, **kwargs)


class ARSQMultiInputPolicy(ARSQPolicy):
    """For dicts of observations."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("features_extractor_class", CombinedExtractor)
        super().__init__(*args, **kwargs)
