"""Static linear policies that run: a hundred weights or two each, found by :mod:`.search` or :mod:`.gaits`, as JSON."""

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LinearPolicy:
    """``a = clip(W s + b, -1, 1)``, with the observation's normalisation folded into ``W`` and ``b``.

    Attributes:
        weights: ``W`` ``[actions, observations]``.
        bias: ``b`` ``[actions]``.
    """

    weights: Array
    bias: Array

    def act(self, observations: Array) -> npt.NDArray[np.float32]:
        """Actions ``[n, actions]`` for ``[n, observations]``.

        A plain sum a row, not a matrix product, whose rounding would hang on how many rows there are.
        """
        products = observations[:, None, :] * self.weights[None]
        actions: Array = products.sum(axis=2) + self.bias
        return actions.clip(-1.0, 1.0).astype(np.float32)


def clock(seconds: Array, hertz: float) -> Array:
    """Sine and cosine of one and of two turns a stride ``[n, 4]``, at times ``[n]``."""
    turns = [math.tau * hertz * time for time in seconds.tolist()]
    # One by one: NumPy's vector sine may round by where in the batch an element stands.
    return np.array([(math.sin(t), math.cos(t), math.sin(2 * t), math.cos(2 * t)) for t in turns])


def along(vectors: Array, axis: Array) -> Array:
    """Vectors ``[n, 2]`` in a frame whose x axis is the unit vector ``axis`` ``[n, 2]``."""
    (x, y), (c, s) = vectors.T, axis.T
    return np.stack((c * x + s * y, c * y - s * x), axis=1)


def forward(orientation: Array) -> Array:
    """Where the x axis of a body points on the floor ``[n, 2]``, for quaternions ``[n, 4]``; no unit vectors."""
    w, x, y, z = orientation.T
    return np.stack((1 - 2 * (y * y + z * z), 2 * (x * y + w * z)), axis=1)


def turned(orientation: Array, axis: Array) -> Array:
    """Quaternions ``[n, 4]`` in a frame whose x axis is the unit vector ``axis`` ``[n, 2]`` on the floor."""
    w, x, y, z = orientation.T
    cosine, sine = axis.T
    c, s = np.sqrt((1 + cosine).clip(0) / 2), np.copysign(np.sqrt((1 - cosine).clip(0) / 2), sine)
    return np.stack((c * w + s * z, c * x + s * y, c * y - s * x, c * z - s * w), axis=1)


def positive(orientation: Array) -> Array:
    """Of a quaternion and its negative, which are one orientation, that whose first number is positive."""
    chosen: Array = np.copysign(1.0, orientation[:, :1]) * orientation
    return chosen


def unit(vectors: Array) -> Array:
    """Vectors ``[n, 2]`` of length one; none stays none."""
    lengths: Array = np.maximum(np.sqrt(np.vecdot(vectors, vectors)), 1e-9)
    return vectors / lengths[:, None]


def expert_file(name: str) -> Path:
    """Where the weights of an expert lie."""
    return Path(__file__).parent / f"{name}_expert.json"


@cache
def load_expert(name: str) -> LinearPolicy:
    """The expert of a model ("half_cheetah", "hopper", "walker2d", "ant", "swimmer")."""
    stored = json.loads(expert_file(name).read_text())
    return LinearPolicy(np.array(stored["weights"]), np.array(stored["bias"]))


def save_expert(name: str, policy: LinearPolicy, made: dict[str, Any]) -> None:
    """Writes an expert beside this module, with how it was made."""
    rounded = LinearPolicy(*(np.round(part, 5) for part in (policy.weights, policy.bias)))
    stored = {"made": made, "weights": rounded.weights.tolist(), "bias": rounded.bias.tolist()}
    expert_file(name).write_text(json.dumps(stored, indent=1) + "\n")
