"""What a stream of the fake adbd can be opened to: a shell, a program's bare output, files, the screen, or a port."""

import struct
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from . import packets
from .packets import PIECE, piece
from .rpc import answer_http
from .shell import Shell
from .transfer import sync

if TYPE_CHECKING:
    from .rpc import Rpc

UIAUTOMATOR_PORT = 9008


class Pipe(Protocol):
    """A stream as services see it."""

    async def write(self, data: bytes) -> None:
        """Sends bytes."""

    async def read_some(self) -> bytes:
        """The next bytes; none at the end."""

    async def read(self, length: int) -> bytes:
        """Exactly so many bytes."""


Service = Callable[[Pipe], Awaitable[None]]


def serve(name: str, shell: Shell) -> Service | None:
    """The service of a name as clients ask for it; None where there is none."""
    kind, _, rest = name.partition(":")
    head, *options = kind.split(",")
    if head == "shell":
        two = "v2" in options
        if rest:
            return lambda pipe: _run(pipe, shell, rest, two)
        return lambda pipe: _interact(pipe, shell, two)
    if head == "exec":
        return lambda pipe: _run(pipe, shell, rest, False, errors=False)
    if head == "sync":
        return lambda pipe: sync(pipe, shell.files)
    if head == "framebuffer":
        return lambda pipe: _framebuffer(pipe, shell)
    if head == "tcp" and rest == str(UIAUTOMATOR_PORT) and (rpc := shell.services.get(UIAUTOMATOR_PORT)) is not None:
        found: Rpc = rpc  # type: ignore[assignment]
        return lambda pipe: answer_http(pipe, found)
    if head in ("reboot", "remount", "root", "unroot", "tcpip", "usb", "disable-verity"):
        return lambda pipe: pipe.write(f"{head}: this device cannot do that\n".encode())
    return None


async def _run(pipe: Pipe, shell: Shell, line: str, two: bool, *, errors: bool = True) -> None:
    """One line; what it writes, and with the second protocol its exit code."""
    if "app_process" in line and "uia2" in line:
        await _stay(pipe, shell)
        return
    code, out, err = await shell.run(line)
    if not two:
        await pipe.write(out + err if err and errors else out)
        return
    data = b"".join(piece(kind, part) for kind, part in ((packets.STDOUT, out), (packets.STDERR, err)) if part)
    await pipe.write(data + piece(packets.EXIT, bytes([code & 255])))


async def _stay(pipe: Pipe, shell: Shell) -> None:
    """uiautomator2's server: it answers at its port as long as the stream is open that started it."""
    from .rpc import Rpc

    shell.services[UIAUTOMATOR_PORT] = Rpc(shell.host)
    await pipe.write(b"[server] INFO: [UiAutomator2Server] Starting Server\n")
    while await pipe.read_some():
        pass
    shell.services.pop(UIAUTOMATOR_PORT, None)


async def _interact(pipe: Pipe, shell: Shell, two: bool) -> None:
    """A shell that reads lines until ``exit`` or the end."""
    prompt = b"tiltyard:/ $ "
    await pipe.write(piece(packets.STDOUT, prompt) if two else prompt)
    line, code = b"", 0
    async for data in _typed(pipe, two):
        line += data
        while b"\n" in line or b"\r" in line:
            cut = min(at for at in (line.find(b"\n"), line.find(b"\r")) if at >= 0)
            text, line = line[:cut].decode(errors="replace").strip(), line[cut + 1 :]
            if text.split()[:1] == ["exit"]:
                await pipe.write(piece(packets.EXIT, bytes([code & 255])) if two else b"")
                return
            code, out, err = await shell.run(text)
            if two:
                await pipe.write(piece(packets.STDOUT, out + prompt) + (piece(packets.STDERR, err) if err else b""))
            else:
                await pipe.write(out + err + prompt)
    await pipe.write(piece(packets.EXIT, bytes([code & 255])) if two else b"")


async def _typed(pipe: Pipe, two: bool):  # type: ignore[no-untyped-def]  # an asynchronous generator of bytes
    """What is typed into a shell, until the end."""
    while True:
        if not two:
            data = await pipe.read_some()
            if not data:
                return
            yield data
            continue
        kind, length = PIECE.unpack(await pipe.read(PIECE.size))
        data = await pipe.read(length) if length else b""
        if kind == packets.CLOSE_STDIN:
            return
        if kind == packets.STDIN:
            yield data


async def _framebuffer(pipe: Pipe, shell: Shell) -> None:
    """The screen as version 1 of the framebuffer service sends it: 13 words, then RGBA."""
    raw = shell.host.raw()
    width, height = shell.host.width, shell.host.height
    size = width * height * 4
    await pipe.write(struct.pack("<13I", 1, 32, size, width, height, 0, 8, 16, 8, 8, 8, 24, 8) + raw[16:])
