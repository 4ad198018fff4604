"""What the constructor of an environment takes, and whether it was given that: one sentence says which keyword is not.

Types are read from the signatures. Ranges are the constructors' own business; NaN is in none.
"""

import inspect
from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from .. import unknown

COUNTS = ("no", "one", "two", "three", "four", "five", "six")


@cache
def keywords(batched_class: type) -> dict[str, Any]:
    """The annotation of each keyword; a class whose ``__init__`` ends in ``**kwargs`` hands the rest to its base."""
    found: dict[str, Any] = {}
    for base in batched_class.__mro__:
        if "__init__" in vars(base):
            parameters = list(inspect.signature(base).parameters.values())
            hints = get_type_hints(vars(base)["__init__"])
            for parameter in parameters:
                if parameter.kind is not parameter.VAR_KEYWORD:
                    found.setdefault(parameter.name, hints.get(parameter.name, Any))
            if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters):
                break
    return {name: hint for name, hint in found.items() if name != "num_envs"}


def check_keywords(batched_class: type, given: Mapping[str, Any], *, types: bool) -> None:
    """Whether the constructor takes the keywords that are given, and with ``types`` their values.

    Raises:
        TypeError: there is no such keyword.
        ValueError: a value is of another type than the signature says.
    """
    valid = keywords(batched_class)
    for name, value in given.items():
        if name not in valid:
            # Python's own words come first, as TorchRL and Gymnasium look for them.
            near = unknown("keyword", name, valid).partition("; ")[2]
            raise TypeError(f"{batched_class.__name__}() got an unexpected keyword argument {name!r}; {near}")
        # Constructors know which strings there are, and list them.
        if types and valid[name] is not str and not fits(value, valid[name]):
            raise ValueError(f"{name} must be {words(valid[name])}, got {value!r:.200}")


def whole(value: object) -> bool:
    """Whether this is a whole number by its type; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; of types that are neither numbers, flags, strings nor mappings all are."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is tuple and Ellipsis not in inner:
        several = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
        return several and len(value) == len(inner) and all(map(fits, value, inner))
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint is int:
        return whole(value)
    if hint is float:
        return whole(value) or (isinstance(value, float | np.floating) and not np.isnan(value))
    if origin is Mapping:
        return isinstance(value, Mapping)
    return hint not in (str, NoneType) or isinstance(value, hint)


def words(hint: Any) -> str:
    """What a type is called in a sentence."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(map(words, inner))
    if origin is tuple:
        kind = "whole numbers" if set(inner) == {int} else "numbers"
        return f"{COUNTS[len(inner)] if len(inner) < len(COUNTS) else len(inner)} {kind}"
    plain = {bool: "True or False", int: "a whole number", float: "a number", str: "a string", NoneType: "None"}
    return plain.get(hint, "a dictionary" if origin is Mapping else str(getattr(hint, "__name__", hint)))
