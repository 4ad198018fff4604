"""Settings and spaces as JSON and back, without pickle: only what is named here can come out of a checkpoint.

Scalars, lists and dicts are themselves. Everything else is a dict with one ``$`` key: tuples, spaces, the classes a
policy is built from (by name, from three fixed libraries), SB3's schedules and action noises.
"""

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common import noise, utils

_LIBRARIES = ("torch.nn", "torch.optim", "stable_baselines3")
_SCHEDULES: dict[str, tuple[str, ...]] = {
    "ConstantSchedule": ("val",),
    "FloatSchedule": ("value_schedule",),
    "LinearSchedule": ("start", "end", "end_fraction"),
}
_NOISES: dict[str, dict[str, str]] = {  # class: constructor keyword -> attribute
    "NormalActionNoise": {"mean": "_mu", "sigma": "_sigma"},
    "OrnsteinUhlenbeckActionNoise": {"mean": "_mu", "sigma": "_sigma", "theta": "_theta", "dt": "_dt"},
}


def encode(value: Any, name: str = "value") -> Any:
    """``value`` as JSON data.

    Args:
        value: a setting.
        name: what it is called, for messages.

    Raises:
        TypeError: something that could only be stored as code.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {"$array": value.tolist(), "dtype": str(value.dtype)}
    if isinstance(value, tuple):
        return {"$tuple": [encode(part, name) for part in value]}
    if isinstance(value, list):
        return [encode(part, name) for part in value]
    if isinstance(value, Mapping) and not isinstance(value, spaces.Dict):
        return {str(key): encode(part, f"{name}[{key!r}]") for key, part in value.items()}
    return _encode_object(value, name)


def _encode_object(value: Any, name: str) -> dict[str, Any]:
    kind = type(value).__name__
    if isinstance(value, type) and value.__module__.startswith(_LIBRARIES):
        return {"$class": f"{value.__module__}:{value.__qualname__}"}
    if isinstance(value, spaces.Space):
        return encode_space(value)
    if kind in _SCHEDULES:
        return {"$schedule": kind, **{key: encode(getattr(value, key), name) for key in _SCHEDULES[kind]}}
    if kind in _NOISES:
        return {"$noise": kind, **{key: encode(getattr(value, attr), name) for key, attr in _NOISES[kind].items()}}
    raise TypeError(f"cannot save {name}={value!r} without storing code: use numbers, strings, lists or dicts of them")


def freeze(value: Any, name: str, progress_remaining: float) -> Any:
    """:func:`encode`, but a schedule that is a function is stored as its present value, with a warning."""
    try:
        return encode(value, name)
    except TypeError:
        if isinstance(value, type) or not callable(value):
            raise
        present = float(value(progress_remaining))
    warnings.warn(
        f"checkpoints hold no functions: {name} is saved as its present value {present:g}; pass {name}= to load(), "
        "or use stable_baselines3.common.utils.LinearSchedule",
        stacklevel=3,
    )
    return present


def decode(data: Any) -> Any:
    """What :func:`encode` was given. Runs no code but the constructors of spaces, schedules and noises.

    Raises:
        ValueError: a kind or class that no checkpoint of ours holds.
    """
    if isinstance(data, list):
        return [decode(part) for part in data]
    if not isinstance(data, dict):
        return data
    marks = [key for key in data if key.startswith("$")]
    if not marks:
        return {key: decode(part) for key, part in data.items()}
    kind, rest = marks[0], {key: decode(part) for key, part in data.items() if key not in marks}
    if len(marks) != 1 or kind not in _DECODERS:
        raise ValueError(f"not something a checkpoint holds: {marks}")
    return _DECODERS[kind](data[kind], rest)


def _class(path: str, rest: dict[str, Any]) -> type[Any]:
    module, _, name = path.partition(":")
    if module.startswith(_LIBRARIES):
        found = getattr(import_module(module), name, None)
        if isinstance(found, type) and found.__module__.startswith(_LIBRARIES):
            return found
    raise ValueError(f"a checkpoint names the class {path!r}, which is not of {', '.join(_LIBRARIES)}")


def _schedule(kind: str, rest: dict[str, Any]) -> Any:
    if kind not in _SCHEDULES:
        raise ValueError(f"a checkpoint names the schedule {kind!r}, which is unknown")
    return getattr(utils, kind)(*[rest[key] for key in _SCHEDULES[kind]])


def _noise(kind: str, rest: dict[str, Any]) -> Any:
    if kind not in _NOISES:
        raise ValueError(f"a checkpoint names the action noise {kind!r}, which is unknown")
    return getattr(noise, kind)(**rest)


def encode_space(space: spaces.Space[Any]) -> dict[str, Any]:
    """A Gymnasium space as JSON data."""
    if isinstance(space, spaces.Box):
        low, high = (_compact(bound) for bound in (space.low, space.high))
        return {"$space": "Box", "low": low, "high": high, "shape": list(space.shape), "dtype": str(space.dtype)}
    if isinstance(space, spaces.Discrete):
        return {"$space": "Discrete", "n": int(space.n), "start": int(space.start)}
    if isinstance(space, spaces.MultiDiscrete):
        return {"$space": "MultiDiscrete", "nvec": space.nvec.tolist(), "start": space.start.tolist()}
    if isinstance(space, spaces.MultiBinary):
        return {"$space": "MultiBinary", "n": encode(space.n)}
    if isinstance(space, spaces.Text):
        charset = "".join(sorted(space.character_set))
        return {"$space": "Text", "max_length": space.max_length, "min_length": space.min_length, "charset": charset}
    if isinstance(space, spaces.Dict):
        return {"$space": "Dict", "spaces": {key: encode_space(part) for key, part in space.items()}}
    if isinstance(space, spaces.Tuple):
        return {"$space": "Tuple", "spaces": [encode_space(part) for part in space.spaces]}
    raise TypeError(f"cannot save the space {space}: only Gymnasium's fundamental, Text, Dict and Tuple spaces")


def _compact(bound: Any) -> Any:
    """One number where all are equal (images), else nested lists; infinities are JSON's, as Python writes them."""
    return bound.flat[0].item() if bound.size and (bound == bound.flat[0]).all() else bound.tolist()


def _space(kind: str, rest: dict[str, Any]) -> spaces.Space[Any]:
    if kind == "Box":
        dtype = np.dtype(rest["dtype"])
        low, high = (np.broadcast_to(np.asarray(rest[key], dtype), rest["shape"]) for key in ("low", "high"))
        return spaces.Box(low, high, dtype=dtype.type)
    makers: dict[str, Callable[..., spaces.Space[Any]]] = {
        "Discrete": spaces.Discrete,
        "MultiDiscrete": lambda nvec, start: spaces.MultiDiscrete(nvec, start=start),
        "MultiBinary": spaces.MultiBinary,
        "Text": spaces.Text,
        "Dict": spaces.Dict,
        "Tuple": spaces.Tuple,
    }
    if kind not in makers:
        raise ValueError(f"a checkpoint names the space {kind!r}, which is unknown")
    return makers[kind](**rest)


_DECODERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "$tuple": lambda parts, rest: tuple(decode(parts)),
    "$array": lambda values, rest: np.array(values, dtype=rest["dtype"]),
    "$class": _class,
    "$schedule": _schedule,
    "$noise": _noise,
    "$space": _space,
}
