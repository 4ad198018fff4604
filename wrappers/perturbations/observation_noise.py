"""Observations that are off by at most epsilon: by chance, or as an adversary wishes.

    env = ObservationNoise(gymnasium.make("tiltyard/Hopper-v5"), 0.05)  # uniform in the ball
    env = ObservationNoise(env, 0.075, kind="worst", adversary=attack)  # attack(observation) -> perturbation

The agent is deceived and the physics are not: rewards, infos and what happens next are those of the true state
(state-adversarial MDPs: Zhang et al., Robust Deep Reinforcement Learning against Adversarial Perturbations on State
Observations, 2020). The authors of that and of PROTECTED (Liu et al. 2024) state epsilon for observations divided by
their standard deviation (0.075 for Hopper): give those deviations as ``scale``, :func:`observation_scale` measures
them.
"""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper

from ... import unknown
from ..checks import check_whole
from .streams import ALL, EnvStreams, Floats, Ints, Seeds, reset_mask

Info = dict[str, Any]
Array = npt.NDArray[Any]
Adversary = Callable[[Any], npt.ArrayLike]

NORMS, KINDS = ("linf", "l2"), ("uniform", "gaussian", "worst")
ALONE: Ints = np.zeros(1, np.int64)


class Ball:
    """Perturbations of n observations, none of them longer than epsilon; see :class:`ObservationNoise`."""

    def __init__(
        self,
        space: gymnasium.Space[Any],
        num_envs: int,
        epsilon: float,
        norm: str,
        kind: str,
        scale: npt.ArrayLike,
        adversary: Adversary | None,
    ) -> None:
        if not isinstance(space, Box) or space.dtype.kind != "f":
            raise TypeError(f"observations to perturb are Boxes of floats, not {space}: flatten them first")
        if isinstance(epsilon, bool) or not isinstance(epsilon, int | float | np.number):
            raise TypeError(f"epsilon must be a number, got {epsilon!r:.200}")
        if not 0 <= epsilon < np.inf:
            raise ValueError(f"epsilon must be finite and at least 0, got {epsilon}")
        for name, value, valid in (("norm", norm, NORMS), ("kind", kind, KINDS)):
            if value not in valid:
                raise ValueError(unknown(name, value, valid))
        if (kind == "worst") != (adversary is not None):
            raise ValueError('kind="worst" and adversary=... go together: the adversary says what is worst')
        if adversary is not None and not callable(adversary):
            raise TypeError(f"adversary is a function from an observation to a perturbation, got {adversary!r:.200}")
        try:
            self.scale: Floats = np.broadcast_to(np.asarray(scale, np.float64), space.shape)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"scale must be a number, or one for each number observed in the shape {space.shape}, "
                f"got {scale!r:.200}"
            ) from error
        if not ((self.scale >= 0) & (self.scale < np.inf)).all():
            raise ValueError("scale must be finite and at least 0, a number or one for each number observed")
        self.space, self.epsilon, self.norm, self.kind, self.adversary = space, epsilon, norm, kind, adversary
        self.streams = EnvStreams(num_envs, "observation noise")

    def perturbed(self, observations: Array, indices: Ints) -> Array:
        """The observations ``[k, ...]`` of ``indices`` ``[k]`` as the agent gets to see them, inside the space."""
        wished = self._wished(observations, indices).reshape(len(observations), -1)
        delta = self._within(wished).reshape(observations.shape) * self.scale
        seen: Array = np.clip(observations + delta, self.space.low, self.space.high).astype(self.space.dtype)
        return seen

    def _wished(self, observations: Array, indices: Ints) -> Floats:
        """Perturbations in units of ``scale``, not yet inside the ball."""
        size = int(np.prod(self.space.shape))
        if self.adversary is not None:
            return self._attacks(self.adversary, observations)
        if self.kind == "gaussian":
            return self.epsilon / 2 * self.streams.normal(indices, size)
        if self.norm == "linf":
            return self.epsilon * (2 * self.streams.uniform(indices, size) - 1)
        way = self.streams.normal(indices, size)
        reach = self.streams.uniform(indices, 1) ** (1 / size)  # so that no place in the ball is likelier
        wished: Floats = self.epsilon * reach * way / np.linalg.norm(way, axis=1, keepdims=True)
        return wished

    def _attacks(self, adversary: Adversary, observations: Array) -> Floats:
        wished = np.stack([np.asarray(adversary(one.copy()), np.float64) for one in observations])
        if wished.shape != observations.shape or not np.isfinite(wished).all():
            raise ValueError(
                f"an adversary returns a finite perturbation of shape {self.space.shape}, got {wished[0].tolist()}"
            )
        fixed = self.scale == 0  # what has no width cannot be moved
        return np.where(fixed, 0.0, wished / np.where(fixed, 1.0, self.scale))

    def _within(self, wished: Floats) -> Floats:
        if self.norm == "linf":
            return np.clip(wished, -self.epsilon, self.epsilon)
        length = np.linalg.norm(wished, axis=1, keepdims=True)
        within: Floats = wished * np.minimum(1.0, self.epsilon / np.maximum(length, 1e-300))
        return within


class ObservationNoise(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    r"""Observations :math:`\tilde s = s + \delta` with :math:`\|\delta / scale\| \le \epsilon`.

    Args:
        env: observes a Box of floats.
        epsilon: radius of the ball, in units of ``scale``.
        norm: "linf" (each number by at most epsilon) or "l2".
        kind: "uniform" in the ball; "gaussian", of deviation epsilon / 2 a number and cut to the ball; or "worst", what
            ``adversary`` wishes, cut to the ball.
        scale: what an epsilon of 1 is, in units of the observation: a number, or one for each number observed.
        adversary: function from an observation to a perturbation of it, in units of the observation.

    Raises:
        TypeError: observations of another kind, an epsilon that is no number, or an adversary that is no function.
        ValueError: a bad setting, or later a perturbation that is not finite or of another shape.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        epsilon: float,
        *,
        norm: str = "linf",
        kind: str = "uniform",
        scale: npt.ArrayLike = 1.0,
        adversary: Adversary | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(
            self, _disable_deepcopy=True, epsilon=epsilon, norm=norm, kind=kind, scale=scale, adversary=adversary
        )
        super().__init__(env)
        self.ball = Ball(env.observation_space, 1, epsilon, norm, kind, scale, adversary)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets; ``seed`` decides the noise too."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.ball.streams.seed(seed, ALL)
        return self.ball.perturbed(observation[None], ALONE)[0], info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Steps; the observation alone is perturbed."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self.ball.perturbed(observation[None], ALONE)[0], reward, terminated, truncated, info


class VectorObservationNoise(VectorWrapper[Any, Any, Any]):
    """:class:`ObservationNoise` of all environments of a vector; environment i is as it would be alone, bit for bit.

    Args:
        env: any Gymnasium vector, in any autoreset mode.
        epsilon: see :class:`ObservationNoise`, as all other settings.
        norm: likewise.
        kind: likewise.
        scale: likewise.
        adversary: likewise, asked for each environment.
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        epsilon: float,
        *,
        norm: str = "linf",
        kind: str = "uniform",
        scale: npt.ArrayLike = 1.0,
        adversary: Adversary | None = None,
    ) -> None:
        super().__init__(env)
        self.ball = Ball(env.single_observation_space, env.num_envs, epsilon, norm, kind, scale, adversary)
        self._seen: Array = np.zeros(env.observation_space.shape or (), env.observation_space.dtype)

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets all environments, or those of ``options["reset_mask"]``; other observations stay as they were seen."""
        mask = reset_mask(options, self.num_envs)
        observations, info = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self.ball.streams.seed(seed, mask)
        indices = np.flatnonzero(mask)
        self._seen[indices] = self.ball.perturbed(observations[indices], indices)
        return self._seen.copy(), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Steps; final observations are perturbed as well."""
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        if "final_obs" in info:
            indices, final = np.flatnonzero(info["_final_obs"]), info["final_obs"].copy()
            for index, seen in zip(indices, self.ball.perturbed(np.stack(final[indices]), indices), strict=True):
                final[index] = seen
            info = {**info, "final_obs": final}
        self._seen = self.ball.perturbed(observations, np.arange(self.num_envs))
        return self._seen.copy(), rewards, terminated, truncated, info


def observation_scale(env: gymnasium.Env[Any, Any], policy: Any = None, *, steps: int = 2000, seed: int = 0) -> Floats:
    """The standard deviation of each number observed, along episodes of a policy: a ``scale`` for the noise.

    Args:
        env: observes a Box.
        policy: with SB3's ``predict``; random actions if None.
        steps: how many.
        seed: of the first episode and of random actions.

    Raises:
        ValueError: no steps, after which every scale would be 0, and so the noise.
    """
    check_whole(steps=steps)
    if steps < 1:
        raise ValueError(f"deviations are measured along 1 step or more, got steps={steps}")
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    seen = [observation]
    for _ in range(steps):
        action = env.action_space.sample() if policy is None else policy.predict(observation, deterministic=True)[0]
        observation, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            observation, _ = env.reset()
        seen.append(observation)
    deviation: Floats = np.std(np.asarray(seen, np.float64), axis=0)
    return deviation
