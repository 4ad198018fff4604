"""Long presses, drags, answers and tasks that cannot be done: declared, performed, and found by the expert."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tiltyard.envs.gui.commands import VERBS, drag, long_press, parse
from tiltyard.envs.gui.declare import widgets as w
from tiltyard.envs.gui.declare.app import App, Look, Tasks, View, from_json, to_json
from tiltyard.envs.gui.declare.expressions import DeclarationError
from tiltyard.envs.gui.declare.operations import Ask, Delete, Push, Set, Toggle
from tiltyard.envs.gui.declare.state import Bool, Choice, Table, Text
from tiltyard.envs.gui.ui import HEIGHT, WIDTH, Node

sys.path.insert(0, str(Path(__file__).parent))
from declared import Bench, solved

REMOVE = Ask("Delete?", "{one.name}", (("Keep", ()), ("Delete", Delete("one"))))
DESK = App(
    key="desk", name="Desk", icon="box", colour=0, record="Desk",
    state={"papers": Table("Paper", {"name": Text(), "tray": Choice(("in", "out", "bin")), "seen": Bool(False)})},
    data={"papers": "[Paper(name=name, tray='in') for name in ('bill', 'card', 'deed', 'ebook', 'form', 'gift')]"},
    screens={"main": View((
        w.Bar("Desk"),
        w.ForEach("tray", "TRAYS", (w.Row("{tray}", target="tray"),)),
        w.ForEach("one", "papers", (
            w.Row("{one.name}", Push("paper", "one.name"), "in {one.tray}", disabled="one.name == 'bill'",
                  hold=REMOVE, drop=Set("one.tray", "onto")),
        )),
    )), "paper": View((
        w.Bar("{arg}"), w.Row("Look at it", hold=Toggle("one.seen")),
    ), arg="papers", let={"one": "find(papers, arg)"})},
    constants={"TRAYS": ("in", "out", "bin")},
)  # fmt: skip
BENCH = Bench(DESK)
CHOSEN = {"one": "pick([one for one in papers if one.name != 'bill'])"}


def shown(phone: Any, text: str) -> Node:
    return next(node for node in phone.nodes if node.text == text)


def point(node: Node) -> tuple[float, float]:
    return (node.x0 + node.x1) / 2 / WIDTH, (node.v0 + node.v1) / 2 / HEIGHT


def opened() -> Any:
    phone = BENCH.phone()
    phone.act(parse("open desk", VERBS))
    return phone


def trays(phone: Any) -> dict[str, str]:
    return {one.name: one.tray for one in phone.state["desk"].papers}


def do(phone: Any, action: str) -> None:
    phone.act(parse(action, VERBS))


def test_the_tree_says_what_can_be_held_dragged_and_dropped_on() -> None:
    phone = opened()
    assert shown(phone, "card").line().endswith(" 0.65 hold drag")
    assert shown(phone, "bill").line().endswith("disabled hold drag")
    assert shown(phone, "bin").line().endswith(" drop")


def test_a_long_press_opens_what_is_declared_for_it_and_nothing_elsewhere() -> None:
    phone = opened()
    do(phone, long_press(*point(shown(phone, "bin"))))
    assert phone.dialog is None, "it cannot be held"
    do(phone, long_press(*point(shown(phone, "bill"))))
    assert phone.dialog is None, "it is disabled"
    do(phone, long_press(*point(shown(phone, "card"))))
    assert phone.dialog is not None
    assert phone.dialog.body == "card"
    do(phone, long_press(*point(shown(phone, "Delete"))))
    assert phone.dialog is not None, "a button is tapped, not held"


def test_a_row_is_dropped_on_a_target_alone() -> None:
    phone = opened()
    card, out = point(shown(phone, "card")), point(shown(phone, "out"))
    do(phone, drag(*card, *point(shown(phone, "deed"))))
    do(phone, drag(*out, *card))
    do(phone, drag(*point(shown(phone, "bill")), *out))
    assert set(trays(phone).values()) == {"in"}
    do(phone, drag(*card, *out))
    assert trays(phone) == {**dict.fromkeys(trays(phone), "in"), "card": "out"}


def test_the_expert_holds_and_drags() -> None:
    tasks = (
        Tasks("file", 1, {**CHOSEN, "tray": "pick(('out', 'bin'))"},
              ("Put {one.name} into {tray}",), Set("one.tray", "tray"), ("one.name", "tray")),
        Tasks("shred", 1, CHOSEN, ("Delete {one.name}",), Delete("one"), ("one.name",)),
        Tasks("see", 1, CHOSEN, ("Look at {one.name}",), Set("one.seen", "True"), ("one.name",)),
    )  # fmt: skip
    verbs = set()
    for one in tasks:
        for seed in range(4):
            phone, goal = BENCH.problem(one, seed)
            verbs |= {action.split()[0] for action in solved(phone, goal)}
            assert phone.state == goal.expected, (one.name, seed)
    assert verbs == {"tap", "swipe", "drag", "long_press", "done"}, "from the last row one scrolls to the trays first"


def test_questions_are_answered_after_looking_and_judged_by_words() -> None:
    one = Tasks("ask", 1, {"one": "pick(papers)"}, ("Where is {one.name}?",), (), ("one.name",),
                look=Look("desk", "paper", "one.name"), answer="one.tray + '  Tray'")  # fmt: skip
    phone, goal = BENCH.problem(one, 3)
    assert goal.expected == phone.state
    assert not goal.reached(phone.state, "", "done"), "done at once is not enough"
    actions = solved(phone, goal)
    assert len(actions) > 3
    assert actions[-2:] == ["answer in  Tray", "done"]
    assert goal.reached(phone.state, phone.answer, "done")
    assert goal.reached(phone.state, " IN tray ", "done")
    assert not goal.reached(phone.state, "out tray", "done")
    assert not goal.reached(phone.state, phone.answer, "infeasible")


def test_what_cannot_be_done_must_be_said_to_be_so() -> None:
    one = Tasks("none", 1, {}, ("Put zebra into the bin",), (), (), infeasible=True)
    phone, goal = BENCH.problem(one)
    assert not goal.reached(phone.state, "", "done")
    assert solved(phone, goal) == ["infeasible"]
    assert goal.reached(phone.state, "", "infeasible")


@pytest.mark.parametrize(("wanted", "infeasible"), [((), False), (Set("papers", "()"), True)])
def test_tasks_that_ask_for_nothing_or_contradict_themselves_are_refused(wanted: Any, infeasible: bool) -> None:
    with pytest.raises(DeclarationError, match="tasks odd.*nothing"):
        BENCH.problem(Tasks("odd", 1, {}, ("?",), wanted, (), infeasible=infeasible))


def test_gestures_survive_the_way_to_json() -> None:
    assert from_json(to_json(DESK)) == DESK


def test_nothing_is_dropped_on_itself() -> None:
    rows = w.ForEach("one", "papers", (w.Row("{one.name}", drop=Set("one.tray", "'out'"), target="one.name"),))
    phone = Bench(replace(DESK, screens={"main": View((w.Bar("Desk"), rows))})).phone()
    phone.act(parse("open desk", VERBS))
    card = point(shown(phone, "card"))
    do(phone, drag(*card, *card))
    assert set(trays(phone).values()) == {"in"}
    do(phone, drag(*card, *point(shown(phone, "deed"))))
    assert trays(phone)["card"] == "out"
