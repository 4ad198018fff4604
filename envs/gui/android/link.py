"""What the environment asks of the way to a device: a line for its shell, and to begin again when the way is broken."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Result:
    """What a program of the device wrote, and its exit code."""

    out: bytes
    err: bytes
    code: int

    @property
    def text(self) -> str:
        """What it wrote, without the ends' white space."""
        return self.out.decode(errors="replace").strip()


class Link(Protocol):
    """A way to one device. Every method raises :class:`~.errors.AdbError` and takes no longer than it is told."""

    name: str

    def connect(self) -> None:
        """Makes sure that the device is there, beginning anew where the last connection broke."""

    def shell(self, line: str, timeout: float) -> Result:
        """Runs a line in the device's shell."""

    def raw(self, line: str, timeout: float) -> bytes:
        """The bare output of a line, which may be binary; it can be cut short where the connection breaks."""

    def close(self) -> None:
        """Frees what is held here; the device stays as it is."""
