"""How rollouts are acted: the least a step, and the rest for the whole rollout at once."""

from typing import Any, Protocol

import torch as th
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor

from .fused import FusedPolicy, is_fusable
from .policies import NormalizedPolicy
from .rollout import Observations, Rollout, flat, part_of, stacked

CHUNK = 8192
"""Observations whose values are computed at once."""


class Acting(Protocol):
    """Acts in a rollout and gives what the update needs of the policy that acted.

    Attributes:
        policy: that acts.
    """

    policy: Any

    def begin(self, rollout: Rollout) -> None:
        """Before the first step."""

    def act(self, rollout: Rollout, row: int) -> None:
        """Fills one row of actions, from that row's observations."""

    def finish(self, rollout: Rollout) -> Observations:
        """Fills log-probabilities and values; returns observations ``[T N, ...]`` as networks read them."""

    def last_values(self, rollout: Rollout) -> Tensor:
        """Of the last observations of truncated episodes."""


def acting_of(policy: ActorCriticPolicy) -> Acting:
    """How ``policy`` acts."""
    return BulkActing(policy) if isinstance(policy, NormalizedPolicy) else StepActing(policy)


def on_device(observations: Observations, device: th.device) -> Observations:
    """On another device; themselves if they are there."""
    if isinstance(observations, dict):
        return {key: part.to(device) for key, part in observations.items()}
    return observations.to(device)


class StepActing:
    """Any actor-critic policy of SB3's: actions, values and log-probabilities in each step."""

    def __init__(self, policy: ActorCriticPolicy) -> None:
        self.policy = policy

    def begin(self, rollout: Rollout) -> None:
        """Nothing."""

    def act(self, rollout: Rollout, row: int) -> None:
        """See :class:`Acting`."""
        seen: Any = on_device(part_of(rollout.observations, row), self.policy.device)
        actions, values, logp = self.policy(seen)
        rollout.actions[row] = actions.view_as(rollout.actions[row])
        rollout.values[row], rollout.logp[row] = values.squeeze(-1), logp

    def finish(self, rollout: Rollout) -> Observations:
        """See :class:`Acting`."""
        rollout.values[-1] = self._values(part_of(rollout.observations, rollout.n_steps))
        return flat(part_of(rollout.observations, slice(0, rollout.n_steps)))

    def last_values(self, rollout: Rollout) -> Tensor:
        """See :class:`Acting`."""
        last = [one for _, _, one in rollout.last_observations]
        return self._values(stacked(rollout.observation_space, last)) if last else th.zeros(0)

    def _values(self, observations: Observations) -> Tensor:
        return self.policy.predict_values(on_device(observations, self.policy.device)).squeeze(-1)  # type: ignore[arg-type]


class BulkActing(StepActing):
    """Our policies: a step asks the actor alone; values and log-probabilities are had for the whole rollout at once."""

    policy: NormalizedPolicy

    def __init__(self, policy: NormalizedPolicy) -> None:
        super().__init__(policy)
        self.fused = FusedPolicy(policy) if is_fusable(policy) else None
        self._outputs = th.zeros(0)

    def begin(self, rollout: Rollout) -> None:
        """Makes room for the actor's outputs."""
        size = (rollout.n_steps, rollout.n_envs, self.policy.n_outputs)
        if self._outputs.shape != size:
            self._outputs = th.zeros(size, device=self.policy.device)

    def act(self, rollout: Rollout, row: int) -> None:
        """See :class:`Acting`."""
        policy = self.policy
        seen: Any = policy.normalized(on_device(part_of(rollout.observations, row), policy.device))  # type: ignore[arg-type]
        if self.fused is not None:
            outputs = self.fused.actor.forward(seen.flatten(1))
        else:
            outputs = policy.actor_outputs(seen)
        self._outputs[row] = outputs
        rollout.actions[row] = policy.drawn(outputs, seen)

    def finish(self, rollout: Rollout) -> Observations:
        """See :class:`Acting`."""
        policy = self.policy
        outputs, actions = self._outputs.flatten(0, 1), rollout.actions.flatten(0, 1).to(policy.device)
        logp, _ = policy.distribution.log_prob(outputs, policy.noise_scale, actions)
        rollout.logp.copy_(logp.view_as(rollout.logp))
        everything: Any = policy.normalized(on_device(flat(rollout.observations), policy.device))  # type: ignore[arg-type]
        rollout.values.copy_(self._critic(everything, rollout.values.numel()).view_as(rollout.values))
        return part_of(everything, slice(0, rollout.logp.numel()))

    def _critic(self, normalized: Any, size: int) -> Tensor:
        parts = (part_of(normalized, slice(start, start + CHUNK)) for start in range(0, size, CHUNK))
        return th.cat([self._critic_chunk(part) for part in parts])

    def _critic_chunk(self, normalized: Any) -> Tensor:
        if self.fused is not None:
            return self.fused.critic.forward(normalized.flatten(1)).squeeze(1).clone()
        return self.policy.critic_values(normalized)
