"""Tiltyard: text, GUI, driving and robotics environments, agents and honest statistics behind Gymnasium and SB3.

Importing this package imports nothing heavy; ``envs``, ``agents``, ``wrappers`` and ``benchmarks`` load on use.
"""

from collections.abc import Iterable
from importlib import import_module
from types import ModuleType

__version__ = "0.1.0"
__all__ = ["MissingExtra", "__version__", "need", "unknown"]


class MissingExtra(ImportError):
    """An optional part of Tiltyard was used without the packages it needs; the message holds the install line."""


def need(module: str, extra: str) -> ModuleType:
    """Imports ``module``, or raises :class:`MissingExtra` with the exact ``pip install`` line for ``extra``.

    >>> need("json", extra="web").__name__
    'json'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f'{module!r} is not installed; run: pip install "tiltyard[{extra}]"') from error


def unknown(kind: str, name: object, valid: Iterable[str]) -> str:
    """One sentence for a name that does not exist: what was given, and the nearest names that do.

    >>> unknown("agent", "ppoo", ["ppo", "sac"])
    "unknown agent 'ppoo'; did you mean 'ppo'? (valid: ppo, sac)"
    """
    from difflib import get_close_matches  # here, because this module runs at every start of Python

    valid = sorted(valid)
    near = get_close_matches(str(name), valid, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ";"
    shown = ", ".join(valid[:40]) + (f", ... {len(valid) - 40} more" if len(valid) > 40 else "")
    return f"unknown {kind} {name!r}{hint} (valid: {shown or 'none'})"
