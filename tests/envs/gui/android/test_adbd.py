"""The fake device's end of the protocol, over bare sockets and our own client: nothing here needs adb."""

import socket
import struct
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tiltyard.envs.gui.android import packets
from tiltyard.envs.gui.android.adbd import Adbd
from tiltyard.envs.gui.android.direct import Direct
from tiltyard.envs.gui.android.packets import CLSE, CNXN, OKAY, OPEN, WRTE, Header, packet

sys.path.insert(0, str(Path(__file__).parent))
from devices import fake


class Wire:
    """A bare connection: whole packets in and out."""

    def __init__(self, device: Adbd, version: int = packets.NO_CHECKSUMS, largest: int = packets.LARGEST) -> None:
        self.socket = socket.create_connection(("127.0.0.1", device.port), 5.0)
        self.send(CNXN, version, largest, b"host::\0")
        self.banner = self.receive()

    def send(self, command: int, arg0: int, arg1: int, payload: bytes = b"") -> None:
        self.socket.sendall(packet(command, arg0, arg1, payload))

    def receive(self) -> tuple[Header, bytes]:
        header = Header.read(self._exactly(24))
        return header, self._exactly(header.length)

    def _exactly(self, n: int) -> bytes:
        data = b""
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            assert more, "the device hung up"
            data += more
        return data

    def hung_up(self) -> bool:
        self.socket.settimeout(5.0)
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


def talk(wire: Wire, service: str, *messages: bytes, stream: int = 1) -> bytes:
    """Opens a stream, writes messages, and reads to the end."""
    wire.send(OPEN, stream, 0, service.encode() + b"\0")
    header, _ = wire.receive()
    assert header.command == OKAY
    remote, waiting, out = header.arg0, list(messages), b""
    if waiting:
        wire.send(WRTE, stream, remote, waiting.pop(0))
    while True:
        header, data = wire.receive()
        assert header.arg1 == stream
        if header.command == WRTE:
            out += data
            wire.send(OKAY, stream, remote)
        elif header.command == OKAY and waiting:
            wire.send(WRTE, stream, remote, waiting.pop(0))
        elif header.command == CLSE:
            return out


def test_the_device_says_who_it_is_and_sums_bytes_for_those_who_do() -> None:
    with fake() as device:
        old, new = Wire(device, version=packets.FIRST_VERSION, largest=4096), Wire(device)
        for wire, version in ((old, packets.FIRST_VERSION), (new, packets.NO_CHECKSUMS)):
            header, banner = wire.banner
            assert (header.command, header.arg0, header.arg1) == (CNXN, version, packets.LARGEST)
            assert banner.startswith(b"device::ro.product.name=tiltyard;")
            assert b"features=shell_v2" in banner
            assert (header.check > 0) == (wire is old)


def test_no_packet_is_larger_than_the_client_takes() -> None:
    with fake() as device:
        wire = Wire(device, largest=5000)
        wire.send(OPEN, 1, 0, b"exec:screencap\0")
        remote, sizes = wire.receive()[0].arg0, []
        while (received := wire.receive())[0].command == WRTE:
            sizes.append(received[0].length)
            wire.send(OKAY, 1, remote)
        assert max(sizes) == 5000
        assert sum(sizes) == 16 + 432 * 768 * 4


def test_streams_are_served_at_once_and_one_that_waits_holds_up_no_other() -> None:
    with fake() as device:
        wire = Wire(device)
        wire.send(OPEN, 7, 0, b"exec:screencap\0")  # its first packet is never acknowledged
        wire.send(OPEN, 8, 0, b"shell:\0")  # and this shell waits for a line
        seen = [wire.receive()[0] for _ in range(4)]
        assert {(one.arg1, one.command) for one in seen} == {(7, OKAY), (7, WRTE), (8, OKAY), (8, WRTE)}
        assert talk(wire, "shell:echo third", stream=9) == b"third\n"


def test_many_clients_at_once_get_their_own_answers() -> None:
    said: dict[int, list[str]] = {}
    with fake() as device:

        def ask(i: int) -> None:
            link = Direct(device.address)
            said[i] = [link.shell(f"echo {i}-{k}", 5.0).text for k in range(20)]
            link.close()

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20.0)
    assert said == {i: [f"{i}-{k}" for k in range(20)] for i in range(8)}


def test_both_shells_separate_and_mix_what_is_written() -> None:
    with fake() as device:
        wire = Wire(device)
        assert talk(wire, "shell:echo out; ls /none; exit 3") == b"out\nls: /none: No such file or directory\n"
        second = talk(wire, "shell,v2,TERM=xterm,raw:echo out; ls /none; exit 3", stream=2)
        parts, at = [], 0
        while at < len(second):
            kind, length = packets.PIECE.unpack_from(second, at)
            parts.append((kind, second[at + 5 : at + 5 + length]))
            at += 5 + length
        wrong = b"ls: /none: No such file or directory\n"
        assert parts == [(packets.STDOUT, b"out\n"), (packets.STDERR, wrong), (packets.EXIT, b"\x03")]
        assert b"a\n" in talk(wire, "shell:", b"echo a\nexit\n", stream=3)


def test_files_are_put_taken_listed_and_asked_about() -> None:
    data = bytes(range(256)) * 600  # more than two chunks
    chunks = [data[:65536], data[65536:131072], data[131072:]]
    path = b"/sdcard/deep/er.bin"
    send = b"SEND" + struct.pack("<I", len(path) + 6) + path + b",33188"
    send += b"".join(b"DATA" + struct.pack("<I", len(one)) + one for one in chunks) + b"DONE" + struct.pack("<I", 1234)

    def ask(name: bytes, what: bytes) -> bytes:
        return name + struct.pack("<I", len(what)) + what

    with fake() as device:
        wire = Wire(device)
        out = talk(
            wire,
            "sync:",
            send,
            ask(b"STAT", path),
            ask(b"RECV", path),
            ask(b"LIST", b"/sdcard/deep"),
            ask(b"QUIT", b""),
        )  # noqa: E501
        assert out[:8] == b"OKAY\0\0\0\0"
        assert struct.unpack("<4sIII", out[8:24]) == (b"STAT", 0o100644, len(data), 1234)
        taken = b"".join(b"DATA" + struct.pack("<I", len(one)) + one for one in chunks) + b"DONE\0\0\0\0"
        assert out[24 : 24 + len(taken)] == taken
        listed = out[24 + len(taken) :]
        assert struct.unpack("<4sIIII", listed[:20]) == (b"DENT", 0o100644, len(data), 1234, 6)
        assert listed[20:26] == b"er.bin"
        assert listed[26:30] == b"DONE"
        second = talk(
            wire, "sync:", ask(b"STA2", path), ask(b"STA2", b"/no"), ask(b"RECV", b"/no"), ask(b"QUIT", b""), stream=2
        )  # noqa: E501
        assert struct.unpack_from("<4sI", second) == (b"STA2", 0)
        assert struct.unpack_from("<Q", second, 40)[0] == len(data)
        assert struct.unpack_from("<4sI", second, 72) == (b"STA2", 2)
        assert second[144:].startswith(b"FAIL")


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\0" * 24,
        packet(OPEN, 1, 0, b"shell:echo\0")[:-1] + b"x",  # its sum is wrong
        bytes(bytearray(packet(WRTE, 1, 1)[:12]) + (2**30).to_bytes(4, "little") + packet(WRTE, 1, 1)[16:]),
    ],
)
def test_what_is_no_packet_ends_that_connection_alone(sent: bytes) -> None:
    with fake() as device:
        other, wire = Wire(device), Wire(device)
        wire.socket.sendall(sent)
        assert wire.hung_up()
        assert talk(other, "shell:echo still here") == b"still here\n"


def test_half_a_packet_and_streams_that_are_not_there_do_no_harm() -> None:
    with fake() as device:
        half = Wire(device)
        half.socket.sendall(packet(OPEN, 1, 0, b"shell:echo hi\0")[:30])
        half.socket.close()
        wire = Wire(device)
        wire.send(WRTE, 5, 99, b"to nobody")
        assert wire.receive()[0].command == CLSE
        wire.send(OKAY, 5, 99)
        wire.send(CLSE, 5, 99)
        wire.send(OPEN, 6, 0, b"jdwp:1\0")
        header, _ = wire.receive()
        assert (header.command, header.arg1) == (CLSE, 6)
        assert talk(wire, "shell:echo fine", stream=7) == b"fine\n"


def test_a_client_that_closes_a_stream_early_is_told_so() -> None:
    with fake() as device:
        wire = Wire(device)
        wire.send(OPEN, 1, 0, b"exec:screencap\0")
        remote = wire.receive()[0].arg0
        assert wire.receive()[0].command == WRTE
        wire.send(CLSE, 1, remote)
        assert wire.receive()[0].command == CLSE
        assert talk(wire, "shell:echo next", stream=2) == b"next\n"


def test_the_framebuffer_is_the_screen() -> None:
    with fake() as device:
        data = talk(Wire(device), "framebuffer:")
        head = struct.unpack_from("<13I", data)
        assert head[:5] == (1, 32, 432 * 768 * 4, 432, 768)
        pixels = np.frombuffer(data, np.uint8, offset=52).reshape(768, 432, 4)
        np.testing.assert_array_equal(pixels[..., :3], device.host.frame())
        assert (pixels[..., 3] == 255).all()


def test_a_closed_device_leaves_no_thread_and_no_port() -> None:
    before = threading.active_count()
    with fake() as device:
        wire = Wire(device)
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
    assert wire.hung_up()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", device.port), 1.0)


def test_a_port_that_is_taken_is_told() -> None:
    with fake() as device, pytest.raises(OSError, match=f"could not listen on port {device.port}"):
        Adbd(device.host, port=device.port)
