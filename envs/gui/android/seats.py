"""One device of the environment with all that leads to it: the fake's own phone and server, the link, the handset."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..commands import Command
from .adb import Adb
from .adbd import Adbd
from .direct import Direct
from .errors import CommandFailed
from .faults import Faults
from .handset import Handset
from .host import Host
from .link import Link

FAKE = "fake"


class Seat:
    """A real device, or a fake one that is started when its first problem comes.

    Args:
        serial: "fake", or as adb lists it.
        adb: the adb program; None: "adb", and none for the fake device.
        port: of adb's server; None: our own.
        faults: of the fake device.
        device_size: its width and height in pixels.
        patient: ``timeout``, ``patience`` and ``settle`` of the handset.
    """

    def __init__(
        self, serial: str, adb: str | None, port: int | None, faults: Faults | None, device_size: tuple[int, int],
        patient: Mapping[str, float],
    ) -> None:  # fmt: skip
        self.fake, self._adb, self._port, self._faults = serial == FAKE, adb, port, faults
        self._device_size, self._patient = device_size, dict(patient)
        self.host: Host | None = None
        self.adbd: Adbd | None = None
        self._handset: Handset | None = None
        if not self.fake:
            self._handset = Handset(Adb(serial, binary=adb or "adb", port=port), **self._patient)
        elif adb is not None:
            Adb(binary=adb)  # says at once if there is none

    @property
    def handset(self) -> Handset:
        """The device in our agents' words."""
        assert self._handset is not None, "the fake device is started with the first problem"
        return self._handset

    @property
    def failures(self) -> int:
        """Attempts that failed so far."""
        return self._handset.failures if self._handset is not None else 0

    def begin(self, problem: Any, *, bare: bool = False) -> None:
        """Puts a problem's phone into the fake device; of a real one, makes sure that it is there.

        Args:
            problem: whose phone it is; None for a real device.
            bare: without interruptions, slow screens and open apps.

        Raises:
            AdbError: the device cannot be reached.
        """
        if problem is not None:
            phone = (replace(problem, interruptions={}, slow={}, opened=()) if bare else problem).phone()
            self.forget()
            if self.host is None:
                self.host = Host(phone, self._device_size)
                self.adbd = Adbd(self.host, faults=self._faults)
                link: Link = Direct(self.adbd.address)
                if self._adb is not None:
                    link = Adb(self.adbd.address, binary=self._adb, port=self._port)
                self._handset = Handset(link, **self._patient)
                self._handset.reconnect()
            else:
                self.host.install(phone)
        elif not self.fake:
            self.handset.reconnect()

    def forget(self) -> None:
        """Asks anew what may differ from phone to phone, such as the names of apps."""
        if self._handset is not None:
            self._handset.forget()

    def answered(self, text: str) -> str:
        """Notes an answer, which is told to the owner and not to the device; the expert of the fake reads it there."""
        if self.host is not None:
            self.host.act(Command("answer", text=text))
        return text

    def load_snapshot(self, name: str) -> None:
        """Puts an emulator back to a state it kept.

        Raises:
            CommandFailed: this is no emulator, or it keeps no such state.
        """
        link = self.handset.link
        if not isinstance(link, Adb):
            raise CommandFailed("snapshots need an emulator that is reached by adb")
        link.load_snapshot(name)
        self.handset.reconnect()

    def close(self) -> None:
        """Ends what was started; the next problem starts the fake device anew."""
        if self._handset is not None:
            self._handset.link.close()
        if self.adbd is not None:
            self.adbd.close()
        self.host = None
