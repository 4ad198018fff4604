"""Settings and spaces as JSON and back, without pickle: only what is named here can come out of a checkpoint.

Scalars, lists and dicts are themselves. Everything else is a dict with one ``$`` key: tuples, arrays of numbers,
spaces, the classes of :data:`CLASSES`, schedules and action noises. All is checked before anything is made of it. Other
classes are named by their import path, which is not followed: whoever loads the checkpoint gives them.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from gymnasium import spaces
from stable_baselines3.common import buffers, noise, torch_layers, utils
from stable_baselines3.common.sb2_compat.rmsprop_tf_like import RMSpropTFLike
from stable_baselines3.her import HerReplayBuffer
from torch import nn, optim

from .schedules import TableSchedule, tabulated

ACTIVATIONS = (
    "CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid Mish PReLU RReLU ReLU ReLU6 "
    "SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink"
)
OPTIMISERS = "ASGD Adadelta Adagrad Adam AdamW Adamax NAdam RAdam RMSprop Rprop SGD"

CLASSES: dict[str, type[Any]] = {
    f"{kind.__module__}:{kind.__qualname__}": kind
    for kind in (
        *(getattr(nn, name) for name in ACTIVATIONS.split()),
        *(getattr(optim, name) for name in OPTIMISERS.split()),
        RMSpropTFLike,
        torch_layers.FlattenExtractor,
        torch_layers.NatureCNN,
        torch_layers.CombinedExtractor,
        buffers.ReplayBuffer,
        buffers.DictReplayBuffer,
        buffers.NStepReplayBuffer,
        HerReplayBuffer,
        buffers.RolloutBuffer,
        buffers.DictRolloutBuffer,
    )
}
"""Every class that a checkpoint may name; none of them opens files or imports anything, whatever it is given.

Policies are not among them: a checkpoint has an agent's own names for these (``"MlpPolicy"``)."""

PLAIN = ("$tuple", "$array")
"""Kinds that hold nothing but data."""
SETTING = (*PLAIN, "$class", "$named", "$schedule", "$noise")
"""Kinds that a setting may hold."""

DEEPEST = 32
"""Lists in lists, or spaces in spaces: settings of ours have five levels, and Python itself ends at a thousand."""
MOST_CELLS = 2**26
"""Numbers of all spaces together, each of which takes ten bytes: eight frames in full HD and colour are 50 million."""

_SCHEDULES: dict[str, tuple[str, ...]] = {
    "ConstantSchedule": ("val",),
    "FloatSchedule": ("value_schedule",),
    "LinearSchedule": ("start", "end", "end_fraction"),
    "TableSchedule": ("values", "name"),
}
NOTHING: Mapping[str, Any] = {}
MOST_NAME = 100
"""Characters of a function's name."""
MOST_POINTS = 2**16
"""Values of a table of a function."""
TABLE_ERROR = 1e-3
"""Of the largest value: how far a table may be off between its points before saving says so."""
_NOISES: dict[str, dict[str, str]] = {  # class: constructor keyword -> attribute
    "NormalActionNoise": {"mean": "_mu", "sigma": "_sigma"},
    "OrnsteinUhlenbeckActionNoise": {"mean": "_mu", "sigma": "_sigma", "theta": "_theta", "dt": "_dt"},
}
_SPACES: dict[str, tuple[str, ...]] = {  # and what else each is said by
    "Box": ("low", "high", "shape", "dtype"),
    "Discrete": ("n", "start"),
    "MultiDiscrete": ("nvec", "start"),
    "MultiBinary": ("n",),
    "Text": ("max_length", "min_length", "charset"),
    "Dict": ("spaces",),
    "Tuple": ("spaces",),
}
_NUMBERS = "biuf"  # kinds of NumPy's types: truth values, whole numbers, numbers


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
    if isinstance(value, np.ndarray) and value.dtype.kind in _NUMBERS:
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
    if isinstance(value, type):
        return {"$class" if value in CLASSES.values() else "$named": path_of(value)}
    if isinstance(value, spaces.Space):
        return encode_space(value)
    if type(value) is TableSchedule:
        return {"$schedule": kind, "values": value.values, "name": value.__name__}
    if type(value) is getattr(utils, kind, None) and kind in _SCHEDULES:
        return {"$schedule": kind, **{key: encode(getattr(value, key), name) for key in _SCHEDULES[kind]}}
    if type(value) is getattr(noise, kind, None) and kind in _NOISES:
        return {"$noise": kind, **{key: encode(getattr(value, attr), name) for key, attr in _NOISES[kind].items()}}
    setting = name.partition("[")[0]
    raise TypeError(
        f"cannot save {name}={_shown(value)} without storing code: use numbers, strings, classes, lists or dicts of "
        f"them, or leave it out with save(path, exclude=[{setting!r}]) and load(path, {setting}=...)"
    )


def path_of(kind: type[Any]) -> str:
    """``module:Class``, by which checkpoints name a class."""
    return f"{kind.__module__}:{kind.__qualname__}"


def _shown(value: Any) -> str:
    return repr(value)[:200]


def freeze(value: Any, name: str) -> Any:
    """:func:`encode`, but a schedule that is a function is stored by its values, without its code.

    A straight line becomes SB3's ``LinearSchedule``; other functions become a :class:`TableSchedule`, with a warning if
    the table is off between its points (by more than :data:`TABLE_ERROR` of the largest value).
    """
    try:
        return encode(value, name)
    except TypeError:
        if isinstance(value, type) or not callable(value):
            raise
    values, error = tabulated(value, name)
    if len(values) == 2 and values[0] != values[1]:
        return encode(utils.LinearSchedule(values[1], values[0], 1.0))  # of the progress remaining, from 1 to 0
    if error > TABLE_ERROR * max(map(abs, values)):
        warnings.warn(
            f"checkpoints hold no functions: {name} is saved as {len(values)} of its values, and between them is off "
            f"by up to {error:g}; pass {name}= to load() for the function itself",
            stacklevel=3,
        )
    return encode(TableSchedule(values, str(getattr(value, "__name__", type(value).__name__))[:MOST_NAME]))


def decode(
    data: Any, kinds: Iterable[str] = (*SETTING, "$space"), depth: int = 0, given: Mapping[str, type[Any]] = NOTHING
) -> Any:
    """What :func:`encode` was given. Runs no code but the constructors of spaces, schedules and noises.

    Args:
        data: as :func:`encode` returns it.
        kinds: that may occur.
        depth: of what it is part of.
        given: classes that the data may name besides :data:`CLASSES`, by their import path.

    Raises:
        ValueError: a kind or class that no checkpoint of ours holds there, or one that is not said as ours are.
    """
    if depth > DEEPEST:
        raise ValueError(f"a checkpoint holds no lists or dicts nested more than {DEEPEST} deep")
    if isinstance(data, list):
        return [decode(part, kinds, depth + 1, given) for part in data]
    if not isinstance(data, dict):
        return data
    marks = [key for key in data if key.startswith("$")]
    if not marks:
        return {key: decode(part, kinds, depth + 1, given) for key, part in data.items()}
    if len(marks) != 1 or marks[0] not in kinds:
        raise ValueError(f"a checkpoint holds no {_shown(marks)} here")
    rest = {key: part for key, part in data.items() if key not in marks}
    if marks[0] == "$tuple" and isinstance(data["$tuple"], list) and not rest:
        return tuple(decode(data["$tuple"], kinds, depth + 1, given))
    if marks[0] == "$named" and not rest:
        return _named(data["$named"], given)
    return _DECODERS[marks[0]](data[marks[0]], rest, depth)


def _check(kind: Any, rest: Iterable[str], known: Mapping[str, Iterable[str]], what: str) -> None:
    """Raises ``ValueError`` unless ``kind`` is one of the ``known`` and ``rest`` are its parts, no more and no less."""
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(f"a checkpoint names the {what} {_shown(kind)}, which is unknown")
    if set(rest) != set(known[kind]):
        raise ValueError(f"a checkpoint describes a {kind} by {_shown(sorted(rest))}, not by {sorted(known[kind])}")


def _class(path: Any, rest: dict[str, Any], depth: int) -> type[Any]:
    if rest or not isinstance(path, str) or path not in CLASSES:
        raise ValueError(f"a checkpoint names the class {_shown(path)}, which is none that checkpoints may hold")
    return CLASSES[path]


def _named(path: Any, given: Mapping[str, type[Any]]) -> type[Any]:
    """The class that the caller gave under this path; the path itself is never imported."""
    if not isinstance(path, str) or path not in given:
        raise ValueError(
            f"it was saved with the class {_shown(path)}, and nothing is imported because a file names it: import the "
            f"class yourself and load(path, custom_objects={{{_shown(path)}: TheClass}})"
        )
    return given[path]


def _tuple(parts: Any, rest: dict[str, Any], depth: int) -> None:
    raise ValueError(f"a checkpoint holds {_shown(parts)} where the parts of a tuple belong")


def _array(values: Any, rest: dict[str, Any], depth: int = 0) -> np.ndarray:
    _check("array", rest, {"array": ("dtype",)}, "kind")
    return np.array(values, dtype=_dtype(rest["dtype"]))


def _dtype(name: Any) -> np.dtype[Any]:
    """A type of numbers; never of objects or strings, which have no size of their own."""
    found = np.dtype(name) if isinstance(name, str) else np.dtype(object)
    if found.kind not in _NUMBERS or found.names is not None or found.subdtype is not None:
        raise ValueError(f"a checkpoint holds numbers of the type {_shown(name)}, which is none")
    return found


def _schedule(kind: Any, rest: dict[str, Any], depth: int) -> Any:
    _check(kind, rest, _SCHEDULES, "schedule")
    if kind == "TableSchedule":
        return _table(rest["values"], rest["name"])
    given = [decode(rest[key], ("$schedule",), depth + 1) for key in _SCHEDULES[kind]]
    for value in given:
        if not is_number(value) and not (kind == "FloatSchedule" and type(value).__name__ in _SCHEDULES):
            raise ValueError(f"a checkpoint holds a {kind} of {_shown(value)}, which is no number")
    return getattr(utils, kind)(*given)


def _table(values: Any, name: Any) -> TableSchedule:
    if not isinstance(name, str) or not isinstance(values, list) or not 2 <= len(values) <= MOST_POINTS:
        raise ValueError("a checkpoint holds a table of a function without its values")
    if not all(map(is_number, values)):
        raise ValueError("a checkpoint holds a table of a function whose values are no numbers")
    return TableSchedule(values, name[:MOST_NAME])


def _noise(kind: Any, rest: dict[str, Any], depth: int) -> Any:
    _check(kind, rest, _NOISES, "action noise")
    given = {key: decode(part, ("$array",), depth + 1) for key, part in rest.items()}
    if not all(is_number(value) or isinstance(value, np.ndarray) for value in given.values()):
        raise ValueError(f"a checkpoint holds a {kind} of something else than numbers")
    return getattr(noise, kind)(**given)


def is_number(value: Any) -> bool:
    """Whether ``value`` is a finite number of Python's that a machine's numbers can hold."""
    return isinstance(value, int | float) and math.isfinite(value) and abs(value) < 2**63


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


def decode_space(data: Any, depth: int = 0) -> spaces.Space[Any]:
    """The space that :func:`encode_space` described.

    Raises:
        ValueError: no space, or one of more than :data:`MOST_CELLS` numbers; nothing has been allocated.
    """
    if (cells := _cells(data, depth)) > MOST_CELLS:
        raise ValueError(f"its spaces have {cells:,} numbers, and {MOST_CELLS:,} are the most that are read")
    return _built(data)


def _cells(data: Any, depth: int) -> int:
    """How many numbers a space and its parts have, after a look at whether it is one."""
    if not isinstance(data, dict) or "$space" not in data:
        raise ValueError(f"a checkpoint holds {_shown(data)} where a space belongs")
    if depth > DEEPEST:
        raise ValueError(f"a checkpoint holds no spaces nested more than {DEEPEST} deep")
    kind = data["$space"]
    _check(kind, data.keys() - {"$space"}, _SPACES, "space")
    if kind in ("Dict", "Tuple"):
        parts = data["spaces"]
        if not isinstance(parts, dict if kind == "Dict" else list):
            raise ValueError(f"a checkpoint holds a {kind} space without spaces")
        return sum(_cells(part, depth + 1) for part in (parts.values() if isinstance(parts, dict) else parts))
    shapes = {"Box": "shape", "MultiBinary": "n"}
    return math.prod(_shape(data[shapes[kind]])) if kind in shapes else 1


def _shape(data: Any) -> tuple[int, ...]:
    """One whole number, or a list or tuple of them, as a shape."""
    data = data.get("$tuple") if isinstance(data, dict) else data
    return tuple(map(_whole, data)) if isinstance(data, list) else (_whole(data),)


def _whole(data: Any, least: int = 0) -> int:
    if type(data) is not int or not least <= data < 2**63:
        raise ValueError(f"a checkpoint holds {_shown(data)} where a whole number belongs")
    return data


def _built(data: Mapping[str, Any]) -> spaces.Space[Any]:
    kind, rest = data["$space"], {key: part for key, part in data.items() if key != "$space"}
    if kind == "Box":
        return _box(**rest)
    if kind == "Dict":
        return spaces.Dict({key: _built(part) for key, part in rest["spaces"].items()})
    if kind == "Tuple":
        return spaces.Tuple([_built(part) for part in rest["spaces"]])
    if kind == "MultiDiscrete":
        nvec, start = (_array(rest[key], {"dtype": "int64"}) for key in ("nvec", "start"))
        return spaces.MultiDiscrete(nvec, start=start)
    if kind == "Discrete":
        return spaces.Discrete(_whole(rest["n"]), start=_whole(rest["start"], -(2**63)))
    if kind == "Text":
        if not isinstance(rest["charset"], str):
            raise ValueError("a checkpoint holds a Text space without characters")
        return spaces.Text(_whole(rest["max_length"]), min_length=_whole(rest["min_length"]), charset=rest["charset"])
    return spaces.MultiBinary(rest["n"] if type(rest["n"]) is int else _shape(rest["n"]))


def _box(low: Any, high: Any, shape: Any, dtype: Any) -> spaces.Box:
    kind = _dtype(dtype)
    least, most = (np.broadcast_to(np.array(bound, kind), _shape(shape)) for bound in (low, high))
    return spaces.Box(least, most, dtype=kind.type)


_DECODERS: dict[str, Callable[[Any, dict[str, Any], int], Any]] = {
    "$tuple": _tuple,
    "$array": _array,
    "$class": _class,
    "$schedule": _schedule,
    "$noise": _noise,
    "$space": lambda kind, rest, depth: decode_space({"$space": kind, **rest}, depth),
}
