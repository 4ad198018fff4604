"""One row an agent name. Everything that lists, builds, tests or documents agents reads this table.

Importing this module imports nothing heavy: entry points are strings, resolved by :func:`tiltyard.agents.make`. Rows of
other packages come from plugins (:mod:`tiltyard.plugins`); any other class is named ``module:Class``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .. import unknown
from ..envs.row import Domain
from ..plugins import identities
from ..plugins import rows as plugin_rows
from .control.rows import ROWS as CONTROL
from .language.rows import ROWS as LANGUAGE
from .objectives.catalogue import ROWS as METHODS
from .row import KINDS, OF_METHOD, Row, scoped

__all__ = ["METHOD_ROWS", "ROWS", "Row", "find", "plugged", "rows", "scoped"]

ROWS: tuple[Row, ...] = (*CONTROL, *LANGUAGE)
"""Ours, but for :data:`METHOD_ROWS`."""


def _method_rows() -> Iterator[Row]:
    """The row "grpo" with another method, for each method that has no row of its own."""
    grpo = next(row for row in LANGUAGE if row.name == "grpo")
    taken = {row.name for row in LANGUAGE}
    for method in METHODS:
        if method.handle not in taken:
            settings = {scope: _without(OF_METHOD, given) for scope, given in grpo.settings.items()}
            settings["*"] |= {"method": method.handle}
            summary = f"Method {method.handle} with the settings of the agent grpo"
            paper = method.paper or method.handle
            yield replace(grpo, name=method.handle, settings=settings, summary=summary, paper=paper, base=grpo.name)


def _without(names: tuple[str, ...], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in names}


METHOD_ROWS: tuple[Row, ...] = tuple(_method_rows())
"""Methods of language agents as agents: ``agents.make("gspo", env)`` is the agent grpo with ``method="gspo"``."""


_OURS = identities("AGENTS", (*METHOD_ROWS, *ROWS))


def plugged() -> tuple[Row, ...]:
    """Those of plugins."""
    return plugin_rows("AGENTS", Row, _OURS)


def rows() -> tuple[Row, ...]:
    """Ours and those of plugins."""
    return (*ROWS, *plugged())


def find(name: str, domain: Domain | None = None) -> Row:
    """The row called ``name``; ``KeyError`` with the nearest valid names otherwise.

    An agent is a kind and a name. Where a control agent and a language agent share the name (``ppo``), the bare name is
    the language agent in environments of text and the control agent everywhere else; ``control:ppo`` and
    ``language:ppo`` say which, and are understood for every name. ``module:Class`` has a row without settings. The
    class is not imported here, but by :meth:`Row.load`.

    Args:
        name: of a row or a method, with or without its kind; or ``module:Class``.
        domain: of the environment it acts in, if that is known.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"an agent is named by a word, such as sac, got {name!r:.200}; a class is given as module:Class"
        )
    kind, _, bare = name.rpartition(":")
    bare = bare if kind in KINDS else name
    known = [row for row in (*METHOD_ROWS, *rows()) if kind not in KINDS or row.kind == kind]
    found = [row for row in known if row.name == bare]
    if found:
        usual = "language" if domain == "text" else "control"
        return next((row for row in found if row.kind == usual), found[0])
    if kind not in KINDS and re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", name):
        return Row(name, name, ("text", "gui", "driving", "robotics", "other"), "A class of another package")
    what = f"{kind} agent" if kind in KINDS else "agent"
    raise KeyError(unknown(what, bare, {row.name for row in known}) + " (any other class is given as module:Class)")
