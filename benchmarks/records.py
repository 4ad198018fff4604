"""Reading what a run folder holds, which may be damaged or of somebody else's making: every size and type is checked.

Each function raises ``ValueError`` (or the system's ``OSError``) in words that name the file. Nothing is imported or
unpickled, no array is allocated on the word of a header, and nothing larger than what a run writes is read.
"""

import json
import math
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from struct import error as StructError
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile

if TYPE_CHECKING:
    from .statistics import Floats

LARGEST_FILE = 1 << 30
DEEPEST = 32
"""Levels of lists and objects in a record."""
LARGEST = 1e100
"""Of scores; sums and squares of such are finite."""
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|=]?\w\d)', 'fortran_order': False, 'shape': \((\d+),(?: (\d+))?\), \} *\n",
    re.DOTALL,
)
DAMAGED = (ValueError, KeyError, BadZipFile, EOFError, NotImplementedError, OverflowError, RuntimeError, StructError)
"""What :mod:`zipfile` raises for damaged archives; ``KeyError``: no such member, ``RuntimeError``: an encrypted one."""
_KINDS = {int: "an integer", float: "a number", str: "text", list: "a list", dict: "an object", bool: "true or false"}


@dataclass(frozen=True)
class Points:
    """What ``evaluations.npz`` holds: ``timesteps`` ``[P]``; ``results``, ``lengths``, ``successes`` ``[P, episodes]``.

    ``successes`` is ``[P, 0]`` where the environment does not say whether an episode succeeded.
    """

    timesteps: list[int]
    results: "Floats"
    lengths: Any  # [P, episodes] int64
    successes: Any  # [P, episodes] bool

    @property
    def curve(self) -> tuple[tuple[int, float, float], ...]:
        """(steps, mean return, success rate) of every point; the rate is NaN where there is none."""
        told = self.successes.shape[1] > 0
        rates = self.successes.mean(axis=1) if told else [math.nan] * len(self.timesteps)
        means = zip(self.timesteps, self.results.mean(axis=1), rates, strict=True)
        return tuple((step, float(score), float(success)) for step, score, success in means)


def read_bytes(path: Path, most: int) -> bytes:
    """The file's content; a pipe, a device or more than ``most`` bytes is refused before anything is read."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # without O_NONBLOCK a pipe would wait
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{path.name} is no regular file")
        if found.st_size > most:
            raise ValueError(f"{path.name} has {found.st_size:,} bytes, and a run writes at most {most:,}")
        return file.read(found.st_size)


def read_record(path: Path, most: int) -> dict[str, Any]:
    """A JSON object in UTF-8, at most :data:`DEEPEST` levels deep."""
    try:
        record = json.loads(read_bytes(path, most).decode())
    except RecursionError as error:
        raise ValueError(f"{path.name} is nested deeper than {DEEPEST} levels") from error
    except ValueError as error:
        raise ValueError(str(error) if path.name in str(error) else f"{path.name}: {error}") from error
    if not isinstance(record, dict):
        raise ValueError(f"{path.name} holds no JSON object")
    _check_parts(record, path.name)
    return record


def _check_parts(record: Mapping[str, Any], name: str) -> None:
    """Refuses deep nesting, and text that could not be written down again (half a surrogate pair)."""
    parts: list[Any] = [record]
    for _ in range(DEEPEST):
        texts = [key for part in parts if isinstance(part, dict) for key in part]
        for text in [*texts, *(part for part in parts if isinstance(part, str))]:
            text.encode()
        parts = [
            inner
            for part in parts
            if isinstance(part, dict | list)
            for inner in (part.values() if isinstance(part, dict) else part)
        ]
        if not parts:
            return
    raise ValueError(f"{name} is nested deeper than {DEEPEST} levels")


def part(record: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    """``record[name]``, which must be of just this type; whole numbers pass for ``float``, but must be finite."""
    if name not in record:
        raise ValueError(f"{name!r} is missing")
    value = record[name]
    if not (type(value) is kind or (kind is float and type(value) is int)):
        raise ValueError(f"{name!r} must be {_KINDS[kind]}, got {repr(value)[:40]}")
    return number(value, name) if kind is float else value


def number(value: Any, name: str) -> float:
    """A finite number of a plausible size, as a float."""
    if type(value) not in (int, float) or not -LARGEST <= value <= LARGEST:  # so neither NaN nor infinite
        raise ValueError(f"{name!r} must hold finite numbers, got {repr(value)[:40]}")
    return float(value)


def words(record: Mapping[str, Any], name: str) -> str:
    """``record[name]``: one line of text that can be printed."""
    value: str = part(record, name, str)
    if not value.isprintable():
        raise ValueError(f"{name!r} holds characters that cannot be printed: {ascii(value)[:40]}")
    return value


def printable(text: str) -> str:
    """``text`` in one line, with Python's escapes for what a terminal would obey and a reader not see."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def episodes_of(record: Mapping[str, Any], count: int) -> tuple[tuple[float, ...], tuple[bool, ...]]:
    """Scores and successes of ``final.json``, one of each for every one of ``count`` episodes.

    There are no successes where the environment does not say.
    """
    scores, successes = (part(record, name, list) for name in ("scores", "successes"))
    if len(scores) != count or len(successes) not in (0, count):
        raise ValueError(f"a run of {count} episodes has {len(scores)} scores and {len(successes)} successes")
    if any(type(value) is not bool for value in successes):
        raise ValueError("'successes' must hold true and false alone")
    return tuple(number(value, "scores") for value in scores), tuple(successes)


def read_points(path: Path, episodes: int, most: int) -> Points:
    """``evaluations.npz``, of at most ``most`` points; ``np.savez`` does not compress, and so cannot hold a bomb."""
    import numpy as np

    data = read_bytes(path, min(4096 + most * (17 * episodes + 8), LARGEST_FILE))
    try:
        with ZipFile(BytesIO(data)) as archive:
            if any(member.compress_type != ZIP_STORED for member in archive.infolist()):
                raise ValueError("holds compressed arrays, which no run writes")
            steps = _array(archive, "timesteps", np.int64)
            results, lengths = (
                _array(archive, name, kind, len(steps), episodes)
                for name, kind in (("results", np.float64), ("ep_lengths", np.int64))
            )
            told = "successes.npy" in archive.namelist()
            successes = _array(archive, "successes", np.bool_, len(steps), episodes) if told else None
    except DAMAGED as e:
        raise ValueError(f"{path.name}: {e.args[0] if e.args else type(e).__name__}") from e
    if not 1 <= len(steps) <= most:
        raise ValueError(f"{path.name} has {len(steps)} evaluations, the run at most {most}")
    if steps.min() < 0 or (np.diff(steps) < 0).any() or lengths.min() < 1:
        raise ValueError(f"{path.name} counts steps backwards, or episodes without a step")
    if not (np.abs(results) <= LARGEST).all():
        raise ValueError(f"{path.name} has scores that are not finite")
    untold = np.zeros((len(steps), 0), np.bool_)
    return Points(steps.tolist(), results, lengths, untold if successes is None else successes)


def _array(archive: ZipFile, name: str, kind: Any, *shape: int) -> Any:
    """An array of just this type and shape, of one axis if none is given; its header is believed only if it fits."""
    import numpy as np

    content = archive.read(f"{name}.npy")  # whole, so that its checksum is compared
    header = _HEADER.match(content)
    if header is None:
        raise ValueError(f"{name} is no array as a run writes it")
    if header[1].decode() != np.dtype(kind).str:
        raise ValueError(f"{name} holds {header[1].decode()}, not {np.dtype(kind).str}")
    found = tuple(int(axis) for axis in header.groups()[1:] if axis is not None)
    body = memoryview(content)[header.end() :]
    if math.prod(found) * np.dtype(kind).itemsize != len(body) or found != (shape or found[:1]):
        raise ValueError(f"{name} has {len(body)} bytes and the shape {found}, not {shape or 'one axis'}")
    if kind is np.bool_ and any(byte > 1 for byte in bytes(body)):
        raise ValueError(f"{name} holds bytes that are neither true nor false")
    return np.frombuffer(body, kind).reshape(found)


def clock_of(final: Mapping[str, Any], points: int) -> tuple[tuple[float, float], ...]:
    """Seconds by the wall and of the processor to each point of a curve; () where not every point has them."""
    pairs = part(final, "clock", list) if "clock" in final else []
    if any(type(pair) is not list or len(pair) != 2 for pair in pairs):
        raise ValueError("'clock' must hold pairs of seconds")
    found = tuple((number(wall, "clock"), number(processor, "clock")) for wall, processor in pairs)
    if any(min(pair) < 0 for pair in found) or any(b[0] < a[0] or b[1] < a[1] for a, b in pairwise(found)):
        raise ValueError("'clock' counts backwards")
    return found if len(found) == points else ()


def seconds_of(final: Mapping[str, Any]) -> float:
    """How long a run took by the clock; ``ValueError`` if that is no time."""
    seconds: float = part(final, "wall_seconds", float)
    if seconds < 0:
        raise ValueError(f"'wall_seconds' cannot be {seconds}")
    return seconds
