"""The ``sync:`` service: files are asked about, listed, taken and put, in messages of their own within one stream.

Source: AOSP, packages/modules/adb, SYNC.TXT and file_sync_protocol.h.
"""

import struct
from typing import TYPE_CHECKING

from .files import Files, Stat
from .packets import BrokenPacket

if TYPE_CHECKING:
    from .services import Pipe

LONGEST_PATH, LARGEST_CHUNK = 1024, 64 << 10
REQUEST = struct.Struct("<4sI")
STAT1, STAT2 = struct.Struct("<4sIII"), struct.Struct("<4sIQQIIIIQqqq")
NO_SUCH_FILE = 2  # errno


async def sync(pipe: "Pipe", files: Files) -> None:
    """Answers requests until the client quits.

    Raises:
        BrokenPacket: no such request.
    """
    while True:
        name, length = REQUEST.unpack(await pipe.read(REQUEST.size))
        if name == b"QUIT":
            return
        if length > LONGEST_PATH + 32:
            await _fail(pipe, "path too long")
            return
        path = (await pipe.read(length)).decode(errors="replace")
        if name in (b"STAT", b"STA2", b"LST2"):
            await pipe.write(_stat(name, files.stat(path)))
        elif name in (b"LIST", b"LIS2"):
            await pipe.write(_listing(name, files, path))
        elif name == b"RECV":
            await _give(pipe, files, path)
        elif name == b"SEND":
            await _take(pipe, files, path)
        else:
            raise BrokenPacket(f"sync knows no request {name!r}")


def _stat(name: bytes, found: Stat | None) -> bytes:
    mode, size, mtime = found or (0, 0, 0)
    if name == b"STAT":
        return STAT1.pack(name, mode, size, mtime)
    error = 0 if found else NO_SUCH_FILE
    return STAT2.pack(name, error, 1, 1, mode, 1, 2000, 2000, size, mtime, mtime, mtime)


def _listing(name: bytes, files: Files, path: str) -> bytes:
    second = name == b"LIS2"
    parts = []
    for entry, found in files.listing(path):
        text = entry.encode()
        fact = _stat(b"STA2" if second else b"STAT", found)[4:]
        parts.append((b"DNT2" if second else b"DENT") + fact + struct.pack("<I", len(text)) + text)
    return b"".join(parts) + b"DONE" + bytes((STAT2 if second else STAT1).size)


async def _give(pipe: "Pipe", files: Files, path: str) -> None:
    data = files.read(path)
    if data is None:
        await _fail(pipe, f"failed to open file '{path}': No such file or directory")
        return
    chunks = [data[at : at + LARGEST_CHUNK] for at in range(0, len(data), LARGEST_CHUNK)]
    sent = b"".join(REQUEST.pack(b"DATA", len(chunk)) + chunk for chunk in chunks)
    await pipe.write(sent + REQUEST.pack(b"DONE", 0))


async def _take(pipe: "Pipe", files: Files, where: str) -> None:
    path, comma, mode = where.rpartition(",")
    data = bytearray()
    while True:
        name, number = REQUEST.unpack(await pipe.read(REQUEST.size))
        if name == b"DONE":
            break
        if name != b"DATA" or number > LARGEST_CHUNK:
            await _fail(pipe, "a file is sent in chunks of DATA of at most 64 KiB")
            return
        data += await pipe.read(number)
    try:
        files.write(path if comma else where, bytes(data), int(mode) if mode.isdigit() else 0o644, number)
    except OSError as error:
        await _fail(pipe, str(error))
        return
    await pipe.write(REQUEST.pack(b"OKAY", 0))


async def _fail(pipe: "Pipe", why: str) -> None:
    await pipe.write(REQUEST.pack(b"FAIL", len(why.encode())) + why.encode())
