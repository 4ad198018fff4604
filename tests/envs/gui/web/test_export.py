"""States and problems on their way to the page, and states on their way back."""

import json
import sys
from pathlib import Path

from tiltyard.envs.gui import problems as problems_v0
from tiltyard.envs.gui.apps import PROGRAMS
from tiltyard.envs.gui.commands import Command
from tiltyard.envs.gui.problems_v1 import Split
from tiltyard.envs.gui.web import export
from tiltyard.envs.gui.web.mirror import mirror
from tiltyard.envs.gui.web.problem import programs, to_json, world

sys.path.insert(0, str(Path(__file__).parent))
from parity import problem_v1


def test_a_state_comes_back_equal() -> None:
    for level in (1, 2, 3):
        problem = problems_v0.generate("train", 3, 0, level, problems_v0.templates(level, None))
        sent = json.loads(json.dumps(export.state(problem.goal.expected, PROGRAMS.values())))
        back = export.read_state(sent, PROGRAMS.values())
        assert back == problem.goal.expected
        assert back != problem.state
        assert {key: type(one) for key, one in back.items()} == {key: type(one) for key, one in problem.state.items()}


def test_records_are_lists_of_their_values_in_the_order_of_the_declaration() -> None:
    problem = problems_v0.generate("train", 3, 0, 2, problems_v0.templates(2, ["settings"]))
    sent = export.state(problem.state, PROGRAMS.values())["settings"]
    first = problem.state["settings"].networks[0]
    assert sent[4][0] == [first.name, first.password, first.saved]
    assert sent[0] is problem.state["settings"].airplane


def test_a_problem_says_nothing_of_what_is_wanted() -> None:
    problem = problem_v1(Split("test", "locale"), 1, 1, 2)
    sent = to_json(problem, problem.phone())
    assert sent["world"] == world(problem) == problem.locale != "en"
    assert sent["theme"] == problem.twists.theme
    assert export.read_state(sent["state"], programs("de").values()) != problem.goal.expected
    assert not {"goal", "expected", "answer", "template"} & set(sent)


def test_a_mirror_starts_where_its_phone_does_and_can_be_told_what_was_touched() -> None:
    problem = problem_v1(Split(rows=()), 0, 0, 1)
    phone, made = problem.phone(), mirror(problem.phone())
    assert made.tree() == phone.tree()
    assert isinstance(made, type(phone))
    made.stack.clear()
    made.follow(Command("home"), None)
    made.follow(Command("tap", 0.9, 0.9), [1, -1])
    assert [screen.app for screen in made.stack] == [list(made.apps)[1]]
    made.follow(Command("tap"), None)
    assert (len(made.stack), made.steps) == (1, 3)
