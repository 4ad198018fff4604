"""What is asked of a batch of actions before anything moves: numbers in a shape, or strings, one per environment.

Whatever is wrong raises :class:`InvalidAction`, which quotes at most 200 characters of what was got.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from .. import unknown
from .errors import InvalidAction

OutOfBounds = Literal["raise", "clip"]


def check_mode(invalid_action: str) -> str:
    """Returns ``invalid_action`` if it is "raise" or "clip"; raises ``ValueError`` otherwise."""
    if invalid_action not in get_args(OutOfBounds):
        raise ValueError(unknown("invalid_action", invalid_action, get_args(OutOfBounds)))
    return invalid_action


def quoted(value: object) -> str:
    """What was got, in at most 200 characters."""
    return f"{value!r:.200}"


def numbers(actions: Any, shape: tuple[int, ...], *, kinds: str, wanted: str) -> npt.NDArray[Any]:
    """``actions`` as an array of this shape and of one of these kinds of ``dtype``.

    Args:
        actions: what the user gave.
        shape: ``[n, ...]``, environments first.
        kinds: of NumPy's dtypes: "f", "i", "u".
        wanted: what an action is, in words.

    Raises:
        InvalidAction: on anything else, masked arrays among it.
    """
    _refuse_masked(actions, wanted)
    try:
        batch = np.asarray(actions)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor with a gradient
        raise InvalidAction(f"{wanted}, got what is no array: {quoted(actions)}") from error
    if batch.dtype.kind not in kinds:
        raise InvalidAction(f"{wanted}, got type {batch.dtype}: {quoted(actions)}")
    if batch.shape != shape:
        if batch.shape[:1] != shape[:1]:
            raise InvalidAction(f"{wanted}, got {len(batch) if batch.ndim else 'one'} for {shape[0]} environments")
        raise InvalidAction(f"{wanted}, got shape {batch.shape[1:]} for {shape[1:]}")
    return batch


def bounded(
    batch: npt.NDArray[Any], low: Any, high: Any, *, wanted: str, invalid_action: str = "raise", slack: float = 0.0
) -> npt.NDArray[Any]:
    """A batch of numbers ``[n, ...]`` that lie within bounds, as it is; others raise, or are clipped if finite.

    Args:
        batch: the numbers.
        low: of one environment.
        high: likewise.
        wanted: what an action is, in words.
        invalid_action: "raise" or "clip".
        slack: beyond the bounds that passes as rounding.

    Raises:
        InvalidAction: on NaN and infinity, and with "raise" on whatever lies outside.
    """
    inside = (batch >= low - slack) & (batch <= high + slack)  # so written that NaN is outside
    if inside.all():
        return batch
    allowed = np.isfinite(batch) if invalid_action == "clip" else inside
    if not allowed.all():
        index = int(np.flatnonzero(~allowed.reshape(len(batch), -1).all(axis=1))[0])
        raise InvalidAction(f"{wanted}, got {quoted(batch[index].tolist())} in environment {index}")
    clipped: npt.NDArray[Any] = np.clip(batch, low, high)
    return clipped


def strings(actions: Any, num_envs: int, *, wanted: str) -> list[str]:
    """``actions`` as a list of ``num_envs`` strings.

    Raises:
        InvalidAction: on anything else.
    """
    _refuse_masked(actions, wanted)
    several = actions.ndim > 0 if isinstance(actions, np.ndarray) else isinstance(actions, Sequence)
    if not several or isinstance(actions, str | bytes) or len(actions) != num_envs:
        raise InvalidAction(f"{wanted}: expected {num_envs} strings, got {quoted(actions)}")
    for action in actions:
        if not isinstance(action, str):
            raise InvalidAction(f"{wanted}: an action is a string, got {type(action).__name__}: {quoted(action)}")
    return [str(action) for action in actions]


def _refuse_masked(actions: Any, wanted: str) -> None:
    """NumPy would silently take what lies under the mask."""
    if isinstance(actions, np.ma.MaskedArray):
        raise InvalidAction(f"{wanted}, got a masked array (fill it first): {quoted(actions)}")
    if isinstance(actions, list | tuple):
        for part in actions:
            _refuse_masked(part, wanted)
