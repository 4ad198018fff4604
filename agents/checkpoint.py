"""Checkpoints that hold no code: one zip of ``settings.json`` and ``weights.safetensors``, no pickle anywhere."""

import inspect
import io
import json
import os
import secrets
import zipfile
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, ClassVar, NoReturn, TypeVar, cast

import torch as th
from gymnasium.spaces import Space
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as tensor_bytes
from stable_baselines3.common.base_class import BaseAlgorithm, maybe_make_env
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.save_util import recursive_getattr, recursive_setattr
from stable_baselines3.common.utils import get_system_info
from stable_baselines3.common.vec_env import VecEnv

from .. import __version__, unknown
from .encoding import decode, encode, freeze
from .settings import check_settings, check_steps, whole_signature

SETTINGS, WEIGHTS = "settings.json", "weights.safetensors"
_NOT_SETTINGS = {"self", "env", "device", "tensorboard_log", "_init_setup_model"}
_LIBRARIES = ("torch", "stable-baselines3", "gymnasium", "numpy")

PathOrFile = str | os.PathLike[str] | io.BufferedIOBase
Self = TypeVar("Self", bound="SafeCheckpoint")


def check_keywords(agent: type[Any], settings: Iterable[str]) -> None:
    """Raises ``TypeError`` with the nearest valid names if a keyword is not of ``agent``'s constructor."""
    valid = [name for name in whole_signature(agent).parameters if name != "_init_setup_model"]
    for name in settings:
        if name not in valid and name != "_init_setup_model":
            raise TypeError(f"{agent.__name__}: {unknown('keyword', name, valid)}")


class SafeCheckpoint(BaseAlgorithm):
    """Gives an SB3 algorithm ``save`` and ``load`` that run no code from the file; mix it in before the SB3 class.

    A checkpoint is the constructor's keywords as they were given, so a class needs nothing but a constructor whose
    settings are plain data; weights, optimiser states and the tensors named by SB3's ``_get_torch_save_params``; and
    the counters in :attr:`counters`.
    """

    counters: ClassVar[tuple[str, ...]] = (
        "num_timesteps",
        "_total_timesteps",
        "_num_timesteps_at_start",
        "_episode_num",
        "_n_updates",
        "_n_calls",
        "_current_progress_remaining",
        "exploration_rate",
    )
    """Attributes (or properties) that say how far training has come, saved where an algorithm has them."""

    __signature__: ClassVar[inspect.Signature]
    _given: dict[str, Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Gives a class whose constructor hands ``**settings`` on the signature that this makes, settings by name."""
        super().__init_subclass__(**kwargs)
        cls.__signature__ = whole_signature(cls)

    def __new__(cls: type[Self], *args: Any, **kwargs: Any) -> Self:
        """Notes the constructor's arguments, whatever class in the family defines the constructor."""
        check_keywords(cls, kwargs)
        agent = super().__new__(cls)
        given = inspect.signature(cls).bind_partial(*args, **kwargs).arguments
        check_settings(cls, given)
        kept = {name: value for name, value in given.items() if name not in _NOT_SETTINGS}
        agent._given = {name: deepcopy(value) if isinstance(value, dict) else value for name, value in kept.items()}
        return agent

    def _setup_learn(self, total_timesteps: int, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        """As in SB3, once it is known how long to learn."""
        check_steps(total_timesteps)
        return super()._setup_learn(total_timesteps, *args, **kwargs)

    def save(
        self, path: PathOrFile, exclude: Iterable[str] | None = None, include: Iterable[str] | None = None
    ) -> None:
        """Writes the checkpoint; a file appears whole or not at all.

        Args:
            path: ``.zip`` is added to a name without suffix, as SB3 does; or an open binary file.
            exclude: constructor keywords to leave out.
            include: ignored, for SB3's signature: everything that can be stored is.

        Raises:
            TypeError: a setting that could only be stored as code.
        """
        tensors, described = _flatten(self.get_parameters())
        _, variables = self._get_torch_save_params()
        tensors |= {f"variables/{name}": recursive_getattr(self, name).data for name in variables}
        settings = {
            "format": 1,
            "class": type(self).__name__,
            "settings": self._settings(set(exclude or ())),
            "spaces": [encode(self.observation_space), encode(self.action_space)],
            "n_envs": self.n_envs,
            "counters": self._counted(),
            "described": described,
            "versions": {"tiltyard": __version__} | {name: version(name) for name in _LIBRARIES},
        }
        weights = tensor_bytes({name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()})
        write_atomically(path, lambda file: _write_zip(file, settings, weights))

    @classmethod
    def load(  # type: ignore[override]
        cls: type[Self],
        path: PathOrFile,
        env: Any = None,
        device: th.device | str = "auto",
        custom_objects: dict[str, Any] | None = None,
        print_system_info: bool = False,
        force_reset: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Builds the agent anew and fills it from a checkpoint; runs no code from the file.

        Args:
            path: of the checkpoint (``.zip`` may be left out), or an open binary file.
            env: to train on further; without one the agent can predict, and ``set_env`` gives it one later.
            device: where it runs.
            custom_objects: settings to use instead of the stored ones, like ``kwargs``.
            print_system_info: print the versions of this machine and of the checkpoint.
            force_reset: for SB3's signature; an agent always begins by resetting the environment.
            **kwargs: constructor keywords to change.

        Raises:
            FileNotFoundError: no such file.
            ValueError: not a checkpoint of this class, or damaged, or for other spaces than ``env``'s.
        """
        stored, tensors = read_checkpoint(path)
        if stored["class"] != cls.__name__:
            raise ValueError(
                f"{_name(path)} holds a {stored['class']}, not a {cls.__name__}: use {stored['class']}.load"
            )
        if print_system_info:
            get_system_info()
            print("== SAVED WITH ==", stored["versions"])
        settings = decode(stored["settings"]) | (custom_objects or {}) | kwargs
        observation_space, action_space = decode(stored["spaces"])
        if env is None:
            agent = cls(env=_Spaces(stored["n_envs"], observation_space, action_space), device=device, **settings)
            agent.env = None
        else:
            venv = cls._wrap_env(cls._made(env, stored["n_envs"]), settings.get("verbose", 0))
            given = [venv.observation_space, venv.action_space]
            cls._check_spaces(_name(path), [observation_space, action_space], given)
            agent = cls(env=venv, device=device, **settings)
        agent._fill(stored, tensors, device)
        return agent

    def set_parameters(
        self, load_path_or_dict: Any, exact_match: bool = True, device: th.device | str = "auto"
    ) -> None:
        """Fills the networks and optimisers from a checkpoint of ours, or from ``get_parameters()``."""
        if not isinstance(load_path_or_dict, Mapping):
            stored, tensors = read_checkpoint(load_path_or_dict)
            load_path_or_dict = _unflatten(tensors, stored["described"])
        super().set_parameters(dict(load_path_or_dict), exact_match=exact_match, device=device)

    @staticmethod
    def _made(env: Any, n_envs: int) -> Any:
        """The environment that ``env`` names, for an agent that was saved with ``n_envs`` lanes; others as they are."""
        return maybe_make_env(env, 0)

    @staticmethod
    def _check_spaces(name: str, trained: list[Space[Any]], given: list[Space[Any]]) -> None:
        """Raises ``ValueError`` where the agent called ``name`` cannot act in an environment of ``given`` spaces."""
        for kind, old, new in zip(("observations", "actions"), trained, given, strict=True):
            if old != new:
                raise ValueError(f"{name} was trained with {kind} {old}, but this environment has {new}")

    def _counted(self) -> dict[str, Any]:
        """The :attr:`counters` as JSON data."""
        return {name: encode(getattr(self, name), name) for name in self.counters if hasattr(self, name)}

    def _settings(self, exclude: set[str]) -> dict[str, Any]:
        progress = getattr(self, "_current_progress_remaining", 1.0)
        given = {name: value for name, value in self._given.items() if name not in exclude}
        names = {policy: name for name, policy in self.policy_aliases.items()}
        if not isinstance(given.get("policy", ""), str):
            given["policy"] = names.get(given["policy"], given["policy"])
        return {name: freeze(value, name, progress) for name, value in given.items()}

    def _fill_networks(self, parameters: dict[str, Any], device: th.device | str) -> None:
        self.set_parameters(parameters, exact_match=True, device=device)

    def _fill(self, stored: dict[str, Any], tensors: dict[str, th.Tensor], device: th.device | str) -> None:
        self._fill_networks(_unflatten(tensors, stored["described"]), device)
        for name in self._get_torch_save_params()[1]:
            recursive_setattr(self, f"{name}.data", tensors[f"variables/{name}"].to(self.device))
        for name, value in stored["counters"].items():
            setattr(self, name, decode(value))


def read_checkpoint(path: PathOrFile) -> tuple[dict[str, Any], dict[str, th.Tensor]]:
    """Reads settings and tensors of a checkpoint, on the CPU, without running anything.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a checkpoint, or a damaged one; the message says which.
    """
    file = path if isinstance(path, io.BufferedIOBase) else _existing(Path(path))
    try:
        with zipfile.ZipFile(file) as archive:
            names = set(archive.namelist())
            if "data" in names and SETTINGS not in names:
                raise ValueError(
                    f"{_name(path)} was saved by Stable-Baselines3 with pickle, which runs code when loaded: load it "
                    "with Stable-Baselines3 if you trust it, and copy its weights with set_parameters(get_parameters())"
                )
            if not {SETTINGS, WEIGHTS} <= names:
                raise ValueError(f"{_name(path)} is not a Tiltyard checkpoint: it lacks {SETTINGS} or {WEIGHTS}")
            settings: dict[str, Any] = json.loads(archive.read(SETTINGS))
            if settings.get("format") != 1:
                raise ValueError(f"{_name(path)} is of format {settings.get('format')}: this version reads format 1")
            return settings, read_tensors(archive.read(WEIGHTS))
    except (zipfile.BadZipFile, EOFError, SafetensorError, json.JSONDecodeError, UnicodeDecodeError) as error:
        _refuse(path, error)


def write_atomically(path: PathOrFile, write: Callable[[IO[bytes]], None], suffix: str = ".zip") -> None:
    """Calls ``write`` on an open binary file that takes its name only when complete; makes missing folders."""
    if isinstance(path, io.BufferedIOBase):
        return write(cast(IO[bytes], path))
    target = Path(path)
    target = target if target.suffix else target.with_name(target.name + suffix)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _write_zip(file: IO[bytes], settings: dict[str, Any], weights: bytes) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(SETTINGS, json.dumps(settings, indent=1))
        archive.writestr(WEIGHTS, weights)


def _existing(path: Path) -> Path:
    for candidate in (path, path.with_name(path.name + ".zip")):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"no checkpoint at {path}")


def _name(path: PathOrFile) -> str:
    return str(path) if isinstance(path, str | os.PathLike) else "the file"


def _refuse(path: PathOrFile, error: Exception) -> NoReturn:
    raise ValueError(f"{_name(path)} is not a Tiltyard checkpoint, or is damaged ({error})") from error


def _flatten(parameters: Mapping[str, Any]) -> tuple[dict[str, th.Tensor], dict[str, Any]]:
    """State dicts as named tensors, and the rest of them (optimisers' numbers) as JSON data with the same nesting."""
    tensors: dict[str, th.Tensor] = {}

    def walk(value: Any, path: str) -> Any:
        if isinstance(value, th.Tensor):
            tensors[path] = value
            return {"$tensor": path}
        if isinstance(value, Mapping):
            return {"$items": [[key, walk(part, f"{path}/{key}")] for key, part in value.items()]}
        if isinstance(value, list):
            return {"$list": [walk(part, f"{path}/{i}") for i, part in enumerate(value)]}
        return encode(value, path)

    return tensors, {name: walk(state, name) for name, state in parameters.items()}


def _unflatten(tensors: Mapping[str, th.Tensor], described: Mapping[str, Any]) -> dict[str, Any]:
    def walk(data: Any) -> Any:
        if isinstance(data, dict) and "$tensor" in data:
            return tensors[data["$tensor"]]
        if isinstance(data, dict) and "$items" in data:
            return {key: walk(part) for key, part in data["$items"]}
        if isinstance(data, dict) and "$list" in data:
            return [walk(part) for part in data["$list"]]
        return decode(data)

    return {name: walk(state) for name, state in described.items()}


class _Spaces(VecEnv):
    """Stands in for the environment while an agent is loaded without one: it has spaces, and cannot be stepped."""

    def __init__(self, num_envs: int, observation_space: Space[Any], action_space: Space[Any]) -> None:
        super().__init__(num_envs, observation_space, action_space)

    def reset(self) -> NoReturn:
        raise RuntimeError("this agent was loaded without an environment: call set_env(env) before learn()")

    def step_async(self, actions: Any) -> NoReturn:
        self.reset()

    def step_wait(self) -> NoReturn:
        self.reset()

    def close(self) -> None:
        pass

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        pass

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> NoReturn:
        self.reset()

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        return [False] * self.num_envs
