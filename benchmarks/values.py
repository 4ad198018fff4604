"""Values of ``--set key=value``: what a word on the command line stands for, and which strings stand for themselves."""

import json
from typing import Any


def is_plain(value: Any) -> bool:
    """Whether ``value`` is a string that a command line may hold without JSON's quotes and still mean itself."""
    return isinstance(value, str) and parse_value(value) == value


def parse_value(text: str) -> Any:
    """A value of ``--set key=value``: JSON, Python's ``True``, ``False`` and ``None``, or else the string itself."""
    try:
        return json.loads({"True": "true", "False": "false", "None": "null"}.get(text, text))
    except ValueError:
        return text
