"""Where a number comes from: the versions, commit and hardware that every result records."""

import os
import platform
import re
import subprocess
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .. import __version__

LIBRARIES = ("numpy", "torch", "gymnasium", "stable-baselines3", "mujoco", "numba", "reasoning-gym")
"""Recorded beside Python's and Tiltyard's own; a change in any of these may change numbers."""


@cache
def versions() -> dict[str, str]:
    """Versions of everything that may change a number: Tiltyard, Python, physics, tensors, compilers, data sets."""
    found = {"tiltyard": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def differences(recorded: dict[str, str], present: dict[str, str] | None = None) -> list[str]:
    """What may have changed numbers: ``["mujoco 3.10.0 (now 3.11.0)", ...]``; the Python version does not count."""
    present = versions() if present is None else present
    names = [name for name in {**recorded, **present} if name != "python"]
    return [
        f"{name} {recorded.get(name, 'unrecorded')} (now {present.get(name, 'not installed')})"
        for name in names
        if recorded.get(name) != present.get(name)
    ]


@cache
def commit() -> str:
    """The git commit of a source checkout of Tiltyard (``+changes`` when files differ from it), else ``""``."""
    home = Path(__file__).resolve().parents[1]
    if not (home / ".git").exists():  # an installed wheel: a repository around it would not be ours
        return ""
    return commit_of(home)


@cache
def sources() -> str:
    """A digest of all of Tiltyard's Python files, which whatever changes code changes."""
    home = Path(__file__).resolve().parents[1]
    digest = sha256()
    parts = ("agents", "benchmarks", "envs", "wrappers")  # a checkout holds more, such as its virtual environment
    for path in sorted(path for part in parts for path in (home / part).rglob("*.py")):
        digest.update(f"{path.relative_to(home)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def commit_of(home: Path) -> str:
    """The commit that is checked out in ``home``, with ``+changes`` when files differ from it.

    Files that git does not know and those of ``docs/results`` do not count: no code is there, and one command that
    stores its result would mark the results of the next.
    """
    head = _output("git", "-C", str(home), "rev-parse", "HEAD")
    where = ("--", ":/", ":(top,exclude)docs/results")
    changed = head and _output("git", "-C", str(home), "status", "--porcelain", "--untracked-files=no", *where)
    return f"{head}+changes" if changed else head


@cache
def hardware() -> str:
    """Processor, cores this process may use and memory, in one line."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    memory = f", {pages / 2**30:.0f} GiB" if pages else ""
    return f"{_processor()}, {cores()} cores{memory}"


def cores() -> int:
    """Cores this process may use (a container's or ``taskset``'s share, where the system tells)."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def processor_kind() -> str:
    """The processor's model, with its family's numbers and the vector instructions that libraries choose code by."""
    try:
        told = Path("/proc/cpuinfo").read_text()
    except OSError:  # not Linux
        return _processor()
    numbers = [found.group(1) for name in ("cpu family", "model") if (found := _line(name, told))]
    flags = set(found.group(1).split()) if (found := _line("flags", told)) else set()
    vectors = [name for name in ("avx", "avx2", "fma", "avx512f") if name in flags]
    return " ".join([_processor(), "/".join(numbers), *vectors]).replace("  ", " ")


def _line(name: str, text: str) -> re.Match[str] | None:
    return re.search(rf"^{name}\s*:\s*(.+)$", text, re.MULTILINE)


def _processor() -> str:
    try:
        model = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:  # not Linux
        model = None
    return model.group(1) if model else platform.processor() or platform.machine()


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):  # no git here: the commit stays unknown
        return ""
    return done.stdout.strip()
