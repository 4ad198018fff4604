"""Environments, agents and suites of other packages, found by the entry-point group ``tiltyard.plugins``.

A plugin is a module of data, as ours are: any of ``ENVS`` (rows of :mod:`tiltyard.envs.catalogue`), ``AGENTS`` (rows of
:mod:`tiltyard.agents.catalogue`) and ``SUITES`` (:class:`tiltyard.benchmarks.Suite`), each a tuple. It is imported when
a catalogue is first looked up, never by ``import tiltyard``. Names of ours win over a plugin's.
"""

import os
import sys
import warnings
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

GROUP = "tiltyard.plugins"
NAMES = ("ENVS", "AGENTS", "SUITES")

T = TypeVar("T")


@cache
def rows(name: str, of: type[T]) -> tuple[T, ...]:
    """What all plugins list as ``name`` (one of :data:`NAMES`).

    A plugin that lists something else than instances of ``of`` is left out, and named in a warning.
    """
    found: list[T] = []
    for plugin, module in _modules():
        listed = tuple(getattr(module, name, ()))
        if wrong := [value for value in listed if not isinstance(value, of)]:
            _leave_out(plugin, f"its {name} holds {wrong[0]!r:.200}, which is no {of.__module__}.{of.__name__}")
        else:
            found += listed
    return tuple(found)


@cache
def _modules() -> tuple[tuple[str, Any], ...]:
    """Every plugin that can be imported, by the name of its entry point."""
    from importlib.metadata import entry_points  # a sixth of the time of `import tiltyard`

    found = []
    for entry in entry_points(group=GROUP):
        try:
            found.append((entry.name, entry.load()))
        except Exception as error:  # somebody else's code may raise anything, and must not take the others with it
            _leave_out(entry.name, f"{entry.value} cannot be imported ({type(error).__name__}: {error})")
    return tuple(found)


def _leave_out(plugin: str, why: str) -> None:
    warnings.warn(f"plugin {plugin!r} is left out: {why}", stacklevel=2)


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
