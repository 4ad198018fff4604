"""Tiltyard: text, GUI, driving and robotics environments, agents and honest statistics behind Gymnasium and SB3.

Importing this package registers its environments with Gymnasium, as strings: nothing heavy is imported, ``envs``,
``agents``, ``wrappers`` and ``benchmarks`` load on use. ``gymnasium.make("tiltyard:tiltyard/Countdown-v0")`` imports it
by itself.
"""

import json
import os
import re
import sys
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType

__version__ = "0.1.0"
__all__ = ["MissingExtra", "__version__", "need", "unknown"]


class MissingExtra(ImportError):
    """An optional part of Tiltyard was used without the packages it needs; the message holds the install line."""


def need(module: str, extra: str) -> ModuleType:
    """Imports ``module``, or raises :class:`MissingExtra` with the exact ``pip install`` line for ``extra``.

    >>> need("json", extra="hf").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f"{module!r} cannot be imported ({error}); run: {_install_line(extra)}") from error


def _install_line(extra: str) -> str:
    """What installs ``extra`` beside this very copy of Tiltyard: a clone, or what pip installed from somewhere."""
    active = sys.prefix in (sys.base_prefix, os.environ.get("VIRTUAL_ENV"))
    pip = "pip" if active else _from_here(Path(sys.prefix) / "bin" / "pip")
    root = Path(__file__).resolve().parents[1]
    if (root / "pyproject.toml").is_file():
        return f'{pip} install -e "{_from_here(root)}[{extra}]"'
    return f'{pip} install "tiltyard[{extra}]{_origin()}"'


def _from_here(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _origin() -> str:
    """``" @ URL"`` of a package that pip took from a file, folder or repository (PEP 610); "" from an index."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        record = json.loads(distribution("tiltyard").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        return ""
    url, source = record.get("url"), record.get("vcs_info")
    return f" @ {source['vcs']}+{url}@{source['commit_id']}" if source else f" @ {url}" if url else ""


def unknown(kind: str, name: object, valid: Iterable[str]) -> str:
    """One sentence for a name that does not exist: what was given, and the three nearest names that do, or all of few.

    A name of two words and more is near to its initials, as ``learning_rate`` is to ``lr``.

    >>> unknown("agent", "ppoo", ["ppo", "sac"])
    "unknown agent 'ppoo'; did you mean 'ppo'? (valid: ppo, sac)"
    """
    valid, given = sorted(valid), str(name).lower()
    folded = {one.lower(): one for one in valid}
    nearest = ", ".join(folded[key] for key in get_close_matches(given, folded, n=3, cutoff=0.0))
    short = [key for key in folded if len(given) > 1 and given == "".join(word[:1] for word in re.split("[-_ ]", key))]
    near = [folded[key] for key in short or get_close_matches(given, folded, n=3, cutoff=0.5)]
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ";"
    if len(valid) <= 8:
        return f"unknown {kind} {name!r}{hint} (valid: {', '.join(valid) or 'none'})"
    return f"unknown {kind} {name!r}{hint}" if near else f"unknown {kind} {name!r}; nearest of {len(valid)}: {nearest}"


from . import envs as _envs  # noqa: E402, F401 - last, for its modules import the names above; it registers every id
