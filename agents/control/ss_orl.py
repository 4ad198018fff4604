"""SS-ORL: offline learning where most trajectories came without actions, which an inverse model fills in.

Paper: Zheng et al., Semi-Supervised Offline Reinforcement Learning with Action-Free Trajectories (2022). "The authors'
code" is github.com/facebookresearch/ssorl.
"""

from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import torch as th
from gymnasium.spaces import Box
from torch import Tensor

from ..optimizers import FusedAdam
from .actor_critic import ActorCritic, Metrics
from .datasets import Float32, Transitions
from .explicit import explicit
from .replay import Batch, Demonstrations
from .settings import takes
from .td3 import delayed_update
from .td3_bc import TD3BC, TD3BCSettings, cloning_improvement, standardise
from .updates import Mlp, minimise

if TYPE_CHECKING:
    from minari import MinariDataset

Self = TypeVar("Self", bound="SSORL")
LOG_STD_RANGE = (-5.0, 2.0)
CHECK_EVERY = 10
"""Updates between two looks at the trajectories kept aside, as in the authors' code."""


def windows(data: Transitions, past: int) -> Float32:
    """What the inverse model reads at each step, ``[N, (past + 2) * obs]``: s_{t-past}, ..., s_t, s_{t+1}.

    Where the episode had not begun there are zeros.
    """
    n, size = data.observations.shape
    found = np.zeros((n, past + 2, size), np.float32)
    found[:, -2], found[:, -1] = data.observations, data.next_observations
    step = np.arange(n) - np.flatnonzero(np.r_[True, data.ends[:-1]])[data.episodes]
    for back in range(1, past + 1):
        reached = step >= back
        found[reached, -2 - back] = data.observations[np.flatnonzero(reached) - back]
    return found.reshape(n, -1)


def log_likelihood(out: Tensor, actions: Tensor) -> Tensor:
    """Of actions ``[B, A]`` under Gaussians of means and log-deviations ``[B, 2 A]``, but for its constant; ``[B]``."""
    mean, raw = out.chunk(2, dim=-1)
    log_std = raw.clamp(*LOG_STD_RANGE)
    return (-0.5 * ((actions - mean) / log_std.exp()).square() - log_std).sum(dim=-1)


class InverseDynamics:
    r"""Which action led from states to the next: a Gaussian whose mean and deviation are a network's.

    Maximises :math:`\log p(a_t | s_{t-k}, ..., s_t, s_{t+1})` over labelled trajectories, a tenth of which are kept
    aside; what did best on these is what is used.

    Args:
        data: labelled trajectories.
        space: of actions.
        past: k, states before the present one; the authors' 1.
        net_arch: widths of the hidden layers.
        learning_rate: of Adam.
        updates: at most.
        batch_size: transitions an update.
        share_aside: of the labelled trajectories (of one alone: of its steps).
        rng: which are kept aside.
    """

    def __init__(
        self,
        data: Transitions,
        space: Box,
        *,
        past: int = 1,
        net_arch: tuple[int, ...] = (256, 256),
        learning_rate: float = 1e-3,
        updates: int = 1000,
        batch_size: int = 256,
        share_aside: float = 0.1,
        rng: np.random.Generator,
    ) -> None:
        self.past, self.low, self.high = past, space.low, space.high
        read = windows(data, past)
        self.mean, self.std = read.mean(axis=0), read.std(axis=0) + 1e-3
        self.net = Mlp(1, read.shape[1], net_arch, 2 * len(self.low))
        inputs, actions = self._inputs(read), th.from_numpy(self._scaled(data.actions))
        aside = th.from_numpy(_aside(data, share_aside, rng))
        given = (~aside).nonzero().squeeze(1)
        optimizer, best, self.validation = FusedAdam(self.net.parameters(), lr=learning_rate), self.net, -np.inf
        for update in range(updates):
            chosen = given[th.randint(len(given), (batch_size,))]
            minimise(optimizer, -log_likelihood(self.net(inputs[chosen])[0], actions[chosen]).mean())
            if update % CHECK_EVERY == 0 or update + 1 == updates:
                with th.no_grad():
                    found = float(log_likelihood(self.net(inputs[aside])[0], actions[aside]).mean())
                if found > self.validation:
                    self.validation, best = found, deepcopy(self.net)
        self.net = best

    def _inputs(self, read: Float32) -> Tensor:
        return th.from_numpy((read - self.mean) / self.std)

    def _scaled(self, actions: Float32) -> Float32:
        return np.asarray(2 * (actions - self.low) / (self.high - self.low) - 1, np.float32)

    @th.no_grad()
    def actions(self, data: Transitions) -> Float32:
        """The most likely action ``[N, act]`` at each step, inside the action space; those of ``data`` are not read."""
        mean = self.net(self._inputs(windows(data, self.past)))[0].chunk(2, dim=-1)[0].clamp(-1, 1).numpy()
        return np.asarray(self.low + (mean + 1) / 2 * (self.high - self.low), np.float32)


def _aside(data: Transitions, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Which steps are kept aside: those of whole trajectories where there are several."""
    units = data.episodes if len(data.episode_returns) > 1 else np.arange(len(data))
    count = int(units.max()) + 1
    return np.isin(units, rng.permutation(count)[: max(1, round(share * count))])


def joined(one: Transitions, other: Transitions) -> Transitions:
    """Both datasets, one after the other."""
    later = replace(other, episodes=other.episodes + len(one.episode_returns))
    names = [field.name for field in fields(Transitions)]
    return Transitions(*(np.concatenate([getattr(one, name), getattr(later, name)]) for name in names))


def with_proxy_actions(labelled: Transitions, action_free: Transitions, model: InverseDynamics) -> Transitions:
    """``labelled`` and, with the model's actions, ``action_free`` trajectories: data for any offline agent."""
    return joined(labelled, replace(action_free, actions=model.actions(action_free)))


def _blind(data: Any, space: Any) -> Any:
    """Transitions without their actions, whatever stands there."""
    if not isinstance(data, Transitions):
        return data
    return replace(data, actions=np.clip(np.zeros((len(data), *space.shape), np.float32), space.low, space.high))


@dataclass(frozen=True)
class SSORLSettings(TD3BCSettings):
    """Those of SS-ORL, beside TD3+BC's.

    Args:
        inverse_past: states before the present one that the inverse model reads.
        inverse_updates: of the inverse model.
        inverse_learning_rate: of the inverse model.
    """

    _: KW_ONLY
    inverse_past: int = 1
    inverse_updates: int = 1000
    inverse_learning_rate: float = 1e-3


class SSORL(ActorCritic):
    """Semi-supervised TD3+BC: trajectories without actions get those of an inverse model, then all are learnt from.

    Three steps (its algorithm 1): a stochastic inverse dynamics model of several states learns from the labelled
    trajectories, its mean fills in the others' actions, and TD3+BC (:class:`~.td3_bc.TD3BC`) learns from both as if
    the actions were known. With another agent: :func:`with_proxy_actions`.

    Departures: the inverse model has two hidden layers of 256 without dropout (the authors' code: of 1024, with 0.1)
    and Adam's rate 1e-3 (1e-4).
    """

    needs_data: ClassVar[bool] = True
    policy_defaults: ClassVar[dict[str, Any]] = TD3BC.policy_defaults
    settings: SSORLSettings

    @takes(SSORLSettings)
    def __init__(self, settings: SSORLSettings) -> None:
        self.inverse: InverseDynamics | None = None
        """What filled in the actions of the last dataset, if anything did."""
        self.construct(settings)

    def learn_offline(
        self: Self,
        dataset: "MinariDataset | str | Transitions",
        gradient_steps: int,
        *,
        action_free: "MinariDataset | str | Transitions | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Fills in the actions of ``action_free``, then learns from all data.

        Args:
            dataset: labelled trajectories: a Minari dataset or the id of a local one, or transitions already read.
            gradient_steps: updates; 0 only takes the data in.
            action_free: trajectories whose actions are not looked at; None to learn from the labelled ones alone.
            **kwargs: see :meth:`~.actor_critic.ActorCritic.learn_offline`.

        Raises:
            FileNotFoundError: no such dataset.
            TypeError, ValueError: a dataset does not fit this agent, or holds what cannot be learnt from; nothing has
                changed.
        """
        if action_free is None:
            return super().learn_offline(dataset, gradient_steps, **kwargs)
        labelled, other = self._read(dataset), self._read(_blind(action_free, self.action_space))
        self.inverse = InverseDynamics(
            labelled,
            self.action_space,  # type: ignore[arg-type]
            past=self.settings.inverse_past,
            learning_rate=self.settings.inverse_learning_rate,
            updates=self.settings.inverse_updates,
            rng=np.random.default_rng(self.seed),
        )
        return super().learn_offline(with_proxy_actions(labelled, other, self.inverse), gradient_steps, **kwargs)

    def _read(self, dataset: "MinariDataset | str | Transitions") -> Transitions:
        spaces = self.observation_space, self.action_space
        if not isinstance(dataset, Transitions):
            return Transitions.from_minari(dataset, *spaces)
        dataset.check(*spaces)
        return dataset

    @explicit
    def update(self, batch: Batch) -> Metrics:
        """See :class:`~.td3_bc.TD3BC`."""
        return delayed_update(self, self.settings, batch, cloning_improvement, self.settings.alpha)

    def _demonstrations(self, dataset: Any) -> Demonstrations:
        found = super()._demonstrations(dataset)
        return standardise(self, found) if self.settings.normalize_observations else found

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "inverse"]
