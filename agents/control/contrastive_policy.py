"""The policy that holds Contrastive-UCB's features and what was planned with them."""

from collections.abc import Sequence
from typing import Any

import torch as th
from gymnasium.spaces import Discrete, Space
from gymnasium.spaces.utils import flatdim
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from ..optimizers import FusedAdam
from ..policy_files import SafePolicy
from .updates import Mlp


class ContrastivePolicy(SafePolicy, BasePolicy):
    r"""Greedy for :math:`Q(s, a) = \phi(s, a)^T q`, the values that were planned without the bonus.

    Args:
        observation_space: of the environment; a flat Box or Discrete, which networks see one-hot.
        action_space: of the environment; Discrete.
        lr_schedule: of the optimiser.
        net_arch: widths of the hidden layers of both networks; one of 64 if None. Where a linear function of
            observations tells the latent state, none ([]) minimise the loss in far fewer steps.
        activation_fn: between the layers.
        feature_dim: d, latent outcomes; more of them than the transitions' rank are easier to learn.

    Attributes:
        phi_net: logits of phi(s, a) for every action.
        psi_net: log psi(s').
        q: :math:`\theta + \gamma w`, ``[d]``.
    """

    q: Tensor

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        net_arch: Sequence[int] | None = None,
        activation_fn: type[nn.Module] = nn.ReLU,
        feature_dim: int = 32,
    ) -> None:
        super().__init__(observation_space, action_space)
        assert isinstance(action_space, Discrete)
        widths = [64] if net_arch is None else list(net_arch)
        self.n_in, self.n_actions, self.feature_dim = flatdim(observation_space), int(action_space.n), feature_dim
        self.phi_net = Mlp(1, self.n_in, widths, self.n_actions * feature_dim, activation=activation_fn)
        self.psi_net = Mlp(1, self.n_in, widths, feature_dim, activation=activation_fn)
        self.optimizer = FusedAdam([*self.phi_net.parameters(), *self.psi_net.parameters()], lr=float(lr_schedule(1)))
        self.register_buffer("q", th.zeros(feature_dim))

    @property
    def optimizers(self) -> list[th.optim.Optimizer]:
        """Of both networks."""
        return [self.optimizer]

    def inputs(self, observations: Tensor) -> Tensor:
        """Observations as numbers, ``[B, n_in]``."""
        if isinstance(space := self.observation_space, Discrete):
            return nn.functional.one_hot(observations.reshape(-1).long() - int(space.start), self.n_in).float()
        return observations.float()

    def log_phi(self, observations: Tensor) -> Tensor:
        r""":math:`\log \phi(s, \cdot)` of all actions, ``[B, A, d]``."""
        logits: Tensor = self.phi_net(self.inputs(observations))[0]
        return logits.view(-1, self.n_actions, self.feature_dim).log_softmax(dim=2)

    def log_psi(self, observations: Tensor) -> Tensor:
        r""":math:`\log \psi(s')`, ``[B, d]``."""
        found: Tensor = self.psi_net(self.inputs(observations))[0]
        return found

    def forward(self, obs: Tensor, deterministic: bool = False) -> Tensor:
        """Actions ``[B]``."""
        return self._predict(obs, deterministic)

    @th.no_grad()
    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        return (self.log_phi(observation).exp() @ self.q).argmax(dim=1)
