import pytest

from tiltyard.benchmarks import docs
from tiltyard.envs.catalogue import Row


def test_pages_of_results_are_listed_with_their_commands(tmp_path, monkeypatch):
    monkeypatch.setattr(docs, "DOCS", tmp_path)
    monkeypatch.setattr(docs, "RESULTS", tmp_path / "results")
    for name, text in (
        ("smoke", "# smoke\n\nCommand: `make race`, twice"),
        ("odd", "# Odd ones\n\nCommand: `odd`  \n"),
    ):
        (tmp_path / "results" / name).mkdir(parents=True)
        (tmp_path / "results" / name / "README.md").write_text(text)
    (tmp_path / "results" / "smoke" / "runs" / "one").mkdir(parents=True)
    (tmp_path / "results" / "smoke" / "runs" / "one" / "final.json").touch()
    summary = next(suite.summary for suite in docs.SUITES if suite.name == "smoke")
    assert docs.results()[2] == [
        ("odd", "[Odd ones](results/odd/README.md)", "on the page", "`odd`"),
        ("smoke", f"[{summary}](results/smoke/README.md)", "1 runs", "`make race`"),
    ]
    (tmp_path / "results" / "odd" / "README.md").write_text("# Odd ones\n\nno command")
    with pytest.raises(ValueError, match="has no line that begins with Command"):
        docs.results()


def test_the_table_says_which_environments_are_live_and_what_is_not_known_of_them():
    row = Row("live/Shop-v0", "shop:Shop", None, "gui", "A real shop", max_episode_steps=9, tier="live")
    _, _, (cells,) = docs.envs([row])
    assert cells == ("live/Shop-v0", "gui, live", "A real shop", "-", "-", "-", "- / -", "9")
    assert {cells[1] for cells in docs.envs()[2]} == {"text", "gui", "driving", "robotics"}


def test_pages_are_checked_and_filled_between_their_marks(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(docs, "DOCS", tmp_path)
    monkeypatch.setattr(docs, "ON_PAGES", {"one": ("page.md", lambda: "fresh")})
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- tiltyard:one -->\nstale\n<!-- /tiltyard:one -->\nafter\n")
    assert docs.main(["--check"]) == 1
    assert "docs/page.md is out of date: run make docs" in capsys.readouterr().err
    assert docs.main([]) == 0
    assert page.read_text() == "before\n<!-- tiltyard:one -->\nfresh\n<!-- /tiltyard:one -->\nafter\n"
    assert docs.main(["--check"]) == 0
    page.write_text("no marks")
    with pytest.raises(ValueError, match=r"docs/page.md has no marks <!-- tiltyard:one -->"):
        docs.main(["--check"])


@pytest.mark.parametrize(
    ("table", "row"),
    [
        (docs.agents_page, "| `sac` | driving, robotics | Soft actor-critic"),
        (docs.methods_page, "| `gspo` | GSPO: clipped surrogate"),
        (docs.methods_page, "| `rloo` | Shared parts: `leave_one_out`, `log_likelihood`, `sequence_sum` |"),
        (docs.wrappers_page, "| `ghpo` | guidance of language agents |"),
    ],
    ids=["agents", "methods", "shared parts", "wrappers"],
)
def test_tables_say_what_each_row_is_and_where(table, row):
    (line,) = [line for line in table().splitlines() if line.startswith(row)]
    assert ".py` | " in line
    assert "(https://" in line


def test_components_without_a_paper_are_listed_too():
    rows = {(name, kind) for name, kind, _ in docs.components()[2]}
    assert {("groups", "sampler"), ("debate", "sampler"), ("stored", "data source"), ("values", "provider")} <= rows
    assert all(what for _, _, what in docs.components()[2])


def test_every_row_is_in_its_table():
    for table, rows in (
        (docs.agents_page, docs.AGENTS),
        (docs.methods_page, docs.METHODS),
        (docs.wrappers_page, docs.wrappers()[2]),
    ):
        assert len(table().splitlines()) == len(rows) + 2
