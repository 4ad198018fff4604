"""Adapters: observations and actions in strings as numbers that Stable-Baselines3 can train on, and back.

SB3 takes no ``Text`` spaces. An :class:`Adapter` translates for each environment: characters for text tasks, screen
elements for phones (:mod:`.elements`), a grid of places for phones seen by pixels alone (:mod:`.pixels`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Dict, MultiDiscrete, Space, Text
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from ..envs.core import select_env

Info = dict[str, Any]


class Adapter(Protocol):
    """Translates one environment between an environment's own spaces and spaces that SB3 can train on."""

    observation_space: Space[Any]
    action_space: Space[Any]

    def encode(self, observation: Any) -> Any:
        """One observation of the environment as a member of :attr:`observation_space`."""

    def decode(self, action: Any, observation: Any) -> Any:
        """One member of :attr:`action_space` as the environment's action, given its latest own ``observation``."""


class Characters:
    """Text in and text out as character tokens: token 0 pads observations and ends answers.

    Args:
        observation_space: of the task; the last ``observation_length`` characters are shown, as one token each.
        action_space: of the task; an answer is at most ``answer_length`` characters, up to the first end token.
        observation_length: characters shown.
        answer_length: characters of the longest answer.
    """

    def __init__(
        self, observation_space: Text, action_space: Text, *, observation_length: int = 256, answer_length: int = 64
    ) -> None:
        self._shown = min(observation_space.max_length, observation_length)
        self._read = "\0" + "".join(sorted(observation_space.character_set))
        self._write = "\0" + "".join(sorted(action_space.character_set))
        self._token = {character: token for token, character in enumerate(self._read)}
        self._shortest = action_space.min_length
        longest = max(min(action_space.max_length, answer_length), self._shortest)
        self.observation_space: Space[Any] = MultiDiscrete([len(self._read)] * self._shown)
        self.action_space: Space[Any] = MultiDiscrete([len(self._write)] * longest)

    def encode(self, observation: str) -> npt.NDArray[np.int64]:
        """Tokens ``[observation_length]``, padded with 0 on the right."""
        tokens = np.zeros(self._shown, np.int64)
        shown = observation[-self._shown :]
        tokens[: len(shown)] = [self._token[character] for character in shown]
        return tokens

    def decode(self, action: npt.NDArray[np.int64], observation: str) -> str:
        """The characters up to the first end token, filled up to the task's shortest answer."""
        answer = "".join(self._write[token] for token in action).partition("\0")[0]
        return answer.ljust(self._shortest, " " if " " in self._write else self._write[1])


def adapter_for(observation_space: Space[Any], action_space: Space[Any]) -> Adapter | None:
    """The adapter that makes these spaces (of one environment) trainable by SB3; None where they are so already.

    Raises:
        TypeError: strings in spaces that no adapter knows.
    """
    if not _has_text(observation_space) and not _has_text(action_space):
        return None
    if isinstance(observation_space, Text) and isinstance(action_space, Text):
        return Characters(observation_space, action_space)
    if isinstance(observation_space, Dict) and {"screen", "tree", "goal"} <= observation_space.keys():
        from .elements import Elements

        return cast(Adapter, Elements(observation_space, action_space))
    if isinstance(observation_space, Dict) and observation_space.keys() == {"screen", "goal"}:
        from .pixels import Pixels

        return cast(Adapter, Pixels(observation_space, action_space))
    raise TypeError(
        f"no adapter to SB3 for observations {named(observation_space)} with actions {named(action_space)}: "
        "strings=True leaves words to a policy of your own; to train on numbers choose another observation (a phone's "
        'are "elements", "screen" and "pixels") or write an adapter (see tiltyard.wrappers.spaces.Adapter)'
    )


def named(space: Space[Any]) -> str:
    """A space in one line: a ``Text`` space's own ``repr`` lists all its characters, a line break among them."""
    if isinstance(space, Dict):
        return f"Dict({', '.join(f'{name}: {named(part)}' for name, part in space.spaces.items())})"
    return f"Text({space.max_length})" if type(space) is Text else " ".join(str(space).split())


def _has_text(space: Space[Any]) -> bool:
    if isinstance(space, Dict):
        return any(_has_text(part) for part in space.values())
    if isinstance(space, gymnasium.spaces.Tuple):
        return any(_has_text(part) for part in space.spaces)
    return isinstance(space, Text)


class AdaptedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One environment behind an :class:`Adapter`."""

    def __init__(self, env: gymnasium.Env[Any, Any], adapter: Adapter) -> None:
        super().__init__(env)
        self._adapter = adapter
        self._raw: Any = None
        self.observation_space = adapter.observation_space
        self.action_space = adapter.action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Info]:
        """Resets and encodes."""
        self._raw, info = self.env.reset(seed=seed, options=options)
        return self._adapter.encode(self._raw), info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Decodes, steps and encodes."""
        action = self._adapter.decode(action, self._raw)
        self._raw, reward, terminated, truncated, info = self.env.step(action)
        return self._adapter.encode(self._raw), float(reward), terminated, truncated, info


class AdaptedVectorEnv(VectorWrapper[Any, Any, Any]):
    """All environments of a vector behind one :class:`Adapter`."""

    def __init__(self, env: VectorEnv[Any, Any, Any], adapter: Adapter) -> None:
        super().__init__(env)
        self._adapter = adapter
        self._raw: Any = None
        self.single_observation_space = adapter.observation_space
        self.single_action_space = adapter.action_space
        self.observation_space = batch_space(adapter.observation_space, env.num_envs)
        self.action_space = batch_space(adapter.action_space, env.num_envs)

    def reset(self, **kwargs: Any) -> tuple[Any, Info]:
        """Resets and encodes."""
        self._raw, info = self.env.reset(**kwargs)
        return self._encoded(), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, Info]:
        """Decodes, steps and encodes, final observations included."""
        decoded = [self._adapter.decode(select_env(actions, i), select_env(self._raw, i)) for i in range(self.num_envs)]
        self._raw, reward, terminated, truncated, info = self.env.step(decoded)
        if "final_obs" in info:
            final = np.full(self.num_envs, None, dtype=object)
            for index in np.flatnonzero(info["_final_obs"]):
                final[index] = self._adapter.encode(info["final_obs"][index])
            info = {**info, "final_obs": final}
        return self._encoded(), reward, terminated, truncated, info

    def _encoded(self) -> Any:
        return _stack([self._adapter.encode(select_env(self._raw, i)) for i in range(self.num_envs)])


def _stack(rows: Sequence[Any]) -> Any:
    """Encoded observations of all environments (arrays, or dicts of arrays) as one batch."""
    if isinstance(rows[0], Mapping):
        return {key: _stack([row[key] for row in rows]) for key in rows[0]}
    return np.stack(rows)


def sb3_spaces(env: gymnasium.Env[Any, Any]) -> gymnasium.Env[Any, Any]:
    """``env`` with spaces that SB3 can train on; unchanged where they are so already.

    Raises:
        TypeError: strings in spaces that no adapter knows.
    """
    adapter = adapter_for(env.observation_space, env.action_space)
    return env if adapter is None else AdaptedEnv(env, adapter)
