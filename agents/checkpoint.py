"""Checkpoints that hold no code: one zip of ``settings.json`` and ``weights.safetensors``, no pickle anywhere."""

import inspect
import warnings
from abc import ABCMeta
from collections.abc import Iterable, Mapping
from copy import deepcopy
from importlib.metadata import version
from types import NoneType
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch as th
from gymnasium.spaces import Space
from safetensors.torch import save as tensor_bytes
from stable_baselines3.common.base_class import BaseAlgorithm, maybe_make_env
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.noise import ActionNoise
from stable_baselines3.common.save_util import recursive_getattr, recursive_setattr
from stable_baselines3.common.utils import get_system_info
from stable_baselines3.common.vec_env import VecEnv

from .. import __version__, unknown
from .archive import NOT_AS_GIVEN, PathOrFile, called, read_checkpoint, refusing, write_atomically, write_checkpoint
from .encoding import PLAIN, SETTING, decode, decode_space, encode, freeze
from .hints import unknown_keyword
from .nesting import flatten, unflatten
from .restoring import (
    NOT_SETTINGS,
    Allowance,
    SpacesAlone,
    check_buffer,
    check_counters,
    check_module,
    check_names,
    check_stored,
    checked_optimizer,
    last_observations,
)
from .settings import check_settings, check_steps, present_device, whole_signature

__all__ = ["PathOrFile", "SafeCheckpoint", "check_keywords", "read_checkpoint", "write_atomically"]

_LIBRARIES = ("torch", "stable-baselines3", "gymnasium", "numpy")

Self = TypeVar("Self", bound="SafeCheckpoint")


def check_keywords(agent: type[Any], settings: Iterable[str]) -> None:
    """Raises ``TypeError`` with where it belongs, or what is near, for a keyword that ``agent`` does not take."""
    valid = [name for name in whole_signature(agent).parameters if name != "_init_setup_model"]
    for name in settings:
        if name not in valid and name != "_init_setup_model":
            raise TypeError(f"{agent.__name__}: {unknown_keyword(name, valid)}")


class _Constructed(ABCMeta):
    """Notes the settings of an agent when it has been constructed, so that later changes to them can be found."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        agent = super().__call__(*args, **kwargs)
        agent._constructed_with = agent._standing()
        return agent


class SafeCheckpoint(BaseAlgorithm, metaclass=_Constructed):
    """Gives an SB3 algorithm ``save`` and ``load`` that run no code from the file; mix it in before the SB3 class.

    A checkpoint is the constructor's keywords as they were given, or set later as attributes, so a class needs nothing
    but a constructor whose settings are plain data; weights, optimiser states and the tensors named by SB3's
    ``_get_torch_save_params``; the counters in :attr:`counters`; and the observations that the agent would act on next.
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
    _constructed_with: dict[str, Any]
    _not_stored: tuple[str, ...] = ()  # optimisers that the checkpoint was saved without

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
        kept = {name: value for name, value in given.items() if name not in NOT_SETTINGS}
        agent._given = {name: deepcopy(value) if isinstance(value, dict) else value for name, value in kept.items()}
        return agent

    def _setup_learn(self, total_timesteps: int, *args: Any, **kwargs: Any) -> tuple[int, BaseCallback]:
        """As in SB3, once it is known how long to learn."""
        check_steps(total_timesteps)
        self.warn_of_new_optimizers()
        return super()._setup_learn(total_timesteps, *args, **kwargs)

    def warn_of_new_optimizers(self) -> None:
        """Warns, once, where training goes on from a checkpoint that was saved without its optimisers."""
        if self._not_stored:
            names, self._not_stored = ", ".join(self._not_stored), ()
            warnings.warn(f"the checkpoint was saved without {names}: training goes on with new ones", stacklevel=4)

    def save(
        self, path: PathOrFile, exclude: Iterable[str] | None = None, include: Iterable[str] | None = None
    ) -> None:
        """Writes the checkpoint; a file appears whole or not at all.

        Args:
            path: ``.zip`` is added to a name without suffix, as SB3 does; or an open binary file.
            exclude: constructor keywords to leave out, and optimisers (``"policy.optimizer"``), which are two thirds of
                a file and of no use to an agent that has learnt: one that learns on has new ones, with a warning.
            include: of those excluded, which to store all the same; everything else that can be stored is.

        Raises:
            TypeError: a setting that could only be stored as code.

        Warns:
            UserWarning: a setting was changed after construction to what the constructor does not take; what the agent
                was made with is stored in its place, so that the checkpoint can be loaded.
        """
        left_out = set(exclude or ()) - set(include or ())
        optimizers = left_out & set(self._stored_optimizers())
        parameters = self.get_parameters()
        tensors, described = flatten({name: parameters[name] for name in parameters if name not in optimizers})
        _, variables = self._get_torch_save_params()
        tensors |= {f"variables/{name}": recursive_getattr(self, name).data for name in variables}
        tensors |= _remembered(self._last_obs)
        settings = {
            "format": 1,
            "class": type(self).__name__,
            "settings": self._settings(left_out),
            "excluded": sorted(optimizers | {name for name in left_out if self._given.get(name) is not None}),
            "spaces": [encode(self.observation_space), encode(self.action_space)],
            "n_envs": self.n_envs,
            "counters": self._counted(),
            "described": described,
            "versions": {"tiltyard": __version__} | {name: version(name) for name in _LIBRARIES},
        }
        weights = tensor_bytes({name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()})
        write_checkpoint(path, settings, weights)

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
            env: to train on further, an id in the form that the agent was trained in; without one the agent can
                predict, and ``set_env`` gives it one later, of as many sub-environments as it was saved with.
            device: where it runs.
            custom_objects: settings to use instead of the stored ones, like ``kwargs``, but for those that the agent
                does not take, which are left out with a warning; and classes of one's own that the checkpoint names,
                by their import path (``{"my.nets:MyExtractor": MyExtractor}``).
            print_system_info: print the versions of this machine and of the checkpoint.
            force_reset: whether :meth:`learn` begins by resetting ``env``; if not, ``env`` is where it was at saving.
            **kwargs: constructor keywords to change.

        Raises:
            FileNotFoundError: no such file.
            ValueError: not a checkpoint of this class, or damaged, or for other spaces than ``env``'s.

        Warns:
            UserWarning: a setting that :meth:`save` was told to leave out is not given.
        """
        stored, tensors = read_checkpoint(path)
        if stored["class"] != cls.__name__:
            raise ValueError(
                f"{called(path)} holds a {stored['class']:.50}, not a {cls.__name__}: use {stored['class']:.50}.load"
            )
        if print_system_info:
            get_system_info()
            print("== SAVED WITH ==", stored["versions"])
        given, classes = _custom(cls, custom_objects or {})
        changes, device = {**given, **kwargs}, present_device(device)
        check_keywords(cls, changes)
        with refusing(path):
            left_out = _left_out(stored)
        missing = [name for name in left_out if name in cls.__signature__.parameters and name not in changes]
        if missing:
            names = ", ".join(f"{name}=" for name in missing)
            warnings.warn(f"{called(path)} was saved without some of its settings: give load() {names}", stacklevel=2)
        with refusing(path):
            spaces = [decode_space(space) for space in stored["spaces"]]
            settings = cls._stored_settings(stored["settings"], changes, classes)
            counters = {name: decode(value, PLAIN) for name, value in stored["counters"].items()}
            check_counters(cls, counters)
            if not changes.keys() & {"buffer_size", "n_steps"}:  # else the caller knows how much memory there is
                check_buffer(cls, settings, stored["n_envs"], spaces)
        venv: VecEnv = SpacesAlone(stored["n_envs"], *spaces)
        if env is not None:
            made = cls._made(env, stored["n_envs"], spaces)
            venv = cls._wrap_env(made, changes.get("verbose", settings.get("verbose", 0)))
            cls._check_spaces(called(path), spaces, [venv.observation_space, venv.action_space])
        with refusing(path, besides=NOT_AS_GIVEN if changes else ""):
            with Allowance(tensors.values()):
                agent = cls(env=venv, device=device, **settings | changes)
            agent._fill(stored, tensors, counters, device)
            if not force_reset and env is not None:
                agent._last_obs = last_observations(tensors, venv)
                agent._last_episode_starts = np.zeros(venv.num_envs, np.bool_)
        if env is None:
            agent.env = None
        return agent

    def set_parameters(
        self, load_path_or_dict: Any, exact_match: bool = True, device: th.device | str = "auto"
    ) -> None:
        """Fills the networks and optimisers from a checkpoint of ours, or from ``get_parameters()``.

        Raises:
            ValueError: for other networks or optimisers than this agent's.
        """
        if not isinstance(load_path_or_dict, Mapping):
            stored, tensors = read_checkpoint(load_path_or_dict)
            with refusing(load_path_or_dict, besides=", or is of an agent with other networks"):
                self.set_parameters(unflatten(tensors, stored["described"]), exact_match, device)
            return
        checked = self._checked_parameters(load_path_or_dict)
        for name, state in checked.items():
            if exact_match and isinstance(part := self._part(name), th.nn.Module):
                check_names(part, state)
        super().set_parameters(checked, exact_match=exact_match, device=device)

    def _part(self, name: str) -> Any:
        """The network or optimiser called so, without the wrapper of ``torch.compile``."""
        part = recursive_getattr(self, name)
        return getattr(part, "_orig_mod", part)

    def _stored_optimizers(self) -> list[str]:
        """The names of the optimisers among the agent's parameters."""
        return [name for name in self._get_torch_save_params()[0] if isinstance(self._part(name), th.optim.Optimizer)]

    def _checked_parameters(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Those of ``parameters`` that are safe to load: of this agent's own networks and optimisers, and fitting."""
        checked = dict(parameters)
        for name, state in parameters.items():
            if name not in self._get_torch_save_params()[0]:
                raise ValueError(f"it has parameters for {name!r:.50}, which is no part of a {type(self).__name__}")
            part = self._part(name)
            if isinstance(part, th.optim.Optimizer):
                checked[name] = checked_optimizer(part, state)
            elif isinstance(part, th.nn.Module):
                check_module(part, state)
        return checked

    @classmethod
    def _stored_settings(
        cls, stored: Mapping[str, Any], changes: Mapping[str, Any], classes: Mapping[str, type[Any]]
    ) -> dict[str, Any]:
        """The settings of a checkpoint but for those that ``changes`` replaces, checked and decoded."""
        kept = {name: value for name, value in stored.items() if name not in changes}
        settings = {name: decode(value, SETTING, given=classes) for name, value in kept.items()}
        if "policy" in settings and settings["policy"] not in classes.values():
            cls._check_policy(settings["policy"])
        policy = changes.get("policy", settings.get("policy"))
        check_stored(cls, settings, cls.policy_aliases.get(policy) if isinstance(policy, str) else policy)
        return settings

    @classmethod
    def _check_policy(cls, policy: Any) -> None:
        """Raises ``ValueError`` for a policy that a checkpoint may not name."""
        if not isinstance(policy, str) or policy not in cls.policy_aliases:
            raise ValueError(unknown("policy", str(policy)[:50], cls.policy_aliases))

    @classmethod
    def _made(cls, env: Any, n_envs: int, spaces: list[Space[Any]]) -> Any:
        """The environment that ``env`` names, for an agent saved with ``n_envs`` of them; others as they are."""
        from .build import in_form  # which reads the catalogue, and that this class

        made = in_form(cls, env, n_envs, spaces) if isinstance(env, str) else None
        return maybe_make_env(env, 0) if made is None else made

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
        begun = self._constructed_with
        changed = {name: value for name, value in self._standing().items() if begun.get(name, value) != value}
        changed = _taken(type(self), changed)
        given = {name: value for name, value in (self._given | changed).items() if name not in exclude}
        names = {policy: name for name, policy in self.policy_aliases.items()}
        if not isinstance(given.get("policy", ""), str):
            given["policy"] = names.get(given["policy"], given["policy"])
        return {name: freeze(value, name) for name, value in given.items()}

    def _standing(self) -> dict[str, Any]:
        """The present values of those settings that are attributes of the agent's and plain, or schedules."""
        names = [name for name in type(self).__signature__.parameters if name not in NOT_SETTINGS | {"policy"}]
        found = {name: getattr(self, name) for name in names if hasattr(self, name)}
        plain = (NoneType, bool, int, float, str)
        return {name: value for name, value in found.items() if isinstance(value, plain) or _is_function(value)}

    def _fill_networks(self, parameters: dict[str, Any], device: th.device | str) -> None:
        self.set_parameters(parameters, exact_match=True, device=device)

    def _fill(
        self,
        stored: Mapping[str, Any],
        tensors: Mapping[str, th.Tensor],
        counters: Mapping[str, Any],
        device: th.device | str,
    ) -> None:
        parameters = unflatten(tensors, stored["described"])
        self._not_stored = tuple(name for name in self._stored_optimizers() if name in _left_out(stored))
        new = {name: self._part(name).state_dict() for name in self._not_stored}
        self._fill_networks(new | parameters, device)
        for name in self._get_torch_save_params()[1]:
            own, given = recursive_getattr(self, name), tensors[f"variables/{name}"]
            if own.shape != given.shape or own.is_floating_point() != given.is_floating_point():
                raise ValueError(f"its {name} is of another shape or type than the agent's")
            recursive_setattr(self, f"{name}.data", given.to(self.device))
        for name, value in counters.items():
            setattr(self, name, value)


def _left_out(stored: Mapping[str, Any]) -> list[str]:
    """What the file was saved without: settings and optimisers, by name."""
    names = stored.get("excluded", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("its list of what was left out is no list of names")
    return [name[:50] for name in names]


def _taken(agent: type[Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Those of an agent's settings that its constructor takes with their present values; a warning names the others."""
    taken = {}
    for name, value in changed.items():
        try:
            check_settings(agent, {name: value})
        except (TypeError, ValueError) as error:
            warnings.warn(f"{error}: the checkpoint keeps the value that the agent was made with", stacklevel=4)
        else:
            taken[name] = value
    return taken


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type | th.nn.Module | ActionNoise)


def _custom(agent: type[Any], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, type[Any]]]:
    """Those of ``custom_objects`` that are settings of the agent's, and those that are classes by their import path."""
    classes = {name: value for name, value in given.items() if ":" in name and isinstance(value, type)}
    known = whole_signature(agent).parameters
    settings = {name: value for name, value in given.items() if name in known}
    for name in given.keys() - classes.keys() - settings.keys():
        warnings.warn(f"custom_objects: {unknown(f'setting of {agent.__name__}', name, known)}", stacklevel=3)
    return settings, classes


def _remembered(observations: Any) -> dict[str, th.Tensor]:
    """The observations that the agent would act on next, as tensors by name; none where they are no numbers."""
    parts = observations if isinstance(observations, Mapping) else {"": observations}
    if not all(isinstance(part, np.ndarray) and part.dtype.kind in "biuf" for part in parts.values()):
        return {}
    return {f"last/{key}": th.as_tensor(part) for key, part in parts.items()}
