"""Weights that a policy of a phone's elements begins from, in one file of half precision that says what made them.

``benchmarks/studies/phone_base.py`` makes them by cloning a noisy expert; a policy names one by ``base``, a file's
path or a name of :data:`BASES`. The metadata are ``shape`` (JSON, of :class:`~.elements.Shape`), ``env``, ``command``
and ``versions``. The head of values is not among the weights: every agent learns its own.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from torch import Tensor

from ... import unknown
from .elements import Shape
from .pretrained import FOLDER, SUFFIX, read_weights, write_weights

__all__ = ["BASES", "PARTS", "read_elements_base", "write_elements_base"]

BASES: dict[str, str] = {
    "phone-v1-base": "python benchmarks/studies/phone_base.py --out phone-v1-base.safetensors",
}
"""Bases that are shipped, beside those of text, by name; what made each."""
PARTS = ("network.", "heads.")
"""Beginnings of the names of weights that a base holds."""


def read_elements_base(name: str) -> tuple[Shape, dict[str, Tensor]]:
    """The sizes and weights of a base.

    Args:
        name: of a shipped one, or of a file that ends in ``.safetensors``.

    Raises:
        FileNotFoundError: no such file.
        ValueError: neither, or a damaged file, or one of another kind.
    """
    if name not in BASES and not name.endswith(SUFFIX):
        raise ValueError(unknown("base", name, BASES) + f" (or the path of a {SUFFIX} file)")
    file = FOLDER / f"{name}{SUFFIX}" if name in BASES else Path(name)
    about, weights = read_weights(file)
    try:
        shape = Shape(**json.loads(about["shape"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{file} is no base of a phone's policy: it does not say which sizes it has") from error
    return shape, weights


def write_elements_base(
    state: Mapping[str, Tensor], shape: Shape, file: str | Path, *, env: str, command: str, versions: str
) -> None:
    """Writes what a policy learnt; the file appears whole or not at all.

    Args:
        state: of :class:`~tiltyard.agents.control.elements_policy.ElementsPolicy`; its values are left out.
        shape: its sizes.
        file: its name.
        env: where its demonstrations came from.
        command: what made it.
        versions: of packages (JSON).

    Raises:
        ValueError: a weight that is no finite number in half precision.
    """
    kept = {name: value for name, value in state.items() if name.startswith(PARTS)}
    about = {"shape": json.dumps(asdict(shape)), "env": env, "command": command, "versions": versions}
    write_weights(kept, file, about)
