"""The table of papers this library grows by, and what has become of each here: ``docs/papers.md``.

``python -m tiltyard.benchmarks.claims.papers`` rewrites the document and the page of verdicts on claims
(``docs/results/claims/README.md``), ``--check`` only says whether they are current.
"""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...papers import REFERENCE, Paper, papers
from ..index import parts
from ..pages import cell, render
from ..statistics import Interval
from ..verdicts import Judged, told
from .harness import RESULTS, Verdict, claims, stored

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "papers.md"
VERDICTS = ROOT / RESULTS / "README.md"


def built() -> dict[str, tuple[str, ...]]:
    """What each paper is here: ``{"grpo": ("agent `grpo`", "method `grpo`"), ...}``."""
    found: dict[str, list[str]] = defaultdict(list)
    for part in parts():
        found[part.paper].append(f"{part.kind} `{part.handle}`")
    return {handle: tuple(names) for handle, names in found.items()}


class _Row(NamedTuple):
    """A paper, the parts built from it, its verdict and whether there is a claim that may be put to an experiment."""

    paper: Paper
    names: tuple[str, ...]
    verdict: Verdict | None
    claimed: bool

    @property
    def place(self) -> tuple[int, str]:
        """Papers with a verdict first, then those built, then the rest."""
        return 0 if self.verdict else 1 if self.names else 2, self.paper.handle


def document(verdicts: dict[str, Verdict]) -> str:
    """The Markdown of ``docs/papers.md``."""
    here, known = built(), claims()
    every = [
        _Row(paper, here.get(paper.handle, ()), verdicts.get(paper.handle), paper.handle in known) for paper in papers()
    ]
    listed = sorted((row for row in every if row.paper.fit != REFERENCE), key=lambda row: row.place)
    judged = Counter(verdict.standing for verdict in verdicts.values())
    return render(
        "papers.md.jinja",
        rows=listed,
        others=[row for row in every if row.paper.fit == REFERENCE],
        done=sum(row.paper.handle in here for row in listed),
        judged=", ".join(f"{count} {judgement}" for judgement, count in sorted(judged.items())),
        verdicts=[verdicts[handle] for handle in sorted(verdicts)],
    )


def verdicts_page(verdicts: dict[str, Verdict]) -> str:
    """The Markdown of ``docs/results/claims/README.md``."""
    found = [verdicts[handle] for handle in sorted(verdicts)]
    counted = Counter(one.standing for one in found)
    return render(
        "claims.md.jinja",
        summary=f"{len(found)} claims: "
        + ", ".join(f"{count} {judgement}" for judgement, count in sorted(counted.items()))
        + f". Of the undecided, {sum(bool(one.reason) for one in found)} could not be decided by their experiment.",
        verdicts=[_verdict_row(one) for one in found],
        parts=[_part_row(verdict, one) for verdict in found for one in verdict.parts],
        replications=[
            [one.handle, again["seeds"], again["date"], again["judgement"], _parts_told(again)]
            for one in found
            for again in one.replications
        ],
    )


def _verdict_row(verdict: Verdict) -> list[str]:
    """A claim: what it was under the rule before, and is now."""
    other = [one for one in verdict.history if one["rule"] != verdict.rule]
    before = ""
    if other:
        withdrawn = ", withdrawn" if other[-1]["withdrawn"] else ""
        before = f"{other[-1]['judgement']}{withdrawn} ({_parts_told(other[-1])})"
    why = " ".join(filter(None, (verdict.withdrawn, f"{verdict.reason}." if verdict.reason else "", verdict.remark)))
    return [cell(text) for text in (verdict.handle, before, f"**{verdict.standing}**", why)]


def _parts_told(entry: Mapping[str, Any]) -> str:
    """The intervals of an entry of a history."""
    told_of = []
    for one in entry["parts"]:
        ends = [math.nan if value is None else value for value in one["interval"].values()]
        told_of.append(f"{one['name']} {told(Interval(*ends))}".strip())
    return "; ".join(told_of)


def _part_row(verdict: Verdict, one: Judged) -> list[str]:
    wanted = f"{one.wanted} {one.threshold:g}" if one.decides else f"({one.wanted} {one.threshold:g})"
    return [
        verdict.handle,
        cell(one.name or "effect"),
        told(one.interval),
        wanted,
        "" if one.margin is None else f"{one.margin:.3g}",
        "" if math.isnan(one.p) else f"{one.p:.2g}",
        "" if math.isnan(one.detectable) else f"{one.detectable:.2g}",
        one.judgement,
        str(one.runs),
        one.source,
    ]


def main(arguments: Sequence[str]) -> int:
    """Writes the documents, or with ``--check`` says whether they are current; returns the exit code."""
    verdicts = stored(ROOT / RESULTS)
    pages = {DOCUMENT: document(verdicts), VERDICTS: verdicts_page(verdicts)}
    for path, wanted in pages.items():
        if "--check" in arguments:
            current = path.read_text(encoding="utf-8") if path.exists() else ""
            if current != wanted:
                print(f"{path.relative_to(ROOT)} is out of date: run python -m tiltyard.benchmarks.claims.papers")
                return 1
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
