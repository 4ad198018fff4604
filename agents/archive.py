"""The file of a checkpoint: a zip of ``settings.json`` and ``weights.safetensors``, not compressed and not trusted."""

import io
import json
import os
import secrets
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from .. import MissingExtra

if TYPE_CHECKING:
    import torch as th  # only a type here: what reads other files with these words need not wait for torch

SETTINGS, WEIGHTS = "settings.json", "weights.safetensors"
PathOrFile = str | os.PathLike[str] | io.BufferedIOBase

MOST_SETTINGS = 2**26
"""Bytes of settings, each of which may become ten in memory. Bounds of a space of 100,000 numbers, and what a
curriculum remembers of as many problems, are a few million; weights are no settings."""
MOST_ENVS = 2**20
"""Environments at once: simulators on graphics cards have tens of thousands."""
LONGEST_NAME = 100
"""Characters of a class's name, which messages repeat."""
NOT_AS_GIVEN = ", or does not go with what load() was given"

_CONTENTS: dict[str, type[Any]] = {
    "class": str,
    "settings": dict,
    "spaces": list,
    "n_envs": int,
    "counters": dict,
    "described": dict,
    "versions": dict,
}


def read_checkpoint(path: PathOrFile) -> tuple[dict[str, Any], dict[str, "th.Tensor"]]:
    """Reads settings and tensors of a checkpoint, on the CPU, without running anything.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a checkpoint, or a damaged one; the message says which.
    """
    from safetensors.torch import load as read_tensors

    file = path if isinstance(path, io.BufferedIOBase) else existing(Path(path))
    if not zipfile.is_zipfile(file):
        if str(path).endswith(".safetensors"):
            raise ValueError(
                f"{called(path)} holds weights, not an agent: give a base checkpoint of a language model to an agent, "
                f"as in --agent grpo --set policy={path}"
            )
        raise ValueError(f"{called(path)} is not a Tiltyard checkpoint, or is damaged: it wasn't a zip-file")
    with refusing(path), zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        if "data" not in names or SETTINGS in names:
            settings = _checked(json.loads(_member(archive, SETTINGS, MOST_SETTINGS)))
            return settings, read_tensors(_member(archive, WEIGHTS))
    raise ValueError(
        f"{called(path)} was saved by Stable-Baselines3 with pickle, which runs code when loaded: load it with "
        "Stable-Baselines3 if you trust it, and copy its weights with set_parameters(get_parameters())"
    )


def _member(archive: zipfile.ZipFile, name: str, most: int | None = None) -> bytes:
    """A member of the archive, after a look at how large it is."""
    found = [info for info in archive.infolist() if info.filename == name]
    if len(found) != 1:
        raise ValueError(f"it has {len(found) or 'no'} {name}")
    (info,) = found
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ValueError(f"its {name} is compressed, so that it could be of any size: zip it without (zip -0)")
    if most is not None and info.file_size > most:
        raise ValueError(f"its {name} has {info.file_size:,} bytes, and {most:,} are the most that are read")
    return archive.read(info)


def _checked(settings: Any) -> dict[str, Any]:
    """The settings, if they are of a form that this version reads."""
    if not isinstance(settings, dict):
        raise ValueError(f"its {SETTINGS} holds no settings")
    if settings.get("format") != 1:
        raise ValueError(f"it is of format {str(settings.get('format')):.20}, and this version reads format 1")
    for name, kind in _CONTENTS.items():
        if type(settings.get(name)) is not kind:
            raise ValueError(f"its {SETTINGS} has no {name}, or one that is no {kind.__name__}")
    if len(settings["class"]) > LONGEST_NAME:
        raise ValueError(f"it is of a class whose name has {len(settings['class']):,} characters")
    if not 1 <= settings["n_envs"] <= MOST_ENVS:
        raise ValueError(f"it wants {settings['n_envs']} environments, and {MOST_ENVS:,} are the most")
    if len(settings["spaces"]) != 2:
        raise ValueError("it has other spaces than those of observations and actions")
    return settings


@contextmanager
def refusing(path: PathOrFile, *, besides: str = "") -> Iterator[None]:
    """Whatever is wrong with a checkpoint becomes one sentence that names it.

    Args:
        path: of the checkpoint.
        besides: what else may be at fault, such as :data:`NOT_AS_GIVEN`.

    Raises:
        ValueError: for any other error.
    """
    try:
        yield
    except MissingExtra:
        raise
    except Exception as error:
        if "custom_objects=" in (said := one_line(error)):  # the file is whole: what is missing is the caller's to give
            raise ValueError(f"{called(path)} cannot be loaded as it is: {said}") from error
        raise ValueError(
            f"{called(path)} is not a Tiltyard checkpoint, or is damaged{besides} ({said}): take another "
            "copy of it, or save it again with this version"
        ) from error


def one_line(error: Exception) -> str:
    """What an error says, without line breaks and not at any length."""
    return " ".join(str(error).split())[:400] or type(error).__name__


def write_checkpoint(path: PathOrFile, settings: Mapping[str, Any], weights: bytes) -> None:
    """Writes both parts; the file appears whole or not at all."""

    def put(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(SETTINGS, json.dumps(settings, indent=1))
            archive.writestr(WEIGHTS, weights)

    write_atomically(path, put)


def write_atomically(path: PathOrFile, write: Callable[[IO[bytes]], None], suffix: str = ".zip") -> None:
    """Calls ``write`` on an open binary file that takes its name only when complete; makes missing folders."""
    if isinstance(path, io.BufferedIOBase):
        return write(cast(IO[bytes], path))
    target = Path(path)
    target = target if target.suffix else target.with_name(target.name + suffix)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with open(temporary, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def existing(path: Path) -> Path:
    """``path``, or it with ``.zip``, whichever is a file."""
    for candidate in (path, path.with_name(path.name + ".zip")):
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(f"no checkpoint at {path}")


def called(path: PathOrFile) -> str:
    """What messages call a checkpoint."""
    return str(path) if isinstance(path, str | os.PathLike) else "the file"
