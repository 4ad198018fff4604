"""The fake device's files."""

import pytest

from tiltyard.envs.gui.android.files import ROOM, Files, clean


def test_files_folders_and_what_lies_in_them() -> None:
    files = Files()
    files.write("/sdcard/a/b.txt", b"abc", 0o100600, 7)
    assert files.read("/storage/emulated/0/a/../a//b.txt") == b"abc"
    assert files.stat("/sdcard/a/b.txt") == (0o100600, 3, 7)
    assert [name for name, _ in files.listing("/sdcard")] == ["a"]
    assert [name for name, _ in files.listing("/sdcard/a")] == ["b.txt"]
    assert files.stat("/sdcard/b.txt") is None
    assert files.remove("/sdcard/a") is False
    assert files.remove("/sdcard/a", recursive=True)
    assert files.read("/sdcard/a/b.txt") is files.stat("/sdcard/a") is None


def test_no_file_stands_on_a_folder_nor_fills_the_machine() -> None:
    with pytest.raises(IsADirectoryError, match="/sdcard: is a directory"):
        Files().write("/sdcard", b"")
    with pytest.raises(OSError, match="no space left"):
        Files().write("/sdcard/x", bytes(ROOM + 1))


def test_paths_are_whole_and_never_leave_the_root() -> None:
    assert clean("../../etc") == "/etc"
    assert clean("") == "/"
