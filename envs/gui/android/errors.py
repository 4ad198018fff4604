"""What goes wrong between here and a device, each told in one sentence."""


class AdbError(RuntimeError):
    """Something between here and the device failed."""


class AdbMissing(AdbError):
    """There is no adb program on this machine."""

    def __init__(self, binary: str) -> None:
        super().__init__(f"there is no program {binary!r} here; run: sudo apt-get install adb")


class DeviceGone(AdbError):
    """The device does not answer: it is switched off, unplugged, or its connection broke."""


class AdbTimeout(AdbError):
    """A command took longer than it may."""


class CommandFailed(AdbError):
    """The device ran a command, which ended with an error or said what cannot be understood."""
