"""Where steps come from: a native Gymnasium vector, stepped as it is, or any SB3 ``VecEnv``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import time
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from stable_baselines3.common.vec_env import VecEnv, VecMonitor

from ....envs.core import select_env
from ....wrappers.checks import step_checked
from ....wrappers.spaces import VectorToSB3

Bools = npt.NDArray[np.bool_]
Info = dict[str, Any]


@dataclass
class Step:
    """What all environments did in one step.

    Attributes:
        observation: to act on next, batched; the arrays are the environment's, and the next step may change them.
        rewards: ``[N]``.
        terminated: ``[N]``.
        truncated: ``[N]``.
        valid: ``[N]``, False where the environment spent the step on its reset and did not act.
        last: observations of episodes that were truncated, by environment, where ``observation`` is not itself theirs.
        infos: of ended episodes, by environment, with ``episode`` (SB3's return ``r``, length ``l`` and time ``t``).
    """

    observation: Any
    rewards: npt.NDArray[np.float32]
    terminated: Bools
    truncated: Bools
    valid: Bools
    last: dict[int, Any] = field(default_factory=dict)
    infos: dict[int, Info] = field(default_factory=dict)


class Source(Protocol):
    """Steps environments."""

    def step(self, actions: npt.NDArray[Any]) -> Step:
        """Steps all of them."""


def source_of(venv: VecEnv) -> Source:
    """The vector that stands behind SB3's adapters if nothing else stands between, or else ``venv`` itself."""
    inner = venv
    while type(inner) is VecMonitor and inner.results_writer is None and not inner.info_keywords:
        inner = inner.venv
    if isinstance(inner, VectorToSB3):
        return VectorSource(inner.env)
    return VecEnvSource(venv)


class VectorSource:
    """A native Gymnasium vector, in any of its three autoreset modes, whose environments have just been reset.

    * SAME_STEP: the observation is the next episode's first, the last one comes beside it.
    * NEXT_STEP: the observation is the episode's last; the environment spends its next step on the reset, and that
      step is no experience (``valid`` is False).
    * DISABLED: ended environments are reset here, by ``options["reset_mask"]``.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        self.env = env
        self.mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._ended = np.zeros(env.num_envs, np.bool_)
        self._returns = np.zeros(env.num_envs)
        self._lengths = np.zeros(env.num_envs, np.int64)
        self._start = time()

    def step(self, actions: npt.NDArray[Any]) -> Step:
        """Steps all environments."""
        observation, rewards, terminated, truncated, info = step_checked(self.env, actions)
        valid = ~self._ended if self.mode == AutoresetMode.NEXT_STEP else np.ones(len(rewards), np.bool_)
        done = np.asarray(terminated | truncated, np.bool_)
        result = Step(observation, rewards, np.asarray(terminated), np.asarray(truncated & ~terminated), valid)
        self._returns += rewards
        self._lengths += valid
        if done.any():
            self._finish(result, done, info)
        self._ended = done
        return result

    def _finish(self, result: Step, done: Bools, info: Mapping[str, Any]) -> None:
        own, last, before = info, info.get("final_obs"), result.observation
        if self.mode == AutoresetMode.SAME_STEP:
            own = info.get("final_info", {})
        elif self.mode == AutoresetMode.DISABLED:
            last = [select_env(before, index) if done[index] else None for index in range(len(done))]
            last = [None if one is None else _copied(one) for one in last]
            result.observation = self.env.reset(options={"reset_mask": done.copy()})[0]
        for index in np.flatnonzero(done).tolist():
            row = _row(own, index)
            episode = {"r": float(self._returns[index]), "l": int(self._lengths[index]), "t": time() - self._start}
            result.infos[index] = row | {"episode": episode, "TimeLimit.truncated": bool(result.truncated[index])}
            if "success" in row:
                result.infos[index]["is_success"] = row["success"]
            if result.truncated[index] and self.mode != AutoresetMode.NEXT_STEP:
                assert last is not None
                result.last[index] = select_env(last, index)
        self._returns[done] = 0.0
        self._lengths[done] = 0


def _copied(observation: Any) -> Any:
    if isinstance(observation, Mapping):
        return {key: _copied(part) for key, part in observation.items()}
    return np.array(observation)


def _row(columns: Mapping[str, Any], index: int) -> Info:
    """One environment's row of a vector's info, without Gymnasium's masks and with Python's scalars."""
    row: Info = {}
    for key, column in columns.items():
        mask = columns.get(f"_{key}")
        hidden = (key.startswith("_") and key[1:] in columns) or key.startswith("final_")
        if hidden or (mask is not None and not mask[index]):
            continue
        if isinstance(column, Mapping):
            row[key] = _row(column, index)
        else:
            value = column[index] if isinstance(column, np.ndarray | list | tuple) else column
            row[key] = value.item() if isinstance(value, np.generic) else value
    return row


class VecEnvSource:
    """An SB3 ``VecEnv``, such as one inside other wrappers; its infos cost a dict an environment and step."""

    def __init__(self, venv: VecEnv) -> None:
        self.venv = venv
        self._valid = np.ones(venv.num_envs, np.bool_)

    def step(self, actions: npt.NDArray[Any]) -> Step:
        """Steps all environments."""
        observation, rewards, dones, infos = self.venv.step(actions)
        ended = np.flatnonzero(dones).tolist()
        truncated = np.zeros(len(dones), np.bool_)
        truncated[[index for index in ended if infos[index].get("TimeLimit.truncated", False)]] = True
        return Step(
            observation,
            np.asarray(rewards, np.float32),
            np.asarray(dones, np.bool_) & ~truncated,
            truncated,
            self._valid,
            {index: infos[index]["terminal_observation"] for index in ended if truncated[index]},
            {index: infos[index] for index in ended},
        )
