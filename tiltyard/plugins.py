"""Environments, agents and suites of other packages, found by the entry-point group ``tiltyard.plugins``.

A plugin is a module of data, as ours are: any of ``ENVS`` (rows of :mod:`tiltyard.envs.catalogue`), ``AGENTS`` (rows of
:mod:`tiltyard.agents.catalogue`) and ``SUITES`` (:class:`tiltyard.benchmarks.Suite`), each a tuple. It is imported when
a catalogue is first looked up, never by ``import tiltyard``. Names of ours win over a plugin's.
"""

import os
import sys
import warnings
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

GROUP = "tiltyard.plugins"
NAMES = {"ENVS": ("id",), "AGENTS": ("kind", "name"), "SUITES": ("name",)}
"""What a plugin may list, and the attributes of a row that tell it from all others."""

T = TypeVar("T")


@cache
def rows(name: str, of: type[T], ours: frozenset[tuple[str, ...]]) -> tuple[T, ...]:
    """What all plugins list as ``name`` (one of :data:`NAMES`).

    A plugin that lists something else than instances of ``of`` is left out, and named in a warning; so is a row that is
    called as one of ours, or as one of a plugin before it.

    Args:
        name: of the list.
        of: what it holds.
        ours: identities (:func:`identities`) that are taken.
    """
    found: dict[tuple[str, ...], T] = {}
    for plugin, module in _modules():
        given = getattr(module, name, ())
        if not isinstance(given, Iterable):
            why = f"its {name} is {given!r:.200}, not a tuple of rows (of one row: ({name[:-1].lower()},))"
            _leave_out(f"plugin {plugin!r}", why)
            continue
        listed = tuple(given)
        if wrong := [value for value in listed if not isinstance(value, of)]:
            _leave_out(
                f"plugin {plugin!r}", f"its {name} holds {wrong[0]!r:.200}, which is no {of.__module__}.{of.__name__}"
            )
            continue
        for row in listed:
            identity = _identity(name, row)
            if identity in ours or identity in found:
                first = "of Tiltyard's" if identity in ours else "before it"
                why = f"that is the name of a row {first} in {name}; give it another"
                _leave_out(f"{identity[-1]!r} of plugin {plugin!r}", why)
            else:
                found[identity] = row
    return tuple(found.values())


def identities(name: str, those: Iterable[Any]) -> frozenset[tuple[str, ...]]:
    """What tells rows of the list ``name`` (one of :data:`NAMES`) from others: an id, a name, or a kind and a name."""
    return frozenset(_identity(name, row) for row in those)


def _identity(name: str, row: Any) -> tuple[str, ...]:
    return tuple(getattr(row, attribute) for attribute in NAMES[name])


@cache
def _modules() -> tuple[tuple[str, Any], ...]:
    """Every plugin that can be imported, by the name of its entry point."""
    from importlib.metadata import entry_points  # a sixth of the time of `import tiltyard`

    found = []
    for entry in entry_points(group=GROUP):
        try:
            found.append((entry.name, entry.load()))
        except (Exception, SystemExit) as error:  # one broken plugin must not disable the others
            _leave_out(f"plugin {entry.name!r}", f"{entry.value} cannot be imported ({type(error).__name__}: {error})")
    return tuple(found)


def _leave_out(what: str, why: str) -> None:
    warnings.warn(f"{what} is left out: {why}", stacklevel=2)


def import_named(module: str, what: str) -> ModuleType:
    """Imports the ``module`` that a user named for ``what``; ``KeyError`` where there is none of that name.

    It may lie in the folder one works in, as with ``python -m``, but nothing that is installed is looked for there
    first. An error inside the module is the module's own, and passes through.
    """
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise KeyError(f"{what}: there is no module {error.name!r} to import it from") from error
