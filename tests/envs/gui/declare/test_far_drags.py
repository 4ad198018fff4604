"""Drags whose two ends are too far apart for one screen: the expert takes another way."""

import sys
from pathlib import Path

import pytest

from tiltyard.envs.gui.declare import widgets as w
from tiltyard.envs.gui.declare.app import App, Tasks, View
from tiltyard.envs.gui.declare.operations import Pop, Push, Set
from tiltyard.envs.gui.declare.state import Table, Text
from tiltyard.envs.gui.ui import Screen

sys.path.insert(0, str(Path(__file__).parent))
from declared import Bench, solved

SHELF = App(
    key="shelf", name="Shelf", icon="box", colour=0, record="Shelf",
    state={"books": Table("Book", {"name": Text(), "place": Text()})},
    data={"books": "[Book(name='book ' + two_digits(i), place='desk') for i in range(20)]"},
    screens={"main": View((
        w.Bar("Shelf"),
        w.ForEach("place", "PLACES", (w.Row("{place}", target="place"),)),
        w.ForEach("one", "books", (w.Row("{one.name}", Push("book", "one.name"), drop=Set("one.place", "onto")),)),
        w.Row("attic", target="'attic'"),
    )), "book": View((
        w.Bar("{arg}"), w.ForEach("place", "PLACES + ('attic',)", (
            w.Radio("{place}", "one.place == place", (Set("one.place", "place"), Pop())),)),
    ), arg="books", let={"one": "find(books, arg)"})},
    constants={"PLACES": ("desk", "board")},
)  # fmt: skip
BENCH = Bench(SHELF)


@pytest.mark.parametrize(
    ("book", "place", "verbs"),
    [
        ("book 02", "board", ["tap", "drag", "done"]),  # both on top
        ("book 17", "attic", ["tap", "swipe", "swipe", "drag", "done"]),  # both at the end
        ("book 12", "board", ["tap", "swipe", "tap", "tap", "done"]),
        ("book 00", "attic", ["tap", "tap", "tap", "done"]),
    ],
)
def test_what_is_too_far_to_be_dragged_is_moved_on_its_own_page(book: str, place: str, verbs: list[str]) -> None:
    one = Tasks("move", 1, {"one": f"find(books, {book!r})"}, ("Move it",), Set("one.place", repr(place)), ())
    phone, goal = BENCH.problem(one)
    assert [action.split()[0] for action in solved(phone, goal)] == verbs
    assert phone.state == goal.expected


def test_a_screen_can_be_laid_out_without_being_open() -> None:
    phone = BENCH.phone()
    page = phone.page_of(Screen("shelf", "book", "book 03"))
    assert page.title == "book 03"
    assert [node.checked for node in page.visible if node.role == "radio"] == [True, False, False]
    assert phone.stack == []
    assert phone.page.title == ""
