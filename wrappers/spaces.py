"""Bridges to Stable-Baselines3: any Gymnasium vector as a ``VecEnv``, any of our spaces as one SB3 can train on.

Three doors, from the most to the least common:

* :func:`sb3_env` makes a training environment from an id: native vector, domain adapter, ``VecEnv``, ``VecMonitor``.
* :func:`to_sb3` turns a ``gymnasium.vector.VectorEnv`` one already has into a ``VecEnv``, without further processes.
* :func:`sb3_spaces` adapts one ``gymnasium.Env``, so that SB3's ``check_env`` and ``DummyVecEnv`` accept it.

SB3 takes no ``Text`` spaces: :mod:`.adapters` translates. With ``strings=True`` nothing is translated and object arrays
hold strings.
"""

import copyreg
import inspect
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Dict, Space, Text
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from stable_baselines3.common.env_util import is_wrapped
from stable_baselines3.common.vec_env import VecEnv, VecMonitor
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from ..envs.catalogue import resolve
from ..envs.core import select_env
from ..envs.errors import made_by_others
from ..envs.seeding import Split, check_split
from ..envs.text.protocol import TextTask
from .adapters import AdaptedEnv, AdaptedVectorEnv, Adapter, Characters, adapter_for, sb3_spaces
from .checks import check_whole, step_checked
from .text import Demonstrator, task_of

__all__ = [
    "AdaptedEnv",
    "AdaptedVectorEnv",
    "Adapter",
    "Characters",
    "TextVectorToSB3",
    "VectorToSB3",
    "adapter_for",
    "sb3_env",
    "sb3_spaces",
    "to_sb3",
]

Bools = npt.NDArray[np.bool_]
Info = dict[str, Any]

_FINAL = {"final_obs", "_final_obs", "final_info", "_final_info"}


def sb3_env(
    env_id: str,
    n_envs: int = 1,
    *,
    seed: int | None = None,
    split: Split = "train",
    strings: bool = False,
    **env_kwargs: Any,
) -> VecEnv:
    """A ready ``VecEnv`` of any Gymnasium id: native vector (ours), domain adapter, :func:`to_sb3`, ``VecMonitor``.

    Args:
        env_id: a Tiltyard id, or any other that Gymnasium can make (stepped one environment after the other).
        n_envs: number of environments.
        seed: of the next reset; environment i gets ``seed + i``.
        split: "train" or "test" problems; ids that are in no catalogue have no test split.
        strings: True leaves text as strings (object arrays) for language agents.
        **env_kwargs: the environment's own keywords.

    Raises:
        ValueError: ``n_envs`` is no whole number of at least 1, or a split that the environment does not have.
        CannotBeMade: the constructor of another package's environment raised an error.
    """
    if isinstance(n_envs, bool) or not isinstance(n_envs, int | np.integer) or n_envs < 1:
        raise ValueError(f"n_envs must be a whole number of at least 1, got {n_envs!r:.200}")
    row = resolve(env_id)
    check_split(split)
    if row.splits:
        env_kwargs["split"] = split
    elif split == "test":
        raise ValueError(f"{env_id} has no test split: it takes other problems by other seeds alone")
    with made_by_others(row.id, env_kwargs):
        if row.vector_entry_point is not None:
            env = gymnasium.make_vec(row.id, int(n_envs), "vector_entry_point", **env_kwargs)
        else:
            same_step = {"autoreset_mode": AutoresetMode.SAME_STEP}
            env = gymnasium.make_vec(row.id, int(n_envs), "sync", vector_kwargs=same_step, **env_kwargs)
    adapter = None if strings else adapter_for(env.single_observation_space, env.single_action_space)
    venv = VecMonitor(to_sb3(env if adapter is None else AdaptedVectorEnv(env, adapter)))
    venv.seed(seed)
    return venv


def to_sb3(env: VectorEnv[Any, Any, Any]) -> "VectorToSB3":
    """Any Gymnasium vector environment as an SB3 ``VecEnv``, without further processes; see :class:`VectorToSB3`.

    Raises:
        TypeError: no vector.
    """
    if not isinstance(env, VectorEnv):
        raise TypeError(
            f"to_sb3 takes a gymnasium.vector.VectorEnv, got {env!r:.200}: give an agent a single environment as it "
            "is, or make a vector with gymnasium.make_vec"
        )
    task = task_of(env)
    return VectorToSB3(env) if task is None else TextVectorToSB3(env, task)


class VectorToSB3(VecEnv):
    """A Gymnasium vector environment with SB3's API.

    Every autoreset mode arrives as SB3 knows it: the step that ends an episode returns the next episode's first
    observation, with the last one in ``info["terminal_observation"]``. Vectors in NEXT_STEP or DISABLED mode are reset
    here, environment by environment (``options["reset_mask"]``), because NEXT_STEP's extra step would enter replay
    buffers as a transition from one episode's end to the next one's beginning, with the agent's action ignored.

    Infos are one dict per environment with Python scalars. At an episode's end it is the final info, with
    ``TimeLimit.truncated`` and, where the environment reports ``success``, ``is_success`` for SB3's loggers; the new
    episode's reset info is in :attr:`reset_infos`.

    Raises:
        ValueError: a vector in NEXT_STEP or DISABLED mode that resets other environments than those asked for.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any]) -> None:
        copyreg.pickle(VecMonitor, _reduced)
        self.env, self._base = env, env.unwrapped
        self._same_step = env.metadata.get("autoreset_mode") == AutoresetMode.SAME_STEP
        self._shared_buffer = not getattr(self._base, "copy", True)
        self._actions: Any = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def seed_envs(self, seeds: Sequence[int]) -> None:
        """Seeds of the next reset, one per environment: ``[s] * n`` puts the same problem in every environment."""
        if len(seeds) != self.num_envs:
            raise ValueError(f"one seed per environment is needed: expected {self.num_envs}, got {len(seeds)}")
        for seed in seeds:
            check_whole(seed=seed)
        self._seeds = [int(seed) for seed in seeds]

    @property
    def next_seeds(self) -> list[int | None]:
        """Seeds of the next reset, one per environment; None where none was set."""
        return list(self._seeds)

    def reset(self) -> VecEnvObs:
        """Resets all environments with the seeds and options set since the last reset."""
        options = self._options[0]
        if any(other != options for other in self._options):
            raise ValueError("a vector environment takes the same options for all environments: set_options(a_dict)")
        first = self._seeds[0]
        seeds: Any = list(self._seeds)
        if seeds == [None] * self.num_envs or (first is not None and seeds == [first + i for i in range(len(seeds))]):
            seeds = first  # Gymnasium's own native vectors take no list
        observation, info = self.env.reset(seed=seeds, options=dict(options) or None)
        self.reset_infos = _rows(info, self.num_envs)
        self._reset_seeds()
        self._reset_options()
        return self._to_sb3(observation)

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Keeps the actions for :meth:`step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Steps all environments."""
        actions = tuple(self._actions) if isinstance(self.action_space, Text) else self._actions
        observation, rewards, terminated, truncated, info = step_checked(self.env, actions)
        dones = np.logical_or(terminated, truncated)
        final, last_info = info.get("final_obs"), info.get("final_info", {})
        infos = _rows({key: column for key, column in info.items() if key not in _FINAL}, self.num_envs)
        if dones.any():
            if self._same_step:
                begun, last = list(infos), _rows(last_info, self.num_envs)
            else:
                final = deepcopy(observation)
                observation, info = self._reset_ended(final, dones)
                begun, last = _rows(info, self.num_envs), infos
            for index in np.flatnonzero(dones).tolist():
                self.reset_infos[index] = begun[index]
                infos[index] = _final_info(last[index], select_env(final, index), terminated[index], truncated[index])
        return self._to_sb3(observation), rewards, dones, infos

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of each environment; a native vector's own attribute speaks for all its environments."""
        if isinstance(self._base, SyncVectorEnv | AsyncVectorEnv):
            values: Sequence[Any] = self._base.get_attr(attr_name)
        else:
            single = f"single_{attr_name}"  # a vector's name for its environments' observation_space
            name = single if hasattr(self._base, single) else attr_name
            values = [getattr(self._base, name)] * self.num_envs
        return [values[i] for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Sets an attribute in every environment; any vector but a SyncVectorEnv takes all environments or none."""
        chosen = list(self._get_indices(indices))
        if isinstance(self._base, SyncVectorEnv):
            for index in chosen:
                setattr(self._base.envs[index], attr_name, value)
        elif len(set(chosen)) < self.num_envs:
            raise ValueError(
                f"{attr_name!r} of {type(self._base).__name__} is one for all environments: leave out the indices"
            )
        elif isinstance(self._base, AsyncVectorEnv):
            self._base.set_attr(attr_name, value)
        else:
            setattr(self._base, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Calls a method of each environment; a native vector is called once, its result split if it has n parts."""
        if isinstance(self._base, SyncVectorEnv | AsyncVectorEnv):
            results: Any = self._base.call(method_name, *method_args, **method_kwargs)
        else:
            results = getattr(self._base, method_name)(*method_args, **method_kwargs)
            batched = isinstance(results, tuple | list | np.ndarray) and len(results) == self.num_envs
            batched = batched and method_name != "compute_reward"  # whose goals are one batch, however many
            results = results if batched else [results] * self.num_envs
        return [results[i] for i in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: VecEnvIndices = None) -> list[bool]:
        """Whether each environment (or, for a native vector, the vector) is wrapped with ``wrapper_class``."""
        chosen = list(self._get_indices(indices))
        if isinstance(self._base, SyncVectorEnv):
            return [is_wrapped(self._base.envs[index], wrapper_class) for index in chosen]
        env: Any = self.env
        while isinstance(env, VectorWrapper) and not isinstance(env, wrapper_class):
            env = env.env
        return [isinstance(env, wrapper_class)] * len(chosen)

    def get_images(self) -> Sequence[npt.NDArray[Any] | None]:
        """One frame per environment, or Nones without ``render_mode="rgb_array"``."""
        frames: Any = self.env.render()
        return [None] * self.num_envs if frames is None else list(frames)

    def close(self) -> None:
        """Closes the vector."""
        self.env.close()

    def _reset_ended(self, before: Any, ended: Bools) -> tuple[Any, Info]:
        """Resets the ended chosen alone; returns the observations of all chosen and the reset info."""
        after, info = self.env.reset(options={"reset_mask": ended.copy()})
        for index in np.flatnonzero(~ended).tolist():
            if not data_equivalence(select_env(before, index), select_env(after, index)):
                raise ValueError(
                    f"{type(self._base).__name__} cannot reset single environments: make it with "
                    "autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP to train on it with Stable-Baselines3"
                )
        return after, info

    def _to_sb3(self, observation: Any) -> VecEnvObs:
        if self._shared_buffer:  # Gymnasium's copy=False: the next step would overwrite what SB3 has yet to store
            observation = deepcopy(observation)
        return cast(VecEnvObs, _strings_as_arrays(observation, self.observation_space))


class TextVectorToSB3(VectorToSB3, Demonstrator):
    """A vector of text environments with an expert: a :class:`~tiltyard.envs.text.protocol.TextEnv`.

    Args:
        env: the vector.
        task: that its environments are of.
    """

    def __init__(self, env: VectorEnv[Any, Any, Any], task: TextTask) -> None:
        VectorToSB3.__init__(self, env)
        Demonstrator.__init__(self, task)


def _reduced(monitor: VecMonitor) -> tuple[Any, ...]:
    """How a monitor is copied and pickled, which Stable-Baselines3's own cannot be: without what its class says.

    A subclass would not be taken for the plain monitor behind which ``fast-ppo`` looks for a native vector.
    """
    return _restored_monitor, ({key: value for key, value in vars(monitor).items() if key != "class_attributes"},)


def _restored_monitor(state: dict[str, Any]) -> VecMonitor:
    copyreg.pickle(VecMonitor, _reduced)
    monitor = VecMonitor.__new__(VecMonitor)
    vars(monitor).update(state, class_attributes=dict(inspect.getmembers(VecMonitor)))
    return monitor


def _final_info(row: Info, observation: Any, terminated: bool, truncated: bool) -> Info:
    row["terminal_observation"] = observation
    row["TimeLimit.truncated"] = bool(truncated and not terminated)
    if "success" in row:
        row["is_success"] = row["success"]
    return row


def _strings_as_arrays(observation: Any, space: Space[Any]) -> Any:
    """A batch of observations with the strings of its Text spaces in object arrays ``[n]``."""
    if isinstance(space, Text):
        return np.array(observation, dtype=object)
    if isinstance(space, Dict):
        return {key: _strings_as_arrays(observation[key], part) for key, part in space.items()}
    return observation


def _rows(columns: Mapping[str, Any], num_envs: int) -> list[Info]:
    """Gymnasium's vector info, columns beside masks, as one dict per environment with Python scalars."""
    rows: list[Info] = [{} for _ in range(num_envs)]
    for key, column in columns.items():
        if key.startswith("_") and key[1:] in columns:
            continue
        if isinstance(column, Mapping):
            values: Any = _rows(column, num_envs)
        elif isinstance(column, np.ndarray) and column.ndim == 1:
            values = column.tolist()
        else:
            values = column if isinstance(column, Sequence | np.ndarray) else [column] * num_envs
        mask = columns.get(f"_{key}")
        for index in range(num_envs) if mask is None else np.flatnonzero(mask).tolist():
            rows[index][key] = values[index]
    return rows
