"""``tiltyard list``: what there is, one line a row, as one of :mod:`.cli`'s commands."""

import ast
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import tyro

from .. import unknown
from ..agents.catalogue import rows as agent_rows
from ..envs.catalogue import ROWS as ENVS
from ..envs.catalogue import plugged as plugged_envs
from .docs import RESULTS, TABLES, Content, Rows, agents, envs, suites
from .suites import rows as suite_rows


def claims() -> Content:
    """Claims of papers that can be put to an experiment, with what it came to here (in a clone)."""
    rows: Rows = []
    for path in (Path(__file__).parent / "claims").glob("*.py"):
        text = path.read_text(encoding="utf-8")  # importing it would take numba and torch
        if "\nCLAIM = " in text:
            handle = path.stem.replace("_", "-")
            stored = RESULTS / "claims" / f"{handle}.json"
            record = json.loads(stored.read_text()) if stored.is_file() else {"judgement": "-"}
            verdict = "withdrawn" if record.get("withdrawn") else record["judgement"]
            rows.append((handle, verdict, (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]))
    return "Claims", ("claim", "verdict here", "experiment"), sorted(rows)  # a file's name sorts otherwise: "_" not "-"


def datasets() -> Content:
    """Minari datasets on this machine, and those that a race or ``tiltyard dataset catalogue`` would make."""
    import minari

    from .datasets.catalogue import ROWS

    local = minari.list_local_datasets()
    rows: Rows = [
        (name, "here", f"{about.get('total_episodes', '-')} episodes, {about.get('total_steps', '-')} steps")
        for name, about in sorted(local.items())
    ]
    recipes = {name: (suite.name, recipe) for suite in suite_rows() for name, recipe in suite.datasets.items()}
    made = {name: f"by tiltyard race {suite}: {one.policy} in {one.env_id}" for name, (suite, one) in recipes.items()}
    made |= {row.id: f"by tiltyard dataset catalogue --make {row.id}: {row.policy} in {row.env_id}" for row in ROWS}
    rows += [(name, "to be made", what) for name, what in sorted(made.items()) if name not in local]
    return "Datasets", ("dataset", "state", "what it holds"), rows


LISTS: dict[str, Callable[[], Content]] = {
    **TABLES,  # on the pages ours alone, here those of plugins too
    "envs": lambda: envs((*ENVS, *plugged_envs())),
    "agents": lambda: agents(agent_rows()),
    "suites": lambda: suites(suite_rows()),
    "claims": claims,
    "datasets": datasets,
}


@dataclass
class List:
    """Lists the environments, agents, methods, wrappers, components, suites, claims and datasets there are."""

    what: tyro.conf.Positional[str] = "all"
    """envs, agents, methods, wrappers, components, suites, claims, datasets, or all of them"""
    json: bool = False
    """print JSON"""

    def run(self) -> int:
        """Prints a line a row: cut to the terminal's width there, whole and with tabs between its cells elsewhere."""
        if self.what not in ("all", *LISTS):
            raise ValueError(unknown("list", self.what, ["all", *LISTS]))
        found = {name: LISTS[name]() for name in (LISTS if self.what == "all" else [self.what])}
        if self.json:
            print(_json(found))
        elif sys.stdout.isatty():
            print("\n\n".join(_table(content, shutil.get_terminal_size().columns) for content in found.values()))
        else:
            for name, (_, _, rows) in found.items():
                first = [name] if self.what == "all" else []
                print("\n".join("\t".join([*first, *row]) for row in rows))
        return 0


def _json(found: dict[str, Content]) -> str:
    listed = {
        name: [dict(zip((column.rstrip("#") for column in columns), row, strict=True)) for row in rows]
        for name, (_, columns, rows) in found.items()
    }
    (only, *others) = listed.values()
    return json.dumps(listed if others else only, indent=1, ensure_ascii=False)


def _table(content: Content, width: int) -> str:
    """Title, heads and rows, each on a line of at most ``width`` characters; what is longest is cut."""
    title, columns, rows = content
    heads = tuple(column.rstrip("#") for column in columns)
    widths = [max(map(len, cells)) for cells in zip(heads, *rows, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > width and max(widths[1:]) > 4:  # the name is never cut
        widths[1 + max(range(len(widths) - 1), key=lambda i: widths[i + 1])] -= 1
    lines = ["  ".join(map(_cell, row, widths, columns)).rstrip() for row in (heads, *rows)]
    return "\n".join([title, *lines])


def _cell(text: str, width: int, column: str) -> str:
    cut = text if len(text) <= width else text[: width - 1] + "…"
    return cut.rjust(width) if column.endswith("#") else cut.ljust(width)
