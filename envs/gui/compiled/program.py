"""What the machine runs, as the compiler makes it: bytecode and the constants that all phones share."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..declare.expressions import Entry
from ..render import ICON_INDEX
from . import memory as w
from . import pool as p

Words = npt.NDArray[np.int64]
MAPPING = 0
"""The type of records that are mappings: a list of keys and a list of values."""
_MASK = (1 << 64) - 1


def fnv(text: str) -> int:
    """FNV-1a of the characters, 64 bits, as a signed word."""
    code = 0xCBF29CE484222325
    for byte in text.encode("ascii"):
        code = (code ^ byte) * 0x100000001B3 & _MASK
    return code - (1 << 64) if code >> 63 else code


@dataclass
class Assembly:
    """Bytecode and constants in the making.

    Attributes:
        code: instructions ``(number, a, b)``; the first is none, but room for addresses (:mod:`.calling`).
        pool: words of constants.
        types: names of the fields of each type of record, by the record's name.
        names: numbers of the names of fields.
        units: code, local of what is dropped on it, and needed locals of each unit.
        rows: units of rows.
    """

    code: list[tuple[int, int, int]] = field(default_factory=lambda: [(0, 0, 0)])
    pool: list[int] = field(default_factory=lambda: [0] * p.HEADER)
    types: dict[str, tuple[str, ...]] = field(default_factory=lambda: {"mapping": ("keys", "values")})
    names: dict[str, int] = field(default_factory=dict)
    units: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
    rows: list[tuple[int, int, int]] = field(default_factory=list)
    _known: dict[Any, int] = field(default_factory=dict)

    def emit(self, kind: int, a: int = 0, b: int = 0) -> int:
        """Adds an instruction; its number."""
        self.code.append((kind, a, b))
        return len(self.code) - 1

    def patch(self, place: int, *, a: int | None = None, b: int | None = None) -> None:
        """Gives an instruction other arguments: by default the number of the next one."""
        kind, old_a, old_b = self.code[place]
        self.code[place] = (kind, old_a if a is None else a, old_b if b is None else b)

    @property
    def here(self) -> int:
        """The number of the next instruction."""
        return len(self.code)

    def name(self, text: str) -> int:
        """The number of a field's name."""
        return self.names.setdefault(text, len(self.names))

    def type(self, record: str, fields: Iterable[str]) -> int:
        """The number of a type of record."""
        self.types.setdefault(record, tuple(fields))
        for one in self.types[record]:
            self.name(one)
        return list(self.types).index(record)

    def value(self, constant: Any) -> int:
        """A constant as a value of the machine."""
        if constant is None:
            return w.NONE
        if isinstance(constant, bool):
            return int(constant) << 3 | w.BOOL
        if isinstance(constant, int):
            return constant << 3 | w.INT
        key = _key(constant)
        if key not in self._known:
            self._known[key] = self._made(constant)
        return self._known[key]

    def _made(self, constant: Any) -> int:
        if isinstance(constant, str):
            return self._text(constant)
        if isinstance(constant, Mapping):
            parts = [self.value(tuple(constant)), self.value(tuple(constant.values()))]
            return self._placed([MAPPING, *parts], w.RECORD)
        if isinstance(constant, Entry):
            columns = vars(constant)
            kind = self.type("entry " + " ".join(columns), columns)
            return self._placed([kind, *(self.value(one) for one in columns.values())], w.RECORD)
        return self._placed([len(constant), *(self.value(one) for one in constant)], w.LIST)

    def _text(self, text: str) -> int:
        data = text.encode("ascii")
        packed = [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]
        return self._placed([len(data), fnv(text), ICON_INDEX.get(text, -1) + 1, *packed], w.TEXT)

    def _placed(self, words: list[int], tag: int) -> int:
        return ~self.table(words) << 3 | tag

    def table(self, words: Iterable[int]) -> int:
        """Puts words into the pool; where they begin. Making a word may put others there first."""
        made = list(words)
        start = len(self.pool)
        self.pool.extend(made)
        return start

    def finished(self) -> "tuple[Words, Words]":
        """Code ``[n, 3]`` and pool; the tables of types, names, units and rows are added."""
        pool = self.pool
        pool[p.FIELD_NAMES] = self.value(tuple(self.names))
        pool[p.EMPTY], pool[p.EMPTY_LIST] = self.value(""), self.value(())
        numbers = []
        for fields in self.types.values():
            numbers.append(self.table(fields.index(name) if name in fields else -1 for name in self.names))
        sizes = [len(fields) for fields in self.types.values()]
        pool[p.TYPES] = self.table(word for pair in zip(sizes, numbers, strict=True) for word in pair)
        units = []
        for start, onto, captured in self.units:
            units += [start, len(captured), onto, *captured, *[0] * (p.UNIT_SIZE - 3 - len(captured))]
        pool[p.UNITS] = self.table(units)
        pool[p.ROWS] = self.table(word for row in self.rows for word in row)
        return np.array(self.code, np.int64), np.array([_signed(word) for word in pool], np.int64)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 == 1 else word


def _key(constant: Any) -> Any:
    """Constants of equal keys are one; numbers of different types are not equal here."""
    if isinstance(constant, Mapping):
        return ("mapping", *((_key(k), _key(v)) for k, v in constant.items()))
    if isinstance(constant, Entry):
        return ("entry", *((k, _key(v)) for k, v in vars(constant).items()))
    if isinstance(constant, tuple | list):
        return ("list", *(_key(one) for one in constant))
    return type(constant).__name__, constant
