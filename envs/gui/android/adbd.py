"""A fake adbd: the device's end of the adb protocol on loopback, with our simulated phone behind it.

``adb connect 127.0.0.1:PORT`` finds a device; whatever speaks to a real one (``adb``, adb-shell, adbutils,
uiautomator2) speaks to this. Several connections and streams at once; one thread in all, so that programs of the
device never meet each other half done. No authentication: the server listens on loopback alone.

Protocol: AOSP, packages/modules/adb, protocol.txt, SERVICES.TXT and shell_protocol.h.
"""

import asyncio
import socket
import threading
from collections.abc import Coroutine
from typing import Any

from . import packets
from .faults import Faults
from .files import Files
from .host import Host
from .packets import CLSE, CNXN, OKAY, OPEN, WRTE, BrokenPacket, Header, header
from .programs import ANDROID
from .services import Service, serve
from .shell import Shell
from .system import TOOLS

FEATURES = "shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir"
BANNER = (
    "device::ro.product.name=tiltyard;ro.product.model=Tiltyard_phone;ro.product.device=tiltyard;features=" + FEATURES
)
START_S = 10.0


class Adbd:
    """The server of one device.

    Args:
        host: the phone's hardware.
        faults: what goes wrong; None: nothing.
        port: 0: any free one.
    """

    def __init__(self, host: Host, *, faults: Faults | None = None, port: int = 0) -> None:
        self.host, self.faults, self.files = host, faults, Files()
        self.shell = Shell(host, self.files, {**ANDROID, **TOOLS})
        self.port = port
        self.connections: set[Connection] = set()
        self.served = 0
        self.gone_until = 0.0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name=f"fake adbd {id(self):x}", daemon=True)
        self._thread.start()
        if not self._ready.wait(START_S) or self._error is not None:
            raise OSError(f"the fake adbd could not listen on port {port}: {self._error}")

    @property
    def address(self) -> str:
        """What ``adb connect`` takes."""
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        """Closes all connections and ends the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(START_S)

    def unplug(self, seconds: float) -> None:
        """Closes all connections and takes none for a while."""
        self._loop.call_soon_threadsafe(self._unplug, seconds)

    def _unplug(self, seconds: float) -> None:
        self.gone_until = self._loop.time() + seconds
        for connection in list(self.connections):
            connection.writer.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            server = self._loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", self.port))
        except OSError as error:
            self._error = error
            self._ready.set()
            return
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for connection in list(self.connections):
            connection.hang_up()
        left = asyncio.all_tasks(self._loop)
        if left:
            self._loop.run_until_complete(asyncio.wait(left, timeout=START_S))
        self._loop.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._loop.time() < self.gone_until:
            writer.close()
            return
        # asyncio moves what a socket did not take to the front of its buffer, again and again: let it take a packet.
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * packets.LARGEST)
        connection = Connection(self, reader, writer)
        self.connections.add(connection)
        try:
            await connection.run()
        except (OSError, asyncio.IncompleteReadError, BrokenPacket):
            pass  # the other end is gone, or sends what is no packet: a device hangs up
        finally:
            self.connections.discard(connection)
            connection.hang_up()


class Connection:
    """One client: adb's server, or a library that does without one."""

    def __init__(self, device: Adbd, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.device, self.reader, self.writer = device, reader, writer
        self.largest, self.sums = packets.OLDEST_LARGEST, True
        self.streams: dict[int, Stream] = {}
        self._next = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Reads packets until the other end is gone."""
        while True:
            head = Header.read(await self.reader.readexactly(packets.HEADER.size))
            payload = await self.reader.readexactly(head.length)
            head.verify(payload)
            self.device.served += 1
            await self._take(head, payload)

    async def _take(self, head: Header, payload: bytes) -> None:
        if head.command == CNXN:
            self.sums = head.arg0 < packets.NO_CHECKSUMS
            self.largest = max(min(head.arg1, packets.LARGEST), packets.OLDEST_LARGEST)
            version = packets.FIRST_VERSION if self.sums else packets.NO_CHECKSUMS
            await self.send(CNXN, version, packets.LARGEST, BANNER.encode())
        elif head.command == OPEN:
            await self._open(head.arg0, payload)
        elif head.command in (OKAY, WRTE, CLSE):
            stream = self.streams.get(head.arg1)
            if stream is None:
                if head.command == WRTE:
                    await self.send(CLSE, 0, head.arg0)
            elif head.command == OKAY:
                stream.acknowledged.set()
            elif head.command == WRTE:
                stream.inbox.put_nowait(payload)
            else:
                stream.end()
                await self.send(CLSE, stream.local, stream.remote)  # as a real adbd does: some clients wait for it

    async def _open(self, remote: int, payload: bytes) -> None:
        name = payload.rstrip(b"\0").decode(errors="replace")
        service = serve(name, self.device.shell)
        if service is None:
            await self.send(CLSE, 0, remote)
            return
        self._next += 1
        stream = self.streams[self._next] = Stream(self, self._next, remote)
        await self.send(OKAY, stream.local, remote)
        self.spawn(self._serve(stream, service))

    async def _serve(self, stream: "Stream", service: Service) -> None:
        try:
            await service(stream)
        except (ConnectionError, BrokenPacket):
            pass  # the client closed the stream, or does not speak the service's language
        finally:
            if self.streams.pop(stream.local, None) is not None and not self.writer.is_closing():
                await self.send(CLSE, stream.local, stream.remote)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something beside the reading of packets, until the connection ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def send(self, command: int, arg0: int, arg1: int, payload: bytes | memoryview = b"") -> None:
        """Sends a packet, or what the faults make of it."""
        parts = [header(command, arg0, arg1, payload, sums=self.sums), payload]
        faults = self.device.faults
        fault = faults.draw() if faults is not None else ""
        if fault == "drop":
            return
        if fault == "delay":
            assert faults is not None
            await asyncio.sleep(faults.lateness())
        elif fault == "garbage":
            assert faults is not None
            parts = [faults.noise(packets.HEADER.size + len(payload))]
        elif fault == "half":
            parts = [b"".join(parts)[: (packets.HEADER.size + len(payload)) // 2]]
        if self.writer.is_closing():
            raise ConnectionResetError("the connection is closed")
        for part in parts:
            self.writer.write(part)
        await self.writer.drain()
        if fault == "half":
            self.writer.close()
        elif fault == "gone":
            assert faults is not None
            self.device._unplug(faults.gone_s)

    def hang_up(self) -> None:
        """Ends all streams and closes the connection."""
        for stream in list(self.streams.values()):
            stream.end()
        for task in list(self._tasks):
            task.cancel()
        self.writer.close()


class Stream:
    """One stream of a connection: a service of the device reads and writes it."""

    def __init__(self, connection: Connection, local: int, remote: int) -> None:
        self.connection, self.local, self.remote = connection, local, remote
        self.inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.acknowledged = asyncio.Event()
        self.closed = False
        self._buffer = bytearray()

    async def write(self, data: bytes) -> None:
        """Sends bytes, as many packets as it takes, each after the last was acknowledged.

        Raises:
            ConnectionError: the client has closed the stream.
        """
        for at in range(0, len(data), self.connection.largest):
            if self.closed:
                raise ConnectionResetError("the stream is closed")
            self.acknowledged.clear()
            part = memoryview(data)[at : at + self.connection.largest]
            await self.connection.send(WRTE, self.local, self.remote, part)
            await self.acknowledged.wait()

    async def read_some(self) -> bytes:
        """The bytes of the next packet; none at the end."""
        if self._buffer:
            data, self._buffer = bytes(self._buffer), bytearray()
            return data
        if self.closed and self.inbox.empty():
            return b""
        data_or_end = await self.inbox.get()
        if data_or_end is None:
            return b""
        await self.connection.send(OKAY, self.local, self.remote)
        return data_or_end

    async def read(self, length: int) -> bytes:
        """Exactly so many bytes.

        Raises:
            ConnectionError: the stream ends before.
        """
        while len(self._buffer) < length:
            kept, self._buffer = self._buffer, bytearray()
            more = await self.read_some()
            if not more:
                raise ConnectionResetError("the stream ended within a message")
            self._buffer = kept + more
        data = bytes(self._buffer[:length])
        del self._buffer[:length]
        return data

    def end(self) -> None:
        """The other end has closed it."""
        self.closed = True
        self.acknowledged.set()
        self.inbox.put_nowait(None)
        self.connection.streams.pop(self.local, None)
