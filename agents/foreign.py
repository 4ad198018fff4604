"""Classes of other packages as agents here: any that subclasses Stable-Baselines3's ``BaseAlgorithm``."""

from functools import cache
from typing import Any

from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm

from .. import unknown
from ..plugins import import_named
from .checkpoint import SafeCheckpoint
from .control.base import ControlAgent, OffPolicyAgent
from .policy_files import safe_aliases


@cache
def load(entry_point: str) -> type[BaseAlgorithm]:
    """Imports ``module:Class``, and gives it checkpoints that hold no code and any environment as input.

    The class made is called ``module:Class``, so that a checkpoint says what would have to be imported to load it.

    Raises:
        KeyError: no such module, or no such class in it.
        TypeError: no class of Stable-Baselines3's API.
    """
    found = _imported(entry_point)
    if not isinstance(found, type) or not issubclass(found, BaseAlgorithm):
        raise TypeError(f"{entry_point} is no agent: agents subclass stable_baselines3.common.base_class.BaseAlgorithm")
    if issubclass(found, SafeCheckpoint):
        return found
    mixed: Any = OffPolicyAgent if issubclass(found, OffPolicyAlgorithm) else ControlAgent
    about = {"__module__": found.__module__, "__doc__": found.__doc__}
    return type(entry_point, (mixed, found), {**about, "policy_aliases": safe_aliases(found.policy_aliases)})


def _imported(entry_point: str) -> Any:
    module, _, name = entry_point.partition(":")
    found = import_named(module, f"agent {entry_point!r}")
    if not hasattr(found, name):
        classes = [key for key, value in vars(found).items() if isinstance(value, type)]
        raise KeyError(f"agent {entry_point!r}: {unknown(f'class of {module}', name, classes)}")
    return getattr(found, name)
