import pytest

from tiltyard.benchmarks import docs


def test_pages_of_results_are_listed_with_their_commands(tmp_path, monkeypatch):
    monkeypatch.setattr(docs, "README", tmp_path / "README.md")
    monkeypatch.setattr(docs, "RESULTS", tmp_path / "results")
    for name, text in (
        ("smoke", "# smoke\n\nCommand: `make race`, twice"),
        ("odd", "# Odd ones\n\nCommand: `odd`  \n"),
    ):
        (tmp_path / "results" / name).mkdir(parents=True)
        (tmp_path / "results" / name / "README.md").write_text(text)
    summary = next(suite.summary for suite in docs.SUITES if suite.name == "smoke")
    assert docs.results()[2] == [
        ("odd", "[Odd ones](results/odd/README.md)", "`odd`"),
        ("smoke", f"[{summary}](results/smoke/README.md)", "`make race`"),
    ]
    (tmp_path / "results" / "odd" / "README.md").write_text("# Odd ones\n\nno command")
    with pytest.raises(ValueError, match="has no line that begins with Command"):
        docs.results()
