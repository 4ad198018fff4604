"""A client of the adb protocol that needs no adb: one TCP connection to a device's own port, one stream at a time.

For the fake device, and for a device on the network that asks for no key. Everything else goes by :mod:`.adb`.
"""

import socket
import time

from . import packets
from .errors import AdbTimeout, CommandFailed, DeviceGone
from .link import Result
from .packets import CLSE, CNXN, OKAY, OPEN, PIECE, WRTE, BrokenPacket, Header, packet

CONNECT_S = 5.0


class Direct:
    """A way to the device at ``host:port``."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"an address is host:port, got {address!r}")
        self.name, self._to = address, (host, int(port))
        self._socket: socket.socket | None = None
        self._stream = 0

    def connect(self) -> None:
        """Connects again from the beginning.

        Raises:
            DeviceGone, AdbTimeout: the device does not answer.
        """
        self.close()
        until = time.monotonic() + CONNECT_S
        try:
            self._socket = socket.create_connection(self._to, CONNECT_S)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2 * packets.LARGEST)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._send(packet(CNXN, packets.NO_CHECKSUMS, packets.LARGEST, b"host::features=shell_v2"), until)
            header, _ = self._receive(until)
            if header.command != CNXN:
                raise BrokenPacket("the device asks for a key, which this client has not: use adb")
        except (OSError, BrokenPacket) as error:
            self._broken(error)

    def shell(self, line: str, timeout: float) -> Result:
        """Runs a line.

        Raises:
            DeviceGone, AdbTimeout: the connection broke, or it took too long.
        """
        data = self._talk(f"shell,v2,raw:{line}", timeout)
        parts: dict[int, bytes] = {packets.STDOUT: b"", packets.STDERR: b""}
        at, code = 0, None
        while at + PIECE.size <= len(data):
            kind, length = PIECE.unpack_from(data, at)
            at += PIECE.size + length
            if kind == packets.EXIT:
                code = data[at - 1]
            parts[kind] = parts.get(kind, b"") + data[at - length : at]
        if code is None:
            raise CommandFailed(f"the device stopped within {line!r:.60}")
        return Result(parts[packets.STDOUT], parts[packets.STDERR], code)

    def raw(self, line: str, timeout: float) -> bytes:
        """The bare output of a line."""
        return self._talk(f"exec:{line}", timeout)

    def close(self) -> None:
        """Closes the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _talk(self, service: str, timeout: float) -> bytes:
        """All that a service writes until it ends."""
        if self._socket is None:
            self.connect()
        until = time.monotonic() + timeout
        self._stream += 1
        parts: list[bytearray] = []
        try:
            self._send(packet(OPEN, self._stream, 0, service.encode() + b"\0", sums=False), until)
            while True:
                header, payload = self._receive(until)
                if header.arg1 != self._stream:
                    continue  # of a stream that was given up
                if header.command == WRTE:
                    parts.append(payload)
                    self._send(packet(OKAY, self._stream, header.arg0), until)
                elif header.command == CLSE:
                    return b"".join(parts)
        except (OSError, BrokenPacket) as error:
            self._broken(error)
            raise AssertionError from error  # _broken always raises

    def _send(self, data: bytes, until: float) -> None:
        assert self._socket is not None
        self._socket.settimeout(max(until - time.monotonic(), 0.001))
        self._socket.sendall(data)

    def _receive(self, until: float) -> tuple[Header, bytearray]:
        header = Header.read(bytes(self._exactly(packets.HEADER.size, until)))
        payload = self._exactly(header.length, until)
        header.verify(payload)
        return header, payload

    def _exactly(self, length: int, until: float) -> bytearray:
        assert self._socket is not None
        data = bytearray(length)
        view, have = memoryview(data), 0
        while have < length:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._socket.settimeout(left)
            got = self._socket.recv_into(view[have:])
            if not got:
                raise ConnectionResetError("it hung up")
            have += got
        return data

    def _broken(self, error: Exception) -> None:
        """What was under way is lost: the next command connects anew."""
        self.close()
        if isinstance(error, TimeoutError):
            raise AdbTimeout(f"the device at {self.name} did not answer in time") from error
        raise DeviceGone(f"the device at {self.name} is gone: {error}") from error
