"""Values of the machine as Python sees them: records, tuples, texts and numbers."""

from collections.abc import Callable, Mapping
from typing import Any

from . import memory as w
from .program import Words

Make = Callable[..., Any]


class Reader:
    """Reads one phone's memory.

    Args:
        memory: ``[words]`` of one phone.
        pool: constants.
        types: names of the fields of each type of record, in order.
        makers: ``app.record`` -> its class; a record without one becomes a dict.
    """

    def __init__(self, memory: Words, pool: Words, types: Mapping[str, tuple[str, ...]], makers: Mapping[str, Make]):
        self.memory, self.pool, self.makers = memory, pool, makers
        self.types = list(types.items())

    def value(self, value: int) -> Any:
        """A value."""
        value = int(value)
        tag, payload = value & 7, value >> 3
        if tag == w.INT:
            return payload
        if tag == w.BOOL:
            return bool(payload)
        if tag in (w.NONE, w.UNSET):
            return None
        words, at = (self.memory, payload) if payload >= 0 else (self.pool, ~payload)
        if tag == w.TEXT:
            n = int(words[at])
            packed = words[at + w.TEXT_HEADER : at + w.TEXT_HEADER + (n + 7) // 8]
            return packed.tobytes()[:n].decode("ascii")
        if tag == w.LIST:
            return tuple(self.value(one) for one in words[at + 1 : at + 1 + int(words[at])])
        name, fields = self.types[int(words[at])]
        parts = [self.value(one) for one in words[at + 1 : at + 1 + len(fields)]]
        make = self.makers.get(name)
        return make(*parts) if make else dict(zip(fields, parts, strict=True))


def makers(programs: Mapping[str, Any]) -> dict[str, Make]:
    """The classes of the records of apps."""
    found = {}
    for key, program in programs.items():
        schema = program.place.schemas[key]
        found[f"{key}.{program.app.record}"] = schema.made
        for name, (made, _) in schema.records.items():
            found[f"{key}.{name}"] = made
    return found
