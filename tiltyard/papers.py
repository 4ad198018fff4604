"""The registry of papers: one row a paper, read by every catalogue, by ``docs/papers.md`` and by ``tiltyard show``.

The table is ``papers.tsv`` beside this file. A paper is known by its handle, which also names the file, the test and
the claim of what is built from it here. Importing this reads nothing; the table is read on first use.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import unknown

__all__ = ["REFERENCE", "Paper", "cited", "find", "papers"]

REFERENCE = "reference"
"""The ``fit`` of papers that are not on the list this library grows by, but whose methods it is built on or compared
with."""


@dataclass(frozen=True)
class Paper:
    """One row of the table; a question mark in brackets there marks what was not checked against the paper.

    Attributes:
        handle: what users type, and the name of its source file, test and claim.
        name: what its authors call it.
        fit: how well it fits this library: core, yes, stretch, no, or :data:`REFERENCE`.
        slot: the kind of part it is or would be here.
        kind: algorithm, objective, evaluation, ...
        domain: text, control, ...
        title: of the paper.
        year: in which it first appeared; empty where it was not looked up yet.
        link: arXiv or DOI address; empty where it was not looked up yet.
        mechanism: how it works.
        second_reading: what another reading added.
        claim: what the paper says it achieves.
        check: the small experiment that could refute it.
        seeds: how many a first check would take.
    """

    handle: str
    name: str
    fit: str
    slot: str
    kind: str
    domain: str
    title: str
    year: str
    link: str
    mechanism: str
    second_reading: str
    claim: str
    check: str
    seeds: str

    @property
    def cited(self) -> str:
        """``Title (year)``, the year where it is known."""
        return f"{self.title} ({self.year})" if self.year else self.title


@cache
def papers() -> tuple[Paper, ...]:
    """Every paper of the table, in its order."""
    with Path(__file__).with_name("papers.tsv").open(encoding="utf-8", newline="") as table:
        return tuple(Paper(**row) for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def _by_handle() -> dict[str, Paper]:
    return {paper.handle: paper for paper in papers()}


def find(handle: str) -> Paper:
    """The paper called ``handle``.

    Raises:
        KeyError: no such paper; the message holds the nearest handles.
    """
    if handle not in _by_handle():
        raise KeyError(f"{unknown('paper', handle, _by_handle())} (papers are the rows of tiltyard/papers.tsv)")
    return _by_handle()[handle]


def cited(handle: str) -> str:
    """``Title (year)`` of the paper called ``handle``; see :func:`find`."""
    return find(handle).cited
