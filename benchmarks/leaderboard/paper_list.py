"""The papers of :mod:`tiltyard.papers` for the site: what is built of each, where, and the verdict on its claim."""

from collections import defaultdict
from functools import cache
from typing import Any

from ...papers import REFERENCE, Paper, papers
from ..claims.record import Verdict, stored
from ..index import RESULTS, Part, parts

PAPERS = "papers.html"
BUILT, BESIDE, OPEN = "built", "built, from beside the list", "not built"


@cache
def known_papers() -> dict[str, Paper]:
    """Every paper by its handle."""
    return {paper.handle: paper for paper in papers()}


def paper_rows() -> list[dict[str, Any]]:
    """A row a paper, in the table's order, as JSON holds it.

    Verdicts are those of the checkout's ``docs/results/claims``; an installed wheel has none.
    """
    built: dict[str, list[Part]] = defaultdict(list)
    for part in parts():
        built[part.paper].append(part)
    verdicts = stored(RESULTS / "claims") if RESULTS.is_dir() else {}
    return [_row(paper, built.get(paper.handle, []), verdicts.get(paper.handle)) for paper in papers()]


def _files(handle: str, built: list[Part]) -> list[str]:
    """Source files of these parts, the one that bears the paper's handle first."""
    found = dict.fromkeys(path for part in built for path in part.sources)
    return sorted(found, key=lambda path: not path.endswith(f"/{handle.replace('-', '_')}.py"))


def _row(paper: Paper, built: list[Part], verdict: Verdict | None) -> dict[str, Any]:
    return {
        "handle": paper.handle,
        "title": paper.title,
        "year": paper.year,
        "link": paper.link,
        "domain": paper.domain,
        "kind": paper.kind,
        "state": (BESIDE if paper.fit == REFERENCE else BUILT) if built else OPEN,
        "parts": [f"{part.kind} {part.handle}" for part in built],
        "files": _files(paper.handle, built),
        "show": f"tiltyard show {paper.handle}",
        "claim": verdict.sentence if verdict else paper.claim,
        "verdict": verdict.standing if verdict else "",
        "measured": f"{verdict.effect}: {'; '.join(verdict.measured)}" if verdict else "",
        "because": (verdict.withdrawn or verdict.reason or verdict.remark) if verdict else "",
        "command": verdict.command if verdict else "",
    }
