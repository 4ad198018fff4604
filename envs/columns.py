"""Infos of a vector environment: columns of one value per environment, each beside a mask of where it holds."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.spaces import Dict, Space

Bools = npt.NDArray[np.bool_]
Info = dict[str, Any]


def masked(columns: Mapping[str, Any], mask: Bools, *, copy: bool = True) -> Info:
    """Gymnasium's vector info: each column beside ``_name``, a mask of the environments it speaks for.

    Args:
        columns: by name.
        mask: ``[n]``.
        copy: of arrays; environments may hand out their own, which the next step overwrites.
    """
    info: Info = {}
    for key, column in columns.items():
        info[key] = masked(column, mask, copy=copy) if isinstance(column, dict) else _column(column, copy)
        info[f"_{key}"] = mask
    return info


def _column(values: Any, copy: bool) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values.copy() if copy else values
    if isinstance(values[0], bool | int | float):
        return np.asarray(values)
    column = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # one by one: NumPy would otherwise unpack equal-length lists into a matrix
        column[i] = value
    return column


def names_of(names: npt.NDArray[np.str_], numbers: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.str_]:
    """``names[numbers]``, where the first name is "" and most numbers are 0."""
    found = np.zeros(len(numbers), names.dtype)
    some = np.flatnonzero(numbers)
    found[some] = names[numbers[some]]
    return found


def merged(first: Info, second: Info) -> Info:
    """Two masked infos over disjoint environments as one; where both have a column, each keeps its own environments."""
    both = {**second, **first}
    for key in first.keys() & second.keys():
        if key.startswith("_") and key[1:] in first:
            both[key] = first[key] | second[key]
        elif isinstance(first[key], Mapping):
            both[key] = merged(first[key], second[key])
        else:
            both[key] = first[key].copy()
            both[key][second[f"_{key}"]] = second[key][second[f"_{key}"]]
    return both


def select_info(columns: Mapping[str, Any], index: int) -> Info:
    """One environment's row of an info of columns, with Python scalars."""
    row: Info = {}
    for key, column in columns.items():
        if isinstance(column, dict):
            row[key] = select_info(column, index)
        else:
            value = column[index]
            row[key] = value.item() if isinstance(value, np.generic) else value
    return row


def fits(value: Any, column: Any, index: int) -> bool:
    """Whether a value may stand in an environment's place of an array; lists take what they are given."""
    return not isinstance(column, np.ndarray) or np.shape(value) == np.shape(column[index])


def is_batch(observation: Any, space: Space[Any]) -> bool:
    """Whether ``observation`` has one dimension more than ``space``, as SB3's evaluations hand it to ``predict``."""
    if isinstance(observation, Mapping) and isinstance(space, Dict):
        return any(is_batch(part, space[key]) for key, part in observation.items())
    return not isinstance(observation, str) and np.ndim(observation) > len(space.shape or ())
