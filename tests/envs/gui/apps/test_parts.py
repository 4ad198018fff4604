"""Parts of declarations by hand, and how long an app's file may be."""

from pathlib import Path
from types import ModuleType

import pytest

from tiltyard.envs.gui.apps import declared, parts
from tiltyard.envs.gui.declare.operations import Ask, Delete, If, Insert, Pop, Require, Set
from tiltyard.envs.gui.declare.widgets import Bar, Empty, Paragraph, Tabs, When

MOST = 120
"""Lines of an app's file."""
LONGER = {"settings": 204, "shop": 224}
"""The two that were ported from Phone-v0 with all their tasks: they may grow no further."""
MODULES = [module for name, module in vars(declared).items() if isinstance(module, ModuleType)]


def test_every_app_is_a_file_of_its_own() -> None:
    assert [module.APP for module in MODULES] == sorted(declared.DECLARED_V1, key=lambda app: app.key)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.APP.key)
def test_an_app_is_one_file_of_at_most_120_lines(module: ModuleType) -> None:
    lines = Path(str(module.__file__)).read_text().splitlines()
    assert len(lines) <= LONGER.get(module.APP.key, MOST)
    assert max(map(len, lines)) <= MOST


def test_a_row_that_may_be_gone() -> None:
    view = parts.about("Alarm", "alarms", "clock", Paragraph("a"), Paragraph("b"))
    assert view.widgets == (
        When("one == None", (Bar("Alarm"), Empty("This alarm was deleted", "clock")), (Paragraph("a"), Paragraph("b"))),
    )
    assert (view.arg, view.let) == ("alarms", {"one": "find(alarms, arg)"})


def test_a_form_saves_into_the_old_row_or_makes_a_new_one() -> None:
    assert parts.saved("timers", "Timer", {"name": "clean(draft.name)", "minutes": "draft.minutes"}) == If(
        "old == None",
        (Insert("timers", "Timer(name=clean(draft.name), minutes=draft.minutes)"), Pop()),
        (Set("old.name", "clean(draft.name)"), Set("old.minutes", "draft.minutes"), Pop(arg="old.name")),
    )
    assert parts.unused("timers", "Taken")[1] == Require("find(timers, clean(draft.name)) in (None, old)", "Taken")
    assert parts.before("days", "()") == "old.days if old != None else ()"


def test_tabs_show_the_first_and_what_stands_above_all() -> None:
    view = parts.tabbed(Bar("x"), {"One": (Paragraph("1"),), "Two": (Paragraph("2"),)}, Paragraph("all"))
    assert view.widgets == (
        *(Bar("x"), Tabs("tab", ("One", "Two")), Paragraph("all")),
        When("draft.tab == 'One'", (Paragraph("1"),)),
        When("draft.tab == 'Two'", (Paragraph("2"),)),
    )
    assert view.drafts == {"tab": "'One'"}


def test_expressions_and_tables() -> None:
    assert parts.searched("a", "b") == "lower(trim(draft.search)) in lower(a) or lower(trim(draft.search)) in lower(b)"
    assert parts.record("Page", "title site") == "Page(title=title, site=site)"
    assert parts.worded({"dark": "dark theme"}) == ({"field": "dark", "words": "dark theme"},)
    assert parts.confirm("Empty?", "All go.", "Empty", Delete("bin"), "Keep") == Ask(
        "Empty?", "All go.", (("Keep", ()), ("Empty", Delete("bin")))
    )
    with pytest.raises(ValueError, match="zip"):
        parts.table("site most", ("Atlas",))
