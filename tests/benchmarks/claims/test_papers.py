import csv
from dataclasses import replace
from pathlib import Path

import pytest

from tiltyard import papers as registry
from tiltyard.benchmarks.claims import papers
from tiltyard.benchmarks.claims.harness import Verdict
from tiltyard.benchmarks.statistics import Interval

LISTED = [paper for paper in registry.papers() if paper.fit != registry.REFERENCE]
VERDICT = Verdict(
    handle="rliable",
    judgement="not reproduced at this scale",
    sentence="a | b",
    effect="ratio",
    threshold=1.0,
    interval=Interval(0.5, 0.25, 0.75),
    command="tiltyard claim rliable",
    versions={},
    commit="",
    hardware="",
    seconds=1.0,
    details={},
)


def test_the_table_is_read_whole() -> None:
    found = registry.papers()
    lines = Path(registry.__file__).with_name("papers.tsv").read_text(encoding="utf-8").splitlines()
    assert len(found) == len(lines) - 1 == len({paper.handle for paper in found})
    assert len(LISTED) == 302
    assert registry.find("rliable").title == "Deep Reinforcement Learning at the Edge of the Statistical Precipice"
    assert all(paper.handle and paper.title and paper.fit and paper.link for paper in found)
    assert next(csv.reader([lines[0]], delimiter="\t")) == list(registry.Paper.__dataclass_fields__)


def test_unknown_papers_get_the_nearest() -> None:
    with pytest.raises(KeyError, match="did you mean 'adastop'"):
        registry.find("adastopp")


def test_built_parts_come_from_the_catalogues() -> None:
    built = papers.built()
    assert "agent `dsac-t`" in built["dsac-t"]
    assert {"agent `grpo`", "method `grpo`"} <= set(built["grpo"])
    assert built["adastop"] == ("statistic `adastop`",)
    assert "adastop-of-nobody" not in built


def test_the_document_has_a_row_for_every_paper_and_shows_nulls() -> None:
    text = papers.document({"rliable": VERDICT})
    for paper in LISTED:
        assert text.count(f"| `{paper.handle}` |") == 1
    assert "Claims put to an experiment: 1 (1 not reproduced at this scale)" in text
    assert "[not reproduced at this scale](results/claims/rliable.json): 0.50 [0.25, 0.75]" in text
    assert "a \\| b" in text
    assert "`tiltyard claim rliable`" in text
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 302
    assert all(row.replace("\\|", "").count("|") == 7 for row in rows)


def test_a_withdrawn_verdict_is_shown_with_its_reason_and_not_counted_as_what_it_was() -> None:
    text = papers.document({"rliable": replace(VERDICT, withdrawn="too few | seeds")})
    assert "Claims put to an experiment: 1 (1 withdrawn)" in text
    reason = "too few \\| seeds (before: not reproduced at this scale)"
    assert f"**0.50 [0.25, 0.75]** | [withdrawn](results/claims/rliable.json): {reason} |" in text
    assert "| [withdrawn](results/claims/rliable.json): 0.50 [0.25, 0.75] |" in text


def test_check_says_when_the_document_is_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(papers, "ROOT", tmp_path)
    monkeypatch.setattr(papers, "DOCUMENT", tmp_path / "docs" / "papers.md")
    assert papers.main(["--check"]) == 1
    assert "out of date: run python -m tiltyard.benchmarks.claims.papers" in capsys.readouterr().out
    assert papers.main([]) == 0
    assert papers.main(["--check"]) == 0
    papers.DOCUMENT.write_text(papers.DOCUMENT.read_text().replace("302 papers", "303 papers"))
    assert papers.main(["--check"]) == 1
