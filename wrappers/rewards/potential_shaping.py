r"""Hints for sparse tasks that leave the best policy as it is: the change of a potential, added to the reward.

    env = PotentialShaping(gymnasium.make("tiltyard/PointMaze-v0"), gamma=0.99)  # the maze's own: the way still to go
    env = PotentialShaping(env, lambda seen: -abs(float(seen[0])), gamma=0.99)  # or one of yours

With :math:`F = \gamma \Phi(s') - \Phi(s)` an episode's discounted sum of F is :math:`-\Phi(s_0)`, whatever was done in
it, so that all policies rank as before (Ng, Harada and Russell, Policy Invariance under Reward Transformations, 1999,
theorem 1). This asks for two things which are easily got wrong: the agent must discount by the same ``gamma``, and the
potential of a state in which an episode *terminates* counts as 0 (Grzes, Reward Shaping in Episodic Reinforcement
Learning, 2017). At a time limit the last state keeps its potential, as agents bootstrap there.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from ..checks import check_numbers, own_reward, own_rewards
from ..perturbations.streams import reset_mask
from .potentials import Potential, published_potential

Info = dict[str, Any]
Floats = npt.NDArray[np.float64]


class PotentialShaping(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Adds the discounted change of a potential to the reward; ``info["true_reward"]`` keeps the environment's.

    Where the environment tells ``reward_terms``, the term ``shaping`` is among them.

    Args:
        env: to be shaped.
        potential: function of an observation; None for the environment's own, see :func:`published_potential`.
        gamma: the agent's discount.
        weight: what the potential is multiplied by: one unit of it should be worth less than success.

    Raises:
        TypeError: no potential is given, and the environment has none of its own; or it is no function; or ``gamma`` or
            ``weight`` is no number.
        ValueError: ``gamma`` is not in (0, 1], ``weight`` is not finite, the environment's own potential would read
            observations that a wrapper has changed, or later a potential is not one finite number.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        potential: Potential | None = None,
        *,
        gamma: float = 0.99,
        weight: float = 1.0,
    ) -> None:
        RecordConstructorArgs.__init__(self, _disable_deepcopy=True, potential=potential, gamma=gamma, weight=weight)
        super().__init__(env)
        _check(potential, gamma, weight)
        self.potential = published_potential(env) if potential is None else potential
        self.gamma, self.weight = gamma, weight
        self._before = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._before = self._worth(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps and shapes."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        after = 0.0 if terminated else self._worth(observation)
        shaping = self.gamma * after - self._before
        self._before = after
        info = {**info, "true_reward": own_reward(info, reward)}
        if "reward_terms" in info:
            info["reward_terms"] = {**info["reward_terms"], "shaping": shaping}
        return observation, float(reward) + shaping, terminated, truncated, info

    def _worth(self, observation: Any) -> float:
        return float(self.weight * _numbers(self.potential(observation), (), "one number for an observation"))


class VectorPotentialShaping(VectorWrapper[Any, Any, Any]):
    """:class:`PotentialShaping` of all environments of a vector, in any autoreset mode.

    Args:
        env: to be shaped.
        potential: function of a batch of observations ``[n, ...]`` that returns ``[n]``; None for the environment's.
        gamma: see :class:`PotentialShaping`.
        weight: likewise.

    Raises:
        TypeError: see :class:`PotentialShaping`.
        ValueError: likewise; later also a potential that is not one number for each environment.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        potential: Potential | None = None,
        *,
        gamma: float = 0.99,
        weight: float = 1.0,
    ) -> None:
        super().__init__(env)
        _check(potential, gamma, weight)
        self.potential = published_potential(env) if potential is None else potential
        self.gamma, self.weight = gamma, weight
        self._before: Floats = np.zeros(env.num_envs)
        self._ended = np.zeros(env.num_envs, np.bool_)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets."""
        self._ended = self._ended & ~reset_mask(options, self.num_envs)
        observations, info = self.env.reset(seed=seed, options=options)
        self._before = self._worths(observations, self.num_envs)
        return observations, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Steps and shapes."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        worths = self._worths(observations, self.num_envs)
        after = worths.copy()
        if "final_obs" in info:
            indices = np.flatnonzero(info["_final_obs"])
            after[indices] = self._worths(_stacked([info["final_obs"][index] for index in indices]), len(indices))
        shaping = self.gamma * np.where(terminated, 0.0, after) - self._before
        if self.env.metadata.get("autoreset_mode") == AutoresetMode.NEXT_STEP:
            shaping[self._ended] = 0.0  # they spent this step on their reset
        self._before, self._ended = worths, np.logical_or(terminated, truncated)
        everywhere = np.ones(self.num_envs, np.bool_)
        told = {"shaping": shaping, "_shaping": everywhere}
        told |= {"true_reward": own_rewards(info, rewards), "_true_reward": everywhere}
        return observations, rewards + shaping, terminated, truncated, {**info, **told}

    def _worths(self, observations: Any, count: int) -> Floats:
        wanted = f"one number for each of the {count} environments"
        return self.weight * _numbers(self.potential(observations), (count,), wanted)


def _check(potential: Potential | None, gamma: float, weight: float) -> None:
    if potential is not None and not callable(potential):
        raise TypeError(f"potential is a function of the observation, got {potential!r:.200}")
    check_numbers(gamma=gamma, weight=weight)
    if not 0 < gamma <= 1:
        raise ValueError(f"gamma is the agent's discount, in (0, 1], got {gamma}")
    if not np.isfinite(weight):
        raise ValueError(f"weight must be finite, got {weight}")


def _numbers(found: Any, shape: tuple[int, ...], wanted: str) -> Floats:
    """What a potential returned, as finite numbers of this shape."""
    try:
        worths = np.asarray(found, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"a potential returns {wanted}, got {found!r:.200}") from error
    if worths.shape != shape:
        raise ValueError(f"a potential returns {wanted}, got shape {worths.shape}")
    if not np.isfinite(worths).all():
        raise ValueError(f"a potential must be finite, got {worths.tolist()}")
    return worths


def _stacked(rows: list[Any]) -> Any:
    if isinstance(rows[0], Mapping):
        return {name: _stacked([row[name] for row in rows]) for name in rows[0]}
    return np.stack(rows)
