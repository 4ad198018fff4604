"""A client of the real ``adb`` program: every command a process of its own, with a time it may take.

By default it brings a server of its own at a free port, so that the one you use at 5037 and its devices are left alone;
``port=5037`` uses yours instead, which a device on USB needs that yours holds already.
"""

import os
import shutil
import socket
import subprocess
import time
import weakref

from .errors import AdbMissing, AdbTimeout, CommandFailed, DeviceGone
from .link import Result

START_S, CONNECT_S = 10.0, 10.0
GONE = ("not found", "offline", "no devices", "closed", "protocol fault", "cannot connect", "unauthorized", "reset",
        "more than one device", "failed to connect", "still connecting", "timed out", "broken pipe")  # fmt: skip


class Adb:
    """A way to one device through ``adb``.

    Args:
        serial: as ``adb devices`` lists it: ``emulator-5554``, a USB serial number, or ``host:port``, to which it
            connects; "" for the only device there is.
        binary: the program.
        port: of adb's server; None: a server of our own at a free port, ended with :meth:`close`.

    Raises:
        AdbMissing: there is no such program.
    """

    def __init__(self, serial: str = "", *, binary: str = "adb", port: int | None = None) -> None:
        found = shutil.which(binary)
        if found is None:
            raise AdbMissing(binary)
        self.binary, self.serial, self.name = found, serial, serial or "the only device"
        self.port = port if port is not None else 0
        self._own = port is None
        self._server: subprocess.Popen[bytes] | None = None

    # -- the server ------------------------------------------------------------------------------------------------

    def _start_server(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._server = subprocess.Popen(
            [self.binary, "-P", str(self.port), "nodaemon", "server"],
            env=self._environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        weakref.finalize(self, _end, self._server)  # also where a program ends without close()
        until = time.monotonic() + START_S
        while time.monotonic() < until and self._server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
                return
            except OSError:
                time.sleep(0.02)
        self._stop_server()
        raise AdbTimeout(f"{self.binary} started no server at port {self.port} within {START_S:.0f} seconds")

    def _stop_server(self) -> None:
        if self._server is not None:
            _end(self._server)
            self._server = None

    def _environment(self) -> dict[str, str]:
        """Its own server looks for emulators at local ports only if an emulator is asked for: it would take them."""
        scan = {} if self.serial.startswith("emulator-") or not self._own else {"ADB_LOCAL_TRANSPORT_MAX_PORT": "5553"}
        return {**os.environ, "ANDROID_ADB_SERVER_PORT": str(self.port), "ADB_MDNS": "0", **scan}

    # -- commands --------------------------------------------------------------------------------------------------

    def run(self, *words: str, timeout: float) -> Result:
        """One adb command.

        Raises:
            AdbTimeout: it took too long and was ended.
            DeviceGone: adb says that the device cannot be reached.
        """
        if self._own and (self._server is None or self._server.poll() is not None):
            self._stop_server()
            self._start_server()
        try:
            done = subprocess.run(
                [self.binary, "-P", str(self.port), *words],
                env=self._environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise AdbTimeout(f"adb {' '.join(words)[:80]} took longer than {timeout:.1f} seconds") from error
        said = done.stderr.decode(errors="replace").strip()
        if done.returncode and said.startswith(("error:", "adb:")) and any(word in said for word in GONE):
            raise DeviceGone(f"{self.name} cannot be reached: {said.splitlines()[0]}")
        return Result(done.stdout, done.stderr, done.returncode)

    def connect(self) -> None:
        """Connects anew to a ``host:port``; of any other device, asks whether it is there.

        Raises:
            DeviceGone, AdbTimeout: it is not. A server of our own is ended then, and the next command starts another.
        """
        try:
            if ":" in self.serial:
                self.run("disconnect", self.serial, timeout=CONNECT_S)
                said = self.run("connect", self.serial, timeout=CONNECT_S).text
                if not said.startswith(("connected", "already connected")):
                    raise DeviceGone(f"{self.name} cannot be reached: {said}")
            state = self.run(*self._to(), "get-state", timeout=CONNECT_S)
            if state.text != "device":
                raise DeviceGone(f"{self.name} is in the state {state.text or state.err.decode().strip()!r}")
        except (DeviceGone, AdbTimeout):
            if self._own:
                self._stop_server()
            raise

    def shell(self, line: str, timeout: float) -> Result:
        """Runs a line in the device's shell; the exit code is the device's (0 always, before Android 7)."""
        return self.run(*self._to(), "shell", "-T", line, timeout=timeout)

    def raw(self, line: str, timeout: float) -> bytes:
        """The bare output of a line."""
        return self.run(*self._to(), "exec-out", line, timeout=timeout).out

    def push(self, here: str, there: str, timeout: float = 60.0) -> None:
        """Copies a file to the device.

        Raises:
            CommandFailed: it could not be copied.
        """
        self._checked("push", here, there, timeout=timeout)

    def pull(self, there: str, here: str, timeout: float = 60.0) -> None:
        """Copies a file from the device; raises as :meth:`push`."""
        self._checked("pull", there, here, timeout=timeout)

    def save_snapshot(self, name: str, timeout: float = 120.0) -> None:
        """Has an emulator keep its whole state under a name.

        Raises:
            CommandFailed: this is no emulator, or it could not.
        """
        self._checked("emu", "avd", "snapshot", "save", name, timeout=timeout)

    def load_snapshot(self, name: str, timeout: float = 120.0) -> None:
        """Puts an emulator back to a state it kept; raises as :meth:`save_snapshot`."""
        self._checked("emu", "avd", "snapshot", "load", name, timeout=timeout)

    def close(self) -> None:
        """Ends the server if it is our own."""
        self._stop_server()

    def _to(self) -> list[str]:
        return ["-s", self.serial] if self.serial else []

    def _checked(self, *words: str, timeout: float) -> None:
        if words[0] == "emu" and not self.serial.startswith("emulator-"):
            raise CommandFailed(f"snapshots need an emulator (emulator-5554 and the like), and this is {self.name}")
        done = self.run(*self._to(), *words, timeout=timeout)
        said = (done.out + done.err).decode(errors="replace").strip()
        if done.code or "KO:" in said:
            raise CommandFailed(f"adb {' '.join(words)} failed: {said}")


def _end(server: "subprocess.Popen[bytes]") -> None:
    """Ends a server, gently first."""
    if server.poll() is not None:
        return
    server.terminate()
    try:
        server.wait(2.0)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
