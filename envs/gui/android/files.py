"""A device's files, in memory: what is pushed, dumped and redirected is kept here."""

import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

ROOM = 64 << 20  # bytes, over all files
FOLDER_MODE, FILE_MODE = stat.S_IFDIR | 0o771, stat.S_IFREG | 0o660


class Stat(NamedTuple):
    """What is known of one file or folder."""

    mode: int
    size: int
    mtime: int


@dataclass
class Files:
    """Files by their whole path; folders are there where a file is, or as they were made."""

    contents: dict[str, bytes] = field(default_factory=dict)
    modes: dict[str, tuple[int, int]] = field(default_factory=dict)
    folders: set[str] = field(
        default_factory=lambda: {"/", "/data", "/data/local", "/data/local/tmp", "/sdcard", "/system", "/dev"}
    )

    def stat(self, path: str) -> Stat | None:
        """Mode, size and time of a path; None where there is nothing."""
        path = clean(path)
        if path in self.contents:
            mode, mtime = self.modes.get(path, (FILE_MODE, 0))
            return Stat(mode, len(self.contents[path]), mtime)
        return Stat(FOLDER_MODE, 4096, 0) if path in self.folders else None

    def read(self, path: str) -> bytes | None:
        """What a file holds; None where there is none."""
        return self.contents.get(clean(path))

    def write(self, path: str, data: bytes, mode: int = FILE_MODE, mtime: int = 0) -> None:
        """Puts a file, and the folders above it.

        Raises:
            OSError: the path is a folder, or the device is full.
        """
        path = clean(path)
        if path in self.folders:
            raise IsADirectoryError(f"{path}: is a directory")
        if sum(map(len, self.contents.values())) + len(data) > ROOM:
            raise OSError(f"{path}: no space left on device")
        self.contents[path] = data
        self.modes[path] = (stat.S_IFREG | (mode & 0o777), mtime)
        self.make_folder(path.rpartition("/")[0] or "/")

    def remove(self, path: str, *, recursive: bool = False) -> bool:
        """Takes a file away, or all that is in a folder; whether there was one."""
        path = clean(path)
        below = [one for one in self.contents if one == path or recursive and one.startswith(f"{path}/")]
        for one in below:
            del self.contents[one]
        if recursive and path in self.folders:
            self.folders -= {one for one in self.folders if one == path or one.startswith(f"{path}/")}
            return True
        return bool(below)

    def make_folder(self, path: str) -> None:
        """Makes a folder and those above it."""
        path = clean(path)
        while path not in self.folders:
            self.folders.add(path)
            path = path.rpartition("/")[0] or "/"

    def listing(self, path: str) -> Iterator[tuple[str, Stat]]:
        """Names and facts of what lies directly in a folder."""
        path = clean(path)
        for one in sorted({*self.contents, *self.folders} - {"/"}):
            if (one.rpartition("/")[0] or "/") == path:
                found = self.stat(one)
                assert found is not None
                yield one.rpartition("/")[2], found


def clean(path: str) -> str:
    """A whole path without ``.``, ``..`` and doubled slashes; ``/storage/emulated/0`` is ``/sdcard``.

    >>> clean("sdcard//x/../window.xml")
    '/sdcard/window.xml'
    """
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    whole = "/" + "/".join(parts)
    return "/sdcard" + whole[len("/storage/emulated/0") :] if whole.startswith("/storage/emulated/0") else whole
