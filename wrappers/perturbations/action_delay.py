"""Actions that arrive late, by a fixed number of steps or by one drawn for each episode.

    env = ActionDelay(gymnasium.make("tiltyard/PegInsertion-v0"), 2)  # 0.2 s at 10 Hz
    env = ActionDelay(env, (0, 3))  # from 0 to 3 steps, drawn anew at each reset

An agent that sees neither the delay nor the actions on their way no longer acts in a Markov process; give it a history
(``gymnasium.wrappers.FrameStackObservation``) where that matters (Bouteiller et al., Reinforcement Learning with Random
Delays, 2021).
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Box, Discrete, MultiDiscrete
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from ...envs.actions import quoted
from ...envs.errors import InvalidAction
from .streams import ALL, Bools, EnvStreams, Ints, Seeds, reset_mask

Info = dict[str, Any]
Array = npt.NDArray[Any]
TOLERANCE = 1e-6  # float32 rounding of an agent that clips to the space


class Line:
    """The actions on their way in n environments; see :class:`ActionDelay`."""

    def __init__(
        self, space: gymnasium.Space[Any], num_envs: int, steps: int | tuple[int, int], first: npt.ArrayLike | None
    ) -> None:
        span = tuple(steps) if isinstance(steps, Sequence) else (steps, steps)
        whole = all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in span)
        if not (whole and len(span) == 2 and 0 <= span[0] <= span[1]):
            raise ValueError(
                f"steps is a whole number of at least 0, or a range of such (low, high), got {steps!r:.200}"
            )
        low, high = span
        if not isinstance(space, Box | Discrete | MultiDiscrete):
            raise TypeError(f"actions to delay are arrays or numbers, not {space}")
        if first is None and not isinstance(space, Box):
            raise ValueError(f"what is done before the first action arrives? Give first=, an action of {space}")
        self.space, self.low, self.high = space, low, high
        self.first = np.clip(0, space.low, space.high) if first is None else first  # type: ignore[union-attr]
        self.first = np.asarray(self.checked(np.asarray(self.first)[None])[0], space.dtype)
        self.past: Array = np.tile(self.first, (num_envs, high + 1, *(1,) * self.first.ndim))
        self.delay: Ints = np.full(num_envs, low)
        self.streams = EnvStreams(num_envs, "action delay")

    def begin(self, mask: Bools) -> None:
        """New episodes on the environments where ``mask``: nothing is on its way, and delays are drawn."""
        indices = np.flatnonzero(mask)
        self.past[indices] = self.first
        drawn = self.streams.uniform(indices, 1)[:, 0]
        self.delay[indices] = self.low + (drawn * (self.high - self.low + 1)).astype(np.int64)

    def checked(self, actions: Any) -> Array:
        """The actions ``[n, ...]``; refused now, and not when they would have arrived.

        Raises:
            InvalidAction: one is not in the space.
        """
        batch = np.asarray(actions)
        if isinstance(self.space, Box):
            low, high = self.space.low - TOLERANCE, self.space.high + TOLERANCE
            number = batch.dtype.kind in "fiu" and batch.shape[1:] == self.space.shape
            if number and ((batch >= low) & (batch <= high)).all():  # so written that NaN is refused
                return batch
        elif batch.ndim and all(self.space.contains(one) for one in batch):
            return batch
        raise InvalidAction(f"actions must be in {self.space}, got {quoted(batch.tolist())}")

    def sent(self, actions: Array) -> Array:
        """The line ``[n, high + 1, ...]`` with these actions at its newest end."""
        return np.concatenate((actions[:, None].astype(self.past.dtype), self.past[:, :-1]), axis=1)

    def arrived(self, line: Array) -> Array:
        """The actions ``[n, ...]`` that are carried out now."""
        carried: Array = line[np.arange(len(line)), self.delay]
        return carried


class ActionDelay(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Step t carries out the action of step t - d; ``info["action_delay"]`` is d.

    Args:
        env: acts in a Box, Discrete or MultiDiscrete space.
        steps: d, or the lowest and the highest of which each episode draws one.
        first: done until the first action arrives; zeros (inside the bounds) for a Box, else it must be given.

    Raises:
        TypeError: another action space.
        ValueError: a bad setting; at a step :class:`~tiltyard.envs.InvalidAction`, with nothing changed.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        steps: int | tuple[int, int],
        *,
        first: npt.ArrayLike | None = None,
    ) -> None:
        RecordConstructorArgs.__init__(self, steps=steps, first=first)
        super().__init__(env)
        self.line = Line(env.action_space, 1, steps, first)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets; ``seed`` decides the delays too."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.line.streams.seed(seed, ALL)
        self.line.begin(ALL)
        return observation, {**info, "action_delay": int(self.line.delay[0])}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, Info]:
        """Sends ``action``, and carries out the one that arrives."""
        line = self.line.sent(self.line.checked(np.asarray(action)[None]))
        observation, reward, terminated, truncated, info = self.env.step(self.line.arrived(line)[0])
        self.line.past = line
        return observation, reward, terminated, truncated, {**info, "action_delay": int(self.line.delay[0])}


class VectorActionDelay(VectorWrapper[Any, Any, Any]):
    """:class:`ActionDelay` of all environments of a vector; environment i is as it would be alone, bit for bit.

    Args:
        env: any Gymnasium vector, in any autoreset mode.
        steps: see :class:`ActionDelay`.
        first: likewise, of one environment.
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], steps: int | tuple[int, int], *, first: npt.ArrayLike | None = None
    ) -> None:
        super().__init__(env)
        self.line = Line(env.single_action_space, env.num_envs, steps, first)
        self._ended: Bools = np.zeros(env.num_envs, np.bool_)

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets all environments, or those of ``options["reset_mask"]``."""
        mask = reset_mask(options, self.num_envs)
        observations, info = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self.line.streams.seed(seed, mask)
        self.line.begin(mask)
        self._ended = self._ended & ~mask
        return observations, self._told(info, mask)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Sends the actions, and carries out those that arrive."""
        mode = self.env.metadata.get("autoreset_mode")
        line = self.line.sent(self.line.checked(actions))
        observations, rewards, terminated, truncated, info = self.env.step(self.line.arrived(line))
        begun = self._ended if mode == AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, np.bool_)
        self.line.past, self._ended = line, np.logical_or(terminated, truncated)
        if mode == AutoresetMode.SAME_STEP:
            begun = self._ended
            if begun.any() and "final_info" in info:
                info = {**info, "final_info": self._told(info["final_info"], begun)}
        if begun.any():
            self.line.begin(begun)
        return observations, rewards, terminated, truncated, self._told(info, np.ones(self.num_envs, np.bool_))

    def _told(self, info: Info, mask: Bools) -> Info:
        return {**info, "action_delay": self.line.delay.copy(), "_action_delay": mask.copy()}
