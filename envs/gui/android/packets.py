"""Packets of the adb protocol, as they go between adb's server (or a client that does without) and a device.

A packet is a header of six little-endian words (command, two arguments, length, sum of the bytes, the command's
complement) and its payload. Source: AOSP, packages/modules/adb, protocol.txt and adb.h.
"""

import struct
from dataclasses import dataclass

import numpy as np

CNXN, AUTH, OPEN, OKAY, CLSE, WRTE, STLS = (
    int.from_bytes(name, "little") for name in (b"CNXN", b"AUTH", b"OPEN", b"OKAY", b"CLSE", b"WRTE", b"STLS")
)
COMMANDS = frozenset((CNXN, AUTH, OPEN, OKAY, CLSE, WRTE, STLS))
FIRST_VERSION, NO_CHECKSUMS = 0x01000000, 0x01000001  # from the second on, there are no checksums
LARGEST = 1 << 20  # bytes of a payload
OLDEST_LARGEST = 4096  # what devices before version 2 took
HEADER = struct.Struct("<6I")

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN, WINDOW = range(6)
"""Kinds of the pieces in which ``shell,v2`` sends its streams: one byte, then four of length, then the bytes."""
PIECE = struct.Struct("<BI")


class BrokenPacket(ValueError):
    """Bytes that are no packet of this protocol."""


@dataclass(frozen=True, slots=True)
class Header:
    """The first 24 bytes of a packet."""

    command: int
    arg0: int
    arg1: int
    length: int
    check: int

    @classmethod
    def read(cls, data: bytes) -> "Header":
        """A header from its bytes.

        Raises:
            BrokenPacket: no such command, its complement is wrong, or the payload would be larger than any may be.
        """
        command, arg0, arg1, length, check, magic = HEADER.unpack(data)
        if command not in COMMANDS or magic != command ^ 0xFFFFFFFF:
            raise BrokenPacket(f"no adb packet begins with {data[:8].hex()}")
        if length > LARGEST:
            raise BrokenPacket(f"a payload of {length} bytes is larger than {LARGEST}")
        return cls(command, arg0, arg1, length, check)

    def verify(self, payload: bytes | bytearray) -> None:
        """Compares the sum of the payload's bytes with what the header says (0 where the sender sums nothing).

        Raises:
            BrokenPacket: they differ.
        """
        if self.check and self.check != checksum(payload):
            raise BrokenPacket(f"the bytes of a payload add up to {checksum(payload)}, its header says {self.check}")


def checksum(payload: bytes | bytearray | memoryview) -> int:
    """The sum of the bytes, which the protocol calls its crc32."""
    return int(np.frombuffer(payload, np.uint8).sum(dtype=np.uint64)) & 0xFFFFFFFF


def header(command: int, arg0: int, arg1: int, payload: bytes | memoryview, *, sums: bool = True) -> bytes:
    """The header of a packet."""
    check = checksum(payload) if sums else 0
    return HEADER.pack(command, arg0, arg1, len(payload), check, command ^ 0xFFFFFFFF)


def packet(command: int, arg0: int, arg1: int, payload: bytes = b"", *, sums: bool = True) -> bytes:
    """A whole packet.

    >>> packet(OKAY, 1, 2)[:4]
    b'OKAY'
    """
    return header(command, arg0, arg1, payload, sums=sums) + payload


def piece(kind: int, data: bytes) -> bytes:
    """One piece of a ``shell,v2`` stream."""
    return PIECE.pack(kind, len(data)) + data
