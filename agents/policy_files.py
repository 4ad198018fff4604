"""Policies and networks alone in a file that holds no code: what ``agent.policy.save`` writes and ``load`` reads."""

import copyreg
from abc import ABCMeta
from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, TypeVar, cast

import torch as th
from safetensors.torch import save as tensor_bytes
from stable_baselines3.common.policies import BaseModel, BasePolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.utils import ConstantSchedule, get_device

from .. import __version__
from .archive import NOT_AS_GIVEN, PathOrFile, called, read_checkpoint, refusing, write_checkpoint
from .encoding import SETTING, decode, decode_space, encode, encode_space
from .restoring import Allowance, check_module, check_policy
from .settings import whole_signature

Self = TypeVar("Self", bound="SafePolicy")
_APART = ("observation_space", "action_space", "lr_schedule", "extractor")
"""Arguments of constructors that are no settings: the file has spaces of its own, and describes the extractor."""


class SafePolicy(BaseModel):
    """Gives a policy or network ``save`` and ``load`` that run no code from the file; SB3's unpickle it.

    Mix it in before SB3's class. The file has the form of an agent's checkpoint: the constructor's keywords as they
    were given, and weights.
    """

    _given: dict[str, Any]
    extractor_kwargs: Mapping[str, Any]
    """What the features extractor of a network was made with, besides the space."""

    def __new__(cls: type[Self], *args: Any, **kwargs: Any) -> Self:
        """Notes the constructor's arguments."""
        made = super().__new__(cls)
        given = whole_signature(cls).bind_partial(*args, **kwargs).arguments
        kept = {name: value for name, value in given.items() if name not in _APART}
        vars(made).update(_given=kept, extractor_kwargs={})  # before the module's own constructor
        return made

    def save(self, path: PathOrFile) -> None:
        """Writes the file, which appears whole or not at all.

        Args:
            path: ``.zip`` is added to a name without suffix; or an open binary file.

        Raises:
            TypeError: a setting that could only be stored as code.
        """
        settings = {name: encode(value, name) for name, value in self._given.items()}
        extractor = getattr(self, "features_extractor", None)
        if extractor is not None and "extractor" in whole_signature(type(self)).parameters:
            kwargs = encode(dict(self.extractor_kwargs), "features_extractor_kwargs")
            settings["extractor"] = {"kind": encode(type(extractor), "features_extractor_class"), "kwargs": kwargs}
        about = {
            "format": 1,
            "class": type(self).__name__,
            "settings": settings,
            "spaces": [encode_space(self.observation_space), encode_space(self.action_space)],
            "n_envs": 1,
            "counters": {},
            "described": {},
            "versions": {"tiltyard": __version__, "torch": version("torch")},
        }
        tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in self.state_dict().items()}
        write_checkpoint(path, about, tensor_bytes(tensors))

    @classmethod
    def load(  # type: ignore[override]
        cls: type[Self],
        path: PathOrFile,
        device: th.device | str = "auto",
        custom_objects: Mapping[str, type[Any]] | None = None,
    ) -> Self:
        """Builds the network anew and fills it from the file; runs no code from it.

        Args:
            path: of the file (``.zip`` may be left out), or an open binary file.
            device: where it runs.
            custom_objects: classes of one's own that the file names, by their import path.

        Raises:
            FileNotFoundError: no such file.
            ValueError: not a file of this class, or damaged.
        """
        stored, tensors = read_checkpoint(path)
        if stored["class"] != cls.__name__:
            raise ValueError(f"{called(path)} holds a {stored['class']:.50}, not a {cls.__name__}")
        with refusing(path, besides=NOT_AS_GIVEN if custom_objects else ""):
            spaces = [decode_space(space) for space in stored["spaces"]]
            settings = decode(stored["settings"], SETTING, given=custom_objects or {})
            described = settings.pop("extractor", None)
            check_policy(cls, settings)
            apart: dict[str, Any] = {}
            if "lr_schedule" in whole_signature(cls).parameters:
                apart["lr_schedule"] = ConstantSchedule(1e-3)  # of optimisers, which loading does not use
            with Allowance(tensors.values()):
                if described is not None:
                    apart["extractor"] = _extractor(described)(spaces[0], **described["kwargs"])
                made = cls(observation_space=spaces[0], action_space=spaces[1], **apart, **settings)
            check_module(made, tensors)
            made.load_state_dict(tensors)
        return made.to(get_device(device))


class _Made(ABCMeta):
    """The kind of :func:`safe`'s classes, which are pickled as what they were made from: names find SB3's own."""


@cache
def safe(policy_class: type[BaseModel]) -> type[BaseModel]:
    """A policy class of Stable-Baselines3 with :class:`SafePolicy`'s ``save`` and ``load``; one that has them as it is.

    Its networks keep their own (``policy.actor.load`` of SB3's classes unpickles).
    """
    if issubclass(policy_class, SafePolicy):
        return policy_class
    copyreg.pickle(_Made, _pickled)
    about = {"__module__": policy_class.__module__, "__doc__": policy_class.__doc__, "_made_from": policy_class}
    return cast(type[BaseModel], _Made(policy_class.__name__, (SafePolicy, policy_class), about))


def _pickled(made: type[Any]) -> str | tuple[Callable[..., Any], tuple[Any, ...]]:
    """How pickle stores a class: by :func:`safe` if it is one of its own, by name if it is a user's subclass."""
    return (safe, (made._made_from,)) if "_made_from" in vars(made) else made.__qualname__


def safe_aliases(aliases: Mapping[str, type[BasePolicy]]) -> dict[str, type[BasePolicy]]:
    """SB3's ``policy_aliases`` with classes of :func:`safe`."""
    return {name: cast(type[BasePolicy], safe(policy_class)) for name, policy_class in aliases.items()}


def _extractor(described: Any) -> type[BaseFeaturesExtractor]:
    """The class of a stored extractor, if it is one."""
    kind = described.get("kind") if isinstance(described, Mapping) else None
    if not (isinstance(kind, type) and issubclass(kind, BaseFeaturesExtractor)):
        raise ValueError("it describes no features extractor")
    if set(described) != {"kind", "kwargs"} or not isinstance(described["kwargs"], Mapping):
        raise ValueError("it describes a features extractor without its settings")
    return kind
