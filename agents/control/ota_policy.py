"""The policy that holds OTA's networks: a high-level policy that names subgoals, one that acts, and their values."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch as th
from gymnasium.spaces import Box, Space
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.common.type_aliases import Schedule
from torch import Tensor, nn

from ..optimizers import FusedAdam
from ..policy_files import SafePolicy
from .goal_data import flat_spaces
from .updates import Mlp

LEAST_STD = 1e-3
"""Of a number of the states, so that one that never changes divides by something."""


class Values(nn.Module):
    """Two estimates of V(s, g), and targets that follow them.

    Args:
        n_in: numbers of a state and a goal.
        widths: of the hidden layers.
        **kwargs: of :class:`~.updates.Mlp`.
    """

    def __init__(self, n_in: int, widths: Sequence[int], **kwargs: Any) -> None:
        super().__init__()
        self.net, self.target = Mlp(2, n_in, widths, 1, **kwargs), Mlp(2, n_in, widths, 1, **kwargs)
        self.target.load_state_dict(self.net.state_dict())
        self.target.requires_grad_(False)

    def forward(self, inputs: Tensor) -> Tensor:
        """``[2, B]``."""
        found: Tensor = self.net(inputs)[:, :, 0]
        return found

    @th.no_grad()
    def of_target(self, inputs: Tensor) -> Tensor:
        """``[2, B]``."""
        found: Tensor = self.target(inputs)[:, :, 0]
        return found


class OTAPolicy(SafePolicy, BasePolicy):
    """Acts by the means of both levels: a subgoal, then an action towards it.

    A subgoal is a move: what is to be achieved minus what is now. All networks see states, goals and moves
    standardised with the first dataset's mean and deviation.

    Args:
        observation_space: of a goal environment.
        action_space: of the environment; a flat Box.
        lr_schedule: of all optimisers.
        net_arch: widths of the hidden layers of every network; three of 512 if None.
        activation_fn: between the layers.
        layer_norm: whether the values' hidden layers are normalised.
        two_values: whether each level has a value of its own.

    Attributes:
        value: V of the low level.
        high_actor: the mean of subgoals.
        low_actor: the mean of actions, scaled to [-1, 1].
    """

    value_optimizer: FusedAdam
    own_value_optimizer: FusedAdam
    high_actor_optimizer: FusedAdam
    low_actor_optimizer: FusedAdam
    state_mean: Tensor
    state_std: Tensor
    move_std: Tensor
    fitted: Tensor
    POLICIES: ClassVar[tuple[str, ...]] = ("high_actor", "low_actor")

    def __init__(
        self,
        observation_space: Space[Any],
        action_space: Space[Any],
        lr_schedule: Schedule,
        net_arch: Sequence[int] | None = None,
        activation_fn: type[nn.Module] = nn.GELU,
        layer_norm: bool = True,
        two_values: bool = True,
    ) -> None:
        super().__init__(observation_space, action_space, squash_output=True)
        assert isinstance(action_space, Box)
        widths = [512] * 3 if net_arch is None else list(net_arch)
        seen, achieved = flat_spaces(observation_space)
        self.goal_size = achieved.shape[0]
        states = seen.shape[0] + self.goal_size
        n_in, act = states + self.goal_size, {"activation": activation_fn}
        self.value = Values(n_in, widths, layer_norm=layer_norm, **act)
        if two_values:
            self.own_value = Values(n_in, widths, layer_norm=layer_norm, **act)
        self.high_actor = Mlp(1, n_in, widths, self.goal_size, **act)  # type: ignore[arg-type]
        self.low_actor = Mlp(1, n_in, widths, action_space.shape[0], **act)  # type: ignore[arg-type]
        self.learning = ("value", *(["own_value"] if two_values else []), *self.POLICIES)
        for name in self.learning:
            learns = [one for one in getattr(self, name).parameters() if one.requires_grad]
            setattr(self, f"{name}_optimizer", FusedAdam(learns, lr=float(lr_schedule(1))))
        self.register_buffer("state_mean", th.zeros(states))
        self.register_buffer("state_std", th.ones(states))
        self.register_buffer("move_std", th.ones(self.goal_size))
        self.register_buffer("fitted", th.tensor(False))

    @property
    def high_value(self) -> Values:
        """V of the high level; the low level's where there is one for both."""
        found: Values = self.own_value if "own_value" in self.learning else self.value
        return found

    @property
    def optimizers(self) -> list[th.optim.Optimizer]:
        """Of all networks that learn."""
        return [getattr(self, f"{name}_optimizer") for name in self.learning]

    def fit(self, states: Tensor, moves: Tensor) -> None:
        """Takes mean and deviation from states ``[N, obs + goal]`` and moves ``[M, goal]``, once."""
        if not self.fitted:
            self.state_mean.copy_(states.mean(dim=0))
            self.state_std.copy_(states.std(dim=0, correction=0).clamp_min(LEAST_STD))
            self.move_std.copy_(moves.square().mean(dim=0).sqrt().clamp_min(LEAST_STD))
            self.fitted.fill_(True)

    def with_goals(self, states: Tensor, goals: Tensor) -> Tensor:
        """What values and the high-level policy see, ``[B, obs + 2 goal]``."""
        size = self.goal_size
        goals = (goals - self.state_mean[-size:]) / self.state_std[-size:]
        return th.cat([self._standardised(states), goals], dim=1)

    def with_moves(self, states: Tensor, moves: Tensor) -> Tensor:
        """What the low-level policy sees, ``[B, obs + 2 goal]``; ``moves`` as of :meth:`moves`."""
        return th.cat([self._standardised(states), moves], dim=1)

    def moves(self, states: Tensor, goals: Tensor) -> Tensor:
        """From what is achieved to ``goals`` ``[B, goal]``, in units of a usual move."""
        return (goals - states[:, -self.goal_size :]) / self.move_std

    def _standardised(self, states: Tensor) -> Tensor:
        return (states - self.state_mean) / self.state_std

    def subgoals(self, states: Tensor, goals: Tensor) -> Tensor:
        """What the high-level policy asks for on the way to ``goals``, ``[B, goal]``."""
        moves: Tensor = self.high_actor(self.with_goals(states, goals))[0] * self.move_std
        return states[:, -self.goal_size :] + moves

    def forward(self, obs: Mapping[str, Tensor], deterministic: bool = False) -> Tensor:
        """Actions ``[B, act]``, scaled to [-1, 1]."""
        return self._predict(obs, deterministic)

    def _predict(self, observation: Any, deterministic: bool = False) -> Tensor:
        parts = (observation[name].float() for name in ("observation", "achieved_goal", "desired_goal"))
        seen, achieved, desired = parts
        states = th.cat([seen, achieved], dim=1)
        moves = self.high_actor(self.with_goals(states, desired))[0]
        found: Tensor = self.low_actor(self.with_moves(states, moves))[0].clamp(-1, 1)
        return found
