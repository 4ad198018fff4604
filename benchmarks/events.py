"""Scalars of TensorBoard's event files, read without TensorBoard: TFRecords of protocol buffers, three levels deep.

A record is its length (64 bits), a checksum, the data, a checksum. An ``Event`` has ``step`` (field 2) and ``summary``
(field 5); a ``Summary`` has values (field 1), each with ``tag`` (1) and ``simple_value`` (2), or a ``tensor`` (8) of
one number in ``float_val`` (5) or ``tensor_content`` (4), as newer writers have it. Formats: TensorFlow's
``util/event.proto``, ``framework/summary.proto`` and ``framework/tensor.proto``. Checksums are not compared; what
cannot be read is an error.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from .records import LARGEST_FILE, read_bytes

Scalars = dict[str, list[tuple[int, float]]]
"""(step, value) by tag, in the file's order."""


def read_scalars(path: Path) -> Scalars:
    """All scalars of one event file; a last record that is still being written is left out.

    Raises:
        ValueError: no event file.
    """
    scalars: Scalars = defaultdict(list)
    try:
        for record in _records(read_bytes(path, LARGEST_FILE)):
            step, summaries = 0, []
            for field, value in _fields(record):
                if field == 2 and isinstance(value, int):
                    step = value
                elif field == 5 and isinstance(value, bytes):
                    summaries.append(value)
            for summary in summaries:
                for field, value in _fields(summary):
                    if field == 1 and isinstance(value, bytes) and (found := _scalar(value)) is not None:
                        scalars[found[0]].append((step, found[1]))
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no event file of TensorBoard: {error}") from error
    return dict(scalars)


def read_folder(folder: Path) -> Scalars:
    """All scalars of the event files of one training, which begins a new one whenever it is gone on with.

    Of each tag, what an earlier file has from the first step of a later one on was trained again, and is left out.

    Raises:
        ValueError: a file that is no event file.
    """
    scalars: Scalars = {}
    for path in sorted(folder.glob("*tfevents*"), key=_begun):
        for tag, points in read_scalars(path).items():
            first = min(step for step, _ in points)
            scalars[tag] = [point for point in scalars.get(tag, ()) if point[0] < first] + points
    return scalars


def _begun(path: Path) -> tuple[int, str]:
    """When an event file was begun, in seconds since 1970, by its name; and the name, for those of one second."""
    seconds = path.name.partition("tfevents.")[2].partition(".")[0]
    return (int(seconds) if seconds.isdecimal() else 0, path.name)


def _records(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        if length > len(data):
            raise IndexError(f"a record of {length} bytes at byte {at}")
        if at + 16 + length > len(data):
            return
        yield data[at + 12 : at + 12 + length]
        at += 16 + length


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field: whole numbers, or the bytes of all else."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value: int | bytes
            value, at = _varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = _varint(data, at)
            if size is None or at + size > len(data):
                raise IndexError(f"a field of kind {kind} at byte {at}")
            value, at = data[at : at + size], at + size
        yield key >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        value, at = value | (byte & 127) << shift, at + 1
        if byte < 128:
            return value, at
    raise IndexError(f"a number of more than 64 bits at byte {at}")


def _scalar(data: bytes) -> tuple[str, float] | None:
    """Tag and number of a summary's value; None of pictures, texts and histograms."""
    tag, number = "", None
    for field, value in _fields(data):
        if field == 1 and isinstance(value, bytes):
            tag = value.decode()
        elif field == 2 and isinstance(value, bytes):
            (number,) = struct.unpack("<f", value)
        elif field == 8 and isinstance(value, bytes):
            number = _tensor(value)
    return None if number is None else (tag, float(number))


_KINDS = {1: (5, "<f"), 2: (6, "<d")}
"""DT_FLOAT and DT_DOUBLE: the field of their values, and how one is stored."""


def _tensor(data: bytes) -> float | None:
    """The number of a tensor of one real number; None of others."""
    fields = list(_fields(data))
    kinds = [value for field, value in fields if field == 1]
    if len(kinds) != 1 or kinds[0] not in _KINDS:
        return None
    own, form = _KINDS[int(kinds[0])]
    contents = [value for field, value in fields if field in (4, own) and isinstance(value, bytes)]
    if len(contents) != 1 or len(contents[0]) != struct.calcsize(form):
        return None
    (number,) = struct.unpack(form, contents[0])
    return float(number)
