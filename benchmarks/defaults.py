"""What our environments are made with where nothing is said."""

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from gymnasium.envs.registration import load_env_creator

from ..envs.catalogue import ROWS
from ..envs.core import SingleEnv

INTERFACE = ("action", "observation")
"""Keywords of how agents act and what they see, which rows of agents choose by themselves."""


def is_default(env_id: str, key: str, value: Any) -> bool:
    """Whether ``key=value`` is an interface that an environment of ours has anyway; of others nothing is imported."""
    return key in INTERFACE and (key, value) in defaults_of(env_id).items()


def class_of(entry_point: Any) -> type[Any] | None:
    """The class whose constructor takes an environment's keywords: of ours the batched one; None: it is a function."""
    creator = load_env_creator(entry_point)
    if not inspect.isclass(creator):
        return None
    return creator.batched_class if issubclass(creator, SingleEnv) else creator


@cache
def defaults_of(env_id: str) -> Mapping[str, Any]:
    """The keywords of an environment of ours that have a default, its row's included; of others none."""
    row = next((row for row in ROWS if row.id == env_id), None)
    made = class_of(row.entry_point) if row is not None and row.entry_point else None
    if row is None or made is None:
        return {}
    named = inspect.signature(made).parameters.values()
    return {one.name: one.default for one in named if one.default is not inspect.Parameter.empty} | dict(row.kwargs)
