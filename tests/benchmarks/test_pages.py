import ast
from pathlib import Path

import jinja2
import pytest

from tiltyard.benchmarks import pages

ROOT = Path(__file__).parents[2]


@pytest.fixture
def templates(tmp_path, monkeypatch):
    """A folder of templates of the test's own."""
    monkeypatch.setattr(pages, "TEMPLATES", tmp_path)
    pages._environment.cache_clear()
    yield tmp_path
    pages._environment.cache_clear()


def test_a_name_that_is_not_given_is_an_error(templates):
    (templates / "one.md.jinja").write_text("# {{ title }}\n")
    assert pages.render("one.md.jinja", title="a < b") == "# a < b\n"
    with pytest.raises(jinja2.UndefinedError, match="'title' is undefined"):
        pages.render("one.md.jinja", name="a")
    with pytest.raises(jinja2.TemplateNotFound):
        pages.render("two.md.jinja")


def test_only_html_is_escaped_as_html(templates):
    for name in ("one.html", "one.md.jinja"):
        (templates / name).write_text("{{ text }}")
    assert pages.render("one.html", text="<b>&") == "&lt;b&gt;&amp;"
    assert pages.render("one.md.jinja", text="<b>&") == "<b>&"


def test_a_table_has_a_row_a_list(templates):
    (templates / "table.md.jinja").write_text((Path(pages.__file__).parent / "templates/table.md.jinja").read_text())
    (templates / "one.md.jinja").write_text(
        '{% from "table.md.jinja" import table -%}\nbefore\n\n{{ table(heads, rows) }}\n\nafter\n'
    )
    text = pages.render("one.md.jinja", heads=["a", ""], rows=[["1", "x"], ["2", ""]])
    assert text == "before\n\n| a |  |\n|---|---|\n| 1 | x |\n| 2 |  |\n\nafter\n"
    assert "|---|---|\n\nafter" in pages.render("one.md.jinja", heads=["a", ""], rows=[])


def test_filters_by_hand():
    assert pages.plain("a|b `c`\n<d>[e](f)") == "a\\|b \\`c\\`\\\\n&lt;d>[e]\\(f)"
    assert pages.cell("`a|b`\n[c](d)") == "`a\\|b` [c](d)"
    assert (pages.link("a", "b"), pages.link("a", ""), pages.code("a")) == ("[a](b)", "a", "`a`")
    assert pages.formatted(0.125, ".1%") == "12.5%"
    assert pages.bracketed([0.5, 0.25, 0.75], ".2f") == "0.50 [0.25, 0.75]"
    assert pages.bracketed([0.5], ".3f") == "0.500"
    assert pages.ranged([0.5, 0.25, 0.75], ".0%") == "50% (25% to 75%)"


def test_every_template_is_read_and_used():
    kinds = (".py", ".jinja", ".html")
    code = {path: path.read_text() for path in (ROOT / "benchmarks").rglob("*") if path.suffix in kinds}
    for template in (path for path in pages.TEMPLATES.iterdir() if path.is_file()):
        pages._environment().get_template(template.name)
        assert [path for path, text in code.items() if f'"{template.name}"' in text and path != template], template.name


def by_hand(source: str) -> list[int]:
    """Lines of f-strings that begin a row of a table, and of joins of its cells."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr | ast.Attribute)]
    firsts = [(node, node.values[0] if isinstance(node, ast.JoinedStr) else node.value) for node in nodes]
    texts = [(node.lineno, first.value) for node, first in firsts if isinstance(first, ast.Constant)]
    return [line for line, text in texts if isinstance(text, str) and text.startswith(("| ", " | ", "|--"))]


def test_no_row_of_a_table_is_written_by_hand():
    assert by_hand('a = f"| {b} |"\nc = " | ".join(d)\ne = f"a | {b}"\n"|".join(d)') == [1, 2]
    found = {str(path.relative_to(ROOT)): by_hand(path.read_text()) for path in (ROOT / "benchmarks").rglob("*.py")}
    assert {path for path, lines in found.items() if lines} == {"benchmarks/index.py"}  # which looks for rows
