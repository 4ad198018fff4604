"""The policy that holds TSCAC's networks: one actor and critic for each auxiliary signal, and those of the main one."""

from collections.abc import Sequence
from typing import Any, ClassVar

import torch as th
from gymnasium.spaces import Box, Discrete, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from ..optimizers import FusedAdam
from ..policy_files import SafePolicy
from .updates import Mlp


class TSCACPolicy(SafePolicy, BasePolicy):
    """Softmax policies of flat observations and the values of all actions.

    Args:
        observation_space: of the environment; a flat Box.
        action_space: of the environment; Discrete.
        lr_schedule: of all optimisers.
        net_arch: widths of the hidden layers of every network; two of 64 if None.
        activation_fn: between the layers.
        n_signals: auxiliary signals, m.

    Attributes:
        behaviour: the policy that took the actions, as logits.
        auxiliary: m policies.
        auxiliary_critic: their values of all actions.
        auxiliary_target: follows these.
        actor: the main policy.
        critic: its values of all actions.
        target: follows these.
    """

    LEARNING: ClassVar[tuple[str, ...]] = ("behaviour", "auxiliary", "auxiliary_critic", "actor", "critic")
    """Networks with an optimiser."""
    behaviour_optimizer: FusedAdam
    auxiliary_optimizer: FusedAdam
    auxiliary_critic_optimizer: FusedAdam
    actor_optimizer: FusedAdam
    critic_optimizer: FusedAdam

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        net_arch: Sequence[int] | None = None,
        activation_fn: type[nn.Module] = nn.ReLU,
        n_signals: int = 1,
    ) -> None:
        super().__init__(observation_space, action_space)
        assert isinstance(observation_space, Box)
        assert isinstance(action_space, Discrete)
        widths = [64, 64] if net_arch is None else list(net_arch)

        def made(n: int) -> Mlp:
            return Mlp(n, observation_space.shape[0], widths, int(action_space.n), activation=activation_fn)

        self.behaviour, self.auxiliary, self.actor = made(1), made(n_signals), made(1)
        self.auxiliary_critic, self.critic = made(n_signals), made(1)
        self.auxiliary_target, self.target = made(n_signals), made(1)
        for follower, source in ((self.auxiliary_target, self.auxiliary_critic), (self.target, self.critic)):
            follower.load_state_dict(source.state_dict())
            follower.requires_grad_(False)
        for name in self.LEARNING:
            optimizer = FusedAdam(list(getattr(self, name).parameters()), lr=float(lr_schedule(1)))
            setattr(self, f"{name}_optimizer", optimizer)

    @property
    def optimizers(self) -> list[th.optim.Optimizer]:
        """Of all networks that learn."""
        return [getattr(self, f"{name}_optimizer") for name in self.LEARNING]

    def forward(self, obs: Tensor, deterministic: bool = False) -> Tensor:
        """Actions ``[B]`` of the main policy."""
        return self._predict(obs, deterministic)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        logits = self.actor(observation.float())[0]
        return logits.argmax(dim=1) if deterministic else drawn(logits)

    @th.no_grad()
    def auxiliary_actions(self, observations: Tensor) -> Tensor:
        """Actions ``[B]``, each by an auxiliary policy that is drawn for it."""
        logits = self.auxiliary(observations.float())
        which = th.randint(len(logits), (len(observations),), device=logits.device)
        return drawn(logits[which, th.arange(len(which), device=logits.device)])


def drawn(logits: Tensor) -> Tensor:
    """One action for each row of ``logits`` ``[B, n]``."""
    return th.multinomial(logits.softmax(dim=1), 1).squeeze(1)
