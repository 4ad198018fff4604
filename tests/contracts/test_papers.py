"""Every handle that is built has its registry row, its file, its test, and its place in docs/papers.md."""

from pathlib import Path

import pytest

from tiltyard.benchmarks.claims.harness import claims
from tiltyard.benchmarks.index import ROOT, Part, describe, parts
from tiltyard.papers import REFERENCE, find

DOCUMENT = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")

VARIANTS = {
    "stream-q": "stream_x",
    "drpo-decoupled": "disco",
    "hiql": "ota",
    "mbpo": "vagram",
    "decision-transformer": "lamo",
    "dreamer": "repo",
    "recoil": "recoil",
    "filtered-cloning": "cloning",
    "serl": "sac",
    "spo": "baseline",
    "success-classifier": "classifier_reward",
    "w-reinforce-nsr": "signed_success",
    "remax": "baseline",
    "dpo-norm": "rpo",
}
"""Handles of listed papers that are rows alone, or parts of a paper of another handle, and whose file they use."""

each_part = pytest.mark.parametrize("part", parts(), ids=lambda part: f"{part.kind}-{part.handle}")


@each_part
def test_a_part_has_a_registry_row_with_year_and_link(part: Part) -> None:
    paper = find(part.paper)
    assert paper.year.isdigit(), f"{part.paper} has no year in papers.tsv"
    assert paper.link.startswith("https://"), f"{part.paper} has no link in papers.tsv"


@each_part
def test_a_part_of_a_listed_paper_has_a_file_of_its_name_and_a_test(part: Part) -> None:
    assert all((ROOT / source).is_file() for source in part.sources)
    assert part.tests, f"none of {part.sources} has a test that mirrors it"
    if find(part.paper).fit == REFERENCE or part.kind not in ("agent", "method", "curriculum", "guidance", "reward"):
        return
    own = part.handle.replace("-", "_")
    stems = {Path(source).stem for source in part.sources}
    assert {own, VARIANTS.get(part.handle, own)} & stems, f"{part.handle}: no file of this name"


@each_part
def test_a_part_is_in_the_document_of_papers_and_can_be_shown(part: Part) -> None:
    assert f"{part.kind} `{part.handle}`" in DOCUMENT
    shown = describe(part.handle)
    assert find(part.paper).title in shown
    assert part.sources[0] in shown
    assert "  what " in shown


@pytest.mark.parametrize("handle", claims())
def test_a_claim_is_of_a_registered_paper_and_shows_its_verdict(handle: str) -> None:
    assert f"tiltyard claim {handle}" in describe(handle)
