import csv
from dataclasses import replace
from pathlib import Path

import pytest

from tiltyard import papers as registry
from tiltyard.benchmarks.claims import papers
from tiltyard.benchmarks.claims.harness import Verdict
from tiltyard.benchmarks.verdicts import RULE, Part, Sample, judge

LISTED = [paper for paper in registry.papers() if paper.fit != registry.REFERENCE]
VERDICT = Verdict(
    handle="rliable",
    judgement="contradicted",
    reason="",
    sentence="a | b",
    effect="ratio",
    remark="few | seeds",
    parts=tuple(judge({"over x": Part(Sample(0.5, 0.125, 9, 10), threshold=1.0)}).values()),
    rule=RULE,
    date="2026-11-23",
    seeds="0-9",
    definition="",
    command="tiltyard claim rliable",
    versions={},
    commit="",
    hardware="",
    seconds=1.0,
    details={},
    history=(
        {
            "rule": "another",
            "judgement": "reproduced",
            "withdrawn": "why",
            "parts": [{"name": "", "interval": {"estimate": 2.0, "low": 1.5, "high": 2.5}}],
        },
    ),
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
    assert "Claims put to an experiment: 1 (1 contradicted)" in text
    assert (
        "| ratio: over x: 0.50 [0.22, 0.78], contradicted | **[contradicted](results/claims/rliable.json)** |" in text
    )
    assert "a \\| b" in text
    assert "`tiltyard claim rliable`" in text
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 302
    assert all(row.replace("\\|", "").count("|") == 7 for row in rows)


def test_a_withdrawn_verdict_is_shown_with_its_reason_and_not_counted_as_what_it_was() -> None:
    text = papers.document({"rliable": replace(VERDICT, withdrawn="too few | seeds")})
    assert "Claims put to an experiment: 1 (1 withdrawn)" in text
    reason = "too few \\| seeds (before: contradicted)"
    assert f"**[withdrawn](results/claims/rliable.json)**: {reason} |" in text


def test_the_page_shows_verdicts_before_and_now_and_every_part() -> None:
    text = papers.verdicts_page({"rliable": VERDICT})
    assert "| rliable | reproduced, withdrawn (2.0 [1.5, 2.5]) | **contradicted** | few \\| seeds |" in text
    assert "| rliable | over x | 0.50 [0.22, 0.78] | above 1 |  | 0.0031 | 0.39 | contradicted | 10 | runs |" in text
    assert "## Replications" not in text
    again = {"seeds": "100-109", "date": "2026-12-01", "judgement": "undecided", "parts": VERDICT.history[0]["parts"]}
    text = papers.verdicts_page({"rliable": replace(VERDICT, replications=(again,))})
    assert "| rliable | 100-109 | 2026-12-01 | undecided | 2.0 [1.5, 2.5] |" in text


def test_check_says_when_the_document_is_out_of_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(papers, "ROOT", tmp_path)
    monkeypatch.setattr(papers, "DOCUMENT", tmp_path / "docs" / "papers.md")
    monkeypatch.setattr(papers, "VERDICTS", tmp_path / "docs" / "results" / "claims" / "README.md")
    assert papers.main(["--check"]) == 1
    assert "out of date: run python -m tiltyard.benchmarks.claims.papers" in capsys.readouterr().out
    assert papers.main([]) == 0
    assert papers.main(["--check"]) == 0
    papers.DOCUMENT.write_text(papers.DOCUMENT.read_text().replace("302 papers", "303 papers"))
    assert papers.main(["--check"]) == 1
