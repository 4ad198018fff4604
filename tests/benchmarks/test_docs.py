import pytest

from tiltyard.benchmarks import docs
from tiltyard.envs.catalogue import Row


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


def test_the_table_says_which_environments_are_live_and_what_is_not_known_of_them():
    row = Row("live/Shop-v0", "shop:Shop", None, "gui", "A real shop", max_episode_steps=9, tier="live")
    _, _, (cells,) = docs.envs([row])
    assert cells == ("live/Shop-v0", "gui, live", "A real shop", "-", "-", "-", "- / -", "9")
    assert {cells[1] for cells in docs.envs()[2]} == {"text", "gui", "driving", "robotics"}
