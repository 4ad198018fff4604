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
