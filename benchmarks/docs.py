"""Tables made from the catalogues: for ``tiltyard list``, and, as Markdown, for the pages of the documentation site.

A page has a pair of marks for each: ``<!-- tiltyard:envs --> ... <!-- /tiltyard:envs -->``.
``python -m tiltyard.benchmarks.docs`` rewrites what is between them, ``--check`` only says whether it is current.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import isnan
from pathlib import Path

from ..agents.catalogue import ROWS as AGENTS
from ..agents.catalogue import Row as Agent
from ..agents.language.data.catalogue import ROWS as SOURCES
from ..agents.language.providers.catalogue import PROVIDERS, SUPPLIES
from ..agents.language.samplers.catalogue import ROWS as SAMPLERS
from ..agents.objectives.catalogue import ROWS as METHODS
from ..envs.catalogue import ROWS as ENVS
from ..envs.catalogue import Row as Env
from ..papers import cited, papers
from ..papers import find as find_paper
from ..wrappers.catalogue import GUARDS, PERTURBATIONS, PHONE_REWARDS, POLICIES, PRACTICE
from ..wrappers.catalogue import REWARDS as CONTROL_REWARDS
from ..wrappers.curricula.catalogue import CONTROL
from ..wrappers.curricula.catalogue import ROWS as CURRICULA
from ..wrappers.guidance.catalogue import ROWS as GUIDANCE
from ..wrappers.rewards.catalogue import ROWS as REWARDS
from .commands_page import commands_page
from .index import Part, parts, summary_of
from .pages import code, link, render
from .runs import Run
from .suites import SUITES, Entry, Suite, Task

Rows = list[tuple[str, ...]]
Content = tuple[str, tuple[str, ...], Rows]
"""Title, column names (``#`` at the end: a number) and rows."""

DOCS = Path(__file__).resolve().parents[1] / "docs"
RESULTS = DOCS / "results"
LOST = "**The raw data of this page are lost:**"
"""At the top of a race's page without its runs."""


def envs(of: Iterable[Env] = ENVS) -> Content:
    """Environments; those that a server or a device stands behind say so beside their domain."""
    columns = ("id", "domain", "what it is", "random#", "blind#", "expert#", "blind / expert success#", "steps#")
    rows: Rows = [
        (
            row.id,
            row.domain if row.tier == "simulated" else f"{row.domain}, {row.tier}",
            row.summary,
            number(row.random_score),
            number(row.blind_score),
            number(row.expert_score),
            f"{_share(row.blind_success)} / {_share(row.expert_success)}",
            str(row.max_episode_steps),
        )
        for row in of
    ]
    return "Environments", columns, rows


def agents(of: Iterable[Agent] = AGENTS) -> Content:
    """Agents; those of plugins may be of no paper."""
    known = {paper.handle: paper.cited for paper in papers()}
    rows: Rows = [(row.name, ", ".join(row.domains), row.summary, known.get(row.paper or row.name, "-")) for row in of]
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
        "reward of phones": PHONE_REWARDS,
        "guard of phones": GUARDS,
        "wrapper of policies of phones": POLICIES,
    }
    rows: Rows = [(row.handle, kind, cited(row.paper or row.handle)) for kind, room in rooms.items() for row in room]
    return "Curricula, guidance, rewards", ("name", "what it is", "paper"), rows


def components() -> Content:
    """Samplers, data sources and providers of language agents, papers' or not."""
    rows: Rows = [
        (row.handle, kind, summary_of(row.entry_point))
        for kind, room in (("sampler", SAMPLERS), ("data source", SOURCES))
        for row in room
    ]
    rows += [(name, "provider", SUPPLIES[name]) for name in PROVIDERS]
    return "Samplers, data sources, providers of language agents", ("name", "kind", "what it is"), rows


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


def suites(of: Iterable[Suite] = SUITES) -> Content:
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
        for suite in of
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
        shown = link(summaries.get(heading, heading), str(page.relative_to(DOCS)))
        rows.append((name, shown, raw_data(page), code(command.split("`")[1])))
    return "Results", ("page", "what was measured", "raw data", "command"), rows


FEW = 4
"""Files that are named one by one."""


def raw_data(page: Path) -> str:
    """What lies beside a page of results, from which its numbers come: folders of runs, files of JSON, or nothing."""
    runs = [*page.parent.glob("runs/*/final.json"), *page.parent.glob("runs/*.json")]
    files = [code(path.name) for path in sorted(page.parent.glob("*.json"))]
    if runs:
        return f"{len(runs)} runs"
    if len(files) > FEW:
        return f"{len(files)} files"
    return ", ".join(files) if files else "lost" if LOST in page.read_text(encoding="utf-8") else "on the page"


TABLES: dict[str, Callable[[], Content]] = {
    "envs": envs,
    "agents": agents,
    "methods": methods,
    "wrappers": wrappers,
    "components": components,
    "suites": suites,
}
"""What ``tiltyard list`` shows."""


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; ids and names (the first column) as code."""
    rules = ["--:" if name.endswith("#") else "---" for name in columns]
    return render("catalogue.md.jinja", columns=columns, rules=rules, rows=list(map(list, rows))).rstrip("\n")


def agents_page() -> str:
    """The agents, with their source files and their papers' links."""
    built = {part.handle: part for part in parts() if part.kind == "agent"}
    columns = ("agent", "domains", "what it is", "source", "paper")
    return markdown(columns, [(*row[:3], *_sourced(built[row[0]])) for row in agents()[2]])


def methods_page() -> str:
    """The methods of language agents, with what each is, its source files and its paper's link."""
    built = [part for part in parts() if part.kind == "method"]
    rows = [(part.handle, _what(part), *_sourced(part)) for part in built]
    return markdown(("method", "what it is", "source", "paper"), rows)


def wrappers_page() -> str:
    """Curricula, guidance, rewards, practice and perturbations, with their source files and their papers' links."""
    kinds = {row[0]: row[1] for row in wrappers()[2]}
    built = [part for part in parts() if part.handle in kinds and part.kind == kinds[part.handle].split()[0]]
    rows = [(part.handle, kinds[part.handle], summary_of(part.entries[0]), *_sourced(part)) for part in built]
    return markdown(("name", "kind", "what it is", "source", "paper"), rows)


def _what(part: Part) -> str:
    """The first line of a method's own file; of a method without one, the shared functions it is made of."""
    if ".parts." not in part.entries[0]:
        return summary_of(part.entries[0])
    names = ", ".join(code(entry.partition(":")[2]) for entry in part.entries)
    values = ", ".join(code(f"{name}={value}") for name, value in part.params)
    return f"Shared parts: {names}" + (f", with {values}" if values else "")


def _sourced(part: Part) -> tuple[str, str]:
    paper = find_paper(part.paper)
    return code(part.sources[0]), link(paper.cited, paper.link)


def _page(content: Callable[[], Content]) -> Callable[[], str]:
    return lambda: markdown(*content()[1:])


ON_PAGES: dict[str, tuple[str, Callable[[], str]]] = {
    "envs": ("environments.md", _page(envs)),
    "agents": ("agents.md", agents_page),
    "methods": ("methods.md", methods_page),
    "wrappers": ("wrappers.md", wrappers_page),
    "components": ("wrappers.md", _page(components)),
    "suites": ("suites.md", _page(suites)),
    "results": ("results.md", _page(results)),
    "commands": ("command-line.md", commands_page),
}
"""The page in ``docs/`` and the Markdown of each pair of marks."""


def filled(page: str, text: str) -> str:
    """The ``text`` of a page with what is fresh between its marks.

    Raises:
        ValueError: a pair is missing.
    """
    for name, (where, content) in ON_PAGES.items():
        if where == page:
            start, end = f"<!-- tiltyard:{name} -->", f"<!-- /tiltyard:{name} -->"
            before, opened, rest = text.partition(start)
            _, closed, after = rest.partition(end)
            if not opened or not closed:
                raise ValueError(f"docs/{page} has no marks {start} ... {end}")
            text = f"{before}{start}\n{content()}\n{end}{after}"
    return text


def main(arguments: Sequence[str]) -> int:
    """Writes the pages, or with ``--check`` says which are out of date; returns the exit code."""
    old = {page: (DOCS / page).read_text(encoding="utf-8") for page, _ in ON_PAGES.values()}
    stale = {page: new for page, text in old.items() if (new := filled(page, text)) != text}
    for page, text in stale.items():
        if arguments == ["--check"]:
            print(f"docs/{page} is out of date: run make docs", file=sys.stderr)
        else:
            (DOCS / page).write_text(text, encoding="utf-8")
    return int(bool(stale) and arguments == ["--check"])


def _share(value: float | None) -> str:
    return "-" if value is None or isnan(value) else f"{value:.0%}"


def number(value: float | None) -> str:
    """A mean return as tables have it; a dash for none."""
    if value is None or isnan(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
