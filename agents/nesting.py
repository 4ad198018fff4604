"""State dicts as named tensors beside JSON data of the same nesting, as a checkpoint holds them."""

from collections.abc import Mapping
from typing import Any

import torch as th

from .encoding import PLAIN, decode, encode


def flatten(parameters: Mapping[str, Any]) -> tuple[dict[str, th.Tensor], dict[str, Any]]:
    """State dicts as named tensors, and the rest of them (optimisers' numbers) as JSON data with the same nesting."""
    tensors: dict[str, th.Tensor] = {}

    def walk(value: Any, path: str) -> Any:
        if isinstance(value, th.Tensor):
            tensors[path] = value
            return {"$tensor": path}
        if isinstance(value, Mapping):
            return {"$items": [[key, walk(part, f"{path}/{key}")] for key, part in value.items()]}
        if isinstance(value, list):
            return {"$list": [walk(part, f"{path}/{i}") for i, part in enumerate(value)]}
        return encode(value, path)

    return tensors, {name: walk(state, name) for name, state in parameters.items()}


def unflatten(tensors: Mapping[str, th.Tensor], described: Mapping[str, Any]) -> dict[str, Any]:
    """What :func:`flatten` was given."""

    def walk(data: Any) -> Any:
        if isinstance(data, dict) and "$tensor" in data:
            return tensors[data["$tensor"]]
        if isinstance(data, dict) and "$items" in data:
            return {key: walk(part) for key, part in data["$items"]}
        if isinstance(data, dict) and "$list" in data:
            return [walk(part) for part in data["$list"]]
        return decode(data, PLAIN)

    return {name: walk(state) for name, state in described.items()}
