import sys
from pathlib import Path

import pytest

from tiltyard.envs.gui.apps import notes
from tiltyard.envs.gui.declare.app import Tasks

sys.path += [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "declare")]
from declared import Bench, solved
from phone_helpers import act, shown

BENCH = Bench(notes.APP)


@pytest.mark.parametrize("tasks", notes.TASKS, ids=lambda tasks: tasks.name)
def test_the_expert_of_all_apps_solves_every_task_of_a_new_one(tasks: Tasks) -> None:
    texts = set()
    for seed in range(25):
        phone, goal = BENCH.problem(tasks, seed)
        assert phone.state != goal.expected, "nothing is asked"
        actions = solved(phone, goal)
        assert phone.state == goal.expected, goal.text
        assert actions[-1] == "done"
        assert len(actions) <= 20
        texts.add(goal.text)
    assert len(texts) > 10


def test_notes_by_hand() -> None:
    phone = BENCH.phone()
    act(phone, "<Notes>", "<New note>", "<Save note>")
    assert shown(phone, "Enter a title")
    act(phone, "<Title>", "type  Aa  b ", "enter")
    first = phone.state["notes"].notes[0]
    assert (first.title, first.text, first.folder, first.pinned, first.binned) == ("Aa b", "", "Home", False, False)
    act(phone, "<Aa b>", "<Pinned>", "<Work>", "<Edit>", "<Ideas>", "<Clear Title>", "<Title>", "type Zz", "enter")
    assert phone.where == "Notes: Zz"
    last = phone.state["notes"].notes[-1]
    assert (last.title, last.folder, last.pinned) == ("Zz", "Ideas", True)
    act(phone, "back", "<Unpin all>")
    assert not any(note.pinned for note in phone.state["notes"].notes)
    before = len(phone.state["notes"].notes)
    act(phone, "<Bin>", "<Empty bin>", "<Keep>", "<Empty bin>", "<Empty>")
    assert len(phone.state["notes"].notes) == before - 2
    assert shown(phone, "Empty bin")[0].disabled
