import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tiltyard.envs.gui.apps import DECLARED, ERRANDS, PROGRAMS, SYSTEM, TEMPLATES, notes
from tiltyard.envs.gui.declare.app import App, Look, Tasks, View, from_json, to_json
from tiltyard.envs.gui.declare.expressions import DeclarationError
from tiltyard.envs.gui.declare.interpreter import compile_apps
from tiltyard.envs.gui.declare.operations import Set
from tiltyard.envs.gui.declare.tasks import template
from tiltyard.envs.gui.declare.widgets import Bar
from tiltyard.envs.gui.goals import Template
from tiltyard.envs.gui.problems import generate

sys.path += [str(Path(__file__).parent), str(Path(__file__).parents[1])]
from declared import Bench
from phone_helpers import act, shown

APPS = [*DECLARED, notes.APP]
every_app = pytest.mark.parametrize("app", APPS, ids=lambda app: app.key)


@every_app
def test_an_app_survives_the_way_to_json_and_back(app: App) -> None:
    text = to_json(app)
    assert from_json(text) == app
    assert json.loads(text)["screens"]["main"]["is"] == "View"


def test_tasks_survive_too_and_unknown_parts_are_refused() -> None:
    for _, tasks in ERRANDS:
        assert from_json(to_json(tasks)) == tasks
    with pytest.raises(ValueError, match="no part of a declaration is called 'Widgit'"):
        from_json('{"is": "Widgit"}')


def test_apps_from_json_are_the_same_phone() -> None:
    again = compile_apps([from_json(to_json(app)) for app in (*DECLARED, SYSTEM)])
    for key, program in PROGRAMS.items():
        states = [repr(one.initial(np.random.default_rng(3))) for one in (program, again[key])]
        assert states[0] == states[1]


@every_app
def test_states_are_as_declared(app: App) -> None:
    program = compile_apps([*DECLARED, notes.APP])[app.key]
    for seed in range(10):
        assert not program.place.schemas[app.key].faults(program.initial(np.random.default_rng(seed)))


@pytest.mark.parametrize("made", TEMPLATES, ids=lambda made: made.name)
def test_wanted_states_are_as_declared(made: Template) -> None:
    for seed in range(3):
        problem = generate("train", seed, 0, made.level, [made])
        for key, program in PROGRAMS.items():
            assert not program.place.schemas[key].faults(problem.state[key])
            assert not program.place.schemas[key].faults(problem.goal.expected[key])


def test_texts_are_looked_up_in_one_place() -> None:
    texts = {"Settings": "Einstellungen", "Brightness {brightness * 20}%": "Helligkeit {brightness * 20} %"}
    bench = Bench(notes.APP)
    bench.programs = compile_apps(bench_apps(bench), texts)
    phone = act(bench.phone(), "<Settings>")
    assert phone.page.title == "Einstellungen"
    assert shown(phone, "Display")[0].detail == f"Helligkeit {phone.state['settings'].brightness * 20} %"


def bench_apps(bench: Bench) -> list[App]:
    return [program.app for program in bench.programs.values()]


TOY = replace(notes.APP, key="toy")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"screens": {}}, "app toy: there is no screen 'main'"),
        ({"data": {}}, "app toy, data: the field 'notes' is not drawn"),
        ({"data": {"notes": "nots"}}, "app toy, data, notes: unknown name 'nots'"),
        ({"functions": {"shown": "1"}}, "app toy: 'shown' is no function: write name(parameter, ...)"),
        ({"derived": {"many": "count(nots)"}}, "app toy, derived field many: unknown name 'nots'"),
        ({"needs": "settings.onlin"}, "app toy, instead: unknown name 'settings'"),
        (
            {"screens": {"main": View((Bar("a"),), arg="nots")}},
            "screen main: a screen is about a table, text, or nothing",
        ),
        ({"screens": {"main": View((Bar("a"),), let={"one": "nots"})}}, "screen main, one: unknown name 'nots'"),
        (
            {"screens": {"main": View((Bar("a"),), drafts={"one": "nots"})}},
            "screen main, draft one: unknown name 'nots'",
        ),
        (
            {"screens": {"main": View((Bar("a"),), enter=Set("n", "1"))}},
            "screen main, enter, Set: unknown field of toy 'n'",
        ),
    ],
)
def test_apps_that_make_no_sense_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        compile_apps([replace(TOY, **changes)])  # type: ignore[arg-type]
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"draws": {"one": "pick(contact)"}},
            "app contacts, tasks t, one: unknown name 'contact'; did you mean 'contacts'",
        ),
        ({"draws": {"one": ("{x}",)}}, "tasks t, one: unknown name 'x'"),
        ({"wordings": ("{one.nam}",)}, "tasks t, wordings: unknown field of Contact 'nam'; did you mean 'name'"),
        ({"wanted": Set("one.nam", "1")}, "tasks t, wanted, Set: unknown field of Contact 'nam'"),
        ({"wanted": Set("one.name", "pick(('a', 'b'))")}, "unknown function 'pick'"),
        ({"prepare": Set("lg", "()")}, "tasks t, prepare, Set: unknown field of contacts 'lg'; did you mean 'log'"),
        ({"asked": ("two",)}, "tasks t, asked: unknown name 'two'"),
        ({"apps": ("contacts", "mail")}, "tasks t: there is no app 'mail'"),
        ({"look": Look("contacts", "contct")}, "tasks t, look: 'contacts' has no screen 'contct'"),
        ({"look": Look("contacts", "contact", "two")}, "tasks t, look: unknown name 'two'"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(changes: dict[str, object], said: str) -> None:
    fine = Tasks("t", 1, {"one": "pick(contacts)"}, ("Star {one.name}",), Set("one.favourite", "True"), ("one.name",))
    template(fine, PROGRAMS["contacts"])
    with pytest.raises(DeclarationError) as caught:
        template(replace(fine, **changes), PROGRAMS["contacts"])  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_drawn_words_and_what_is_asked_worked_out_by_hand() -> None:
    draws: dict[str, str | tuple[str, ...]] = {"one": "last(contacts)", "how": ("now",)}
    star, asked = Set("one.favourite", "True"), ("one.name", "count(log)")
    tasks = Tasks("t", 2, draws, ("Star {one.name} {how}",), star, asked, prepare=Set("log", "()"))
    state = {key: program.initial(np.random.default_rng(0)) for key, program in PROGRAMS.items()}
    name = state["contacts"].contacts[-1].name
    goal = template(tasks, PROGRAMS["contacts"]).make(np.random.default_rng(0), state)
    assert (goal.text, goal.asked, state["contacts"].log) == (f"Star {name} now", (name, 0), ())
    assert goal.expected["contacts"].contacts[-1].favourite
    assert not state["contacts"].contacts[-1].favourite
