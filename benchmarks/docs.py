"""Tables made from the catalogues: for ``tiltyard list``, and, as Markdown, between the marks of README.md.

``python -m tiltyard.benchmarks.docs`` rewrites the README's tables, ``--check`` only says whether they are current.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import isnan
from pathlib import Path

from ..agents.catalogue import ROWS as AGENTS
from ..agents.objectives.catalogue import ROWS as METHODS
from ..envs.catalogue import ROWS as ENVS
from ..envs.catalogue import Row as Env
from ..papers import cited
from ..wrappers.catalogue import PERTURBATIONS, PRACTICE
from ..wrappers.catalogue import REWARDS as CONTROL_REWARDS
from ..wrappers.curricula.catalogue import CONTROL
from ..wrappers.curricula.catalogue import ROWS as CURRICULA
from ..wrappers.guidance.catalogue import ROWS as GUIDANCE
from ..wrappers.rewards.catalogue import ROWS as REWARDS
from .runs import Run
from .suites import SUITES, Entry, Task

Rows = list[tuple[str, ...]]
Content = tuple[str, tuple[str, ...], Rows]
"""Title, column names (``#`` at the end: a number) and rows."""

README = Path(__file__).resolve().parents[1] / "README.md"
RESULTS = README.parent / "docs" / "results"


def envs(of: Iterable[Env] = ENVS) -> Content:
    """Environments; those that a server or a device stands behind say so beside their domain."""
    columns = ("id", "domain", "what it is", "random#", "blind#", "expert#", "blind / expert success#", "steps#")
    rows: Rows = [
        (
            row.id,
            row.domain if row.tier == "simulated" else f"{row.domain}, {row.tier}",
            row.summary,
            _number(row.random_score),
            _number(row.blind_score),
            _number(row.expert_score),
            f"{_share(row.blind_success)} / {_share(row.expert_success)}",
            str(row.max_episode_steps),
        )
        for row in of
    ]
    return "Environments", columns, rows


def agents() -> Content:
    """Agents."""
    rows: Rows = [(row.name, ", ".join(row.domains), row.summary, cited(row.paper or row.name)) for row in AGENTS]
    return "Agents (and every method: tiltyard list methods)", ("name", "domains", "what it is", "paper"), rows


def methods() -> Content:
    """Methods of language agents."""
    return (
        "Methods of language agents, each an agent of its name in text environments",
        ("method", "paper"),
        [(row.handle, cited(row.paper or row.handle)) for row in METHODS],
    )


def wrappers() -> Content:
    """Curricula, guidance, rewards, practice and perturbations."""
    rooms = {
        "curriculum of language agents": CURRICULA,
        "curriculum of control agents": CONTROL,
        "guidance of language agents": GUIDANCE,
        "reward of language agents": REWARDS,
        "reward of control agents": CONTROL_REWARDS,
        "practice of control agents": PRACTICE,
        "perturbation of control agents": PERTURBATIONS,
    }
    rows: Rows = [(row.handle, kind, cited(row.paper or row.handle)) for kind, room in rooms.items() for row in room]
    return "Curricula, guidance, rewards", ("name", "what it is", "paper"), rows


def _length(task: Task, entry: Entry) -> str:
    run = Run(task.env_id, entry.agent, 0, entry.budget, task.params(entry))
    return run.length.removesuffix(" steps")


def _entries(task: Task) -> str:
    """Who races for how long; of many methods, or kinds of one agent, the number."""
    lengths: dict[str, Counter[str]] = {}
    for entry in task.entries:
        lengths.setdefault(_length(task, entry), Counter())[entry.params.get("method", entry.agent)] += 1
    many = {
        length: f"{len(names)} methods"
        if len(names) > 12
        else ", ".join(f"{name} in {n} settings" if n > 1 else name for name, n in names.items())
        for length, names in lengths.items()
    }
    return ", ".join(f"{names} ({length})" for length, names in many.items())


def suites() -> Content:
    """Suites, a row a task."""
    columns = ("suite", "environment", "agents (steps)", "seeds", "core minutes#")
    rows: Rows = [
        (
            suite.name,
            task.env_id if task.dataset is None else f"{task.env_id} from {task.dataset}",
            _entries(task),
            ", ".join(map(str, suite.seeds)),
            f"{len(suite.seeds) * sum(entry.seconds for entry in task.entries) / 60:.0f}",
        )
        for suite in SUITES
        for task in suite.tasks
    ]
    return "Suites", columns, rows


def results() -> Content:
    """Pages of ``docs/results``, by their heading (of a race: its suite's summary) and their line ``Command: `...` ``.

    Raises:
        ValueError: a page without such a line.
    """
    rows: Rows = []
    summaries = {suite.name: suite.summary for suite in SUITES}
    for page in sorted(RESULTS.glob("*/README.md")):
        lines = page.read_text().splitlines()
        name, heading = page.parent.name, lines[0].removeprefix("# ")
        command = next((line for line in lines if line.startswith("Command: `")), None)
        if command is None:
            raise ValueError(f"{page} has no line that begins with Command: `, as every page of results needs")
        link = f"[{summaries.get(heading, heading)}]({page.relative_to(README.parent)})"
        rows.append((name, link, f"`{command.split('`')[1]}`"))
    return "Results", ("page", "what was measured", "command"), rows


TABLES: dict[str, Callable[[], Content]] = {
    "envs": envs,
    "agents": agents,
    "methods": methods,
    "wrappers": wrappers,
    "suites": suites,
}
"""What ``tiltyard list`` shows."""
IN_README: dict[str, Callable[[], Content]] = {**TABLES, "results": results}
"""An installed package has no pages of results."""


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; ids and names (the first column) as code."""
    lines = [[name.rstrip("#") for name in columns], ["--:" if name.endswith("#") else "---" for name in columns]]
    lines += [[f"`{first}`", *(cell.replace("|", "\\|") for cell in rest)] for first, *rest in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def filled(text: str) -> str:
    """``text`` with a fresh table between each pair of marks ``<!-- tiltyard:envs --> ... <!-- /tiltyard:envs -->``.

    Raises:
        ValueError: a pair is missing.
    """
    for name, content in IN_README.items():
        start, end = f"<!-- tiltyard:{name} -->", f"<!-- /tiltyard:{name} -->"
        before, opened, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not opened or not closed:
            raise ValueError(f"{README.name} has no marks {start} ... {end}")
        _, columns, rows = content()
        text = f"{before}{start}\n{markdown(columns, rows)}\n{end}{after}"
    return text


def main(arguments: Sequence[str]) -> int:
    """Writes the tables, or with ``--check`` says whether they are current; returns the exit code."""
    old = README.read_text()
    new = filled(old)
    if arguments == ["--check"]:
        if new != old:
            print(f"{README.name} is out of date: run make docs", file=sys.stderr)
        return int(new != old)
    README.write_text(new)
    return 0


def _share(value: float | None) -> str:
    return "-" if value is None or isnan(value) else f"{value:.0%}"


def _number(value: float | None) -> str:
    if value is None or isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
