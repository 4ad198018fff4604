"""The machine computes what the interpreter computes: every function, operator and random draw of declarations."""

from typing import Any

import numpy as np
import pytest

from tiltyard.envs.gui.apps import PROGRAMS
from tiltyard.envs.gui.apps.system import APP_V1 as SYSTEM
from tiltyard.envs.gui.compiled import memory as w
from tiltyard.envs.gui.compiled.collecting import collect
from tiltyard.envs.gui.compiled.expressions import CALLS
from tiltyard.envs.gui.compiled.image import Image, image
from tiltyard.envs.gui.compiled.phones import draw_apps
from tiltyard.envs.gui.compiled.pool import EMPTY
from tiltyard.envs.gui.compiled.reading import Reader, makers
from tiltyard.envs.gui.declare.app import App, View
from tiltyard.envs.gui.declare.functions import FUNCTIONS, RANDOM
from tiltyard.envs.gui.declare.interpreter import Program, compile_apps
from tiltyard.envs.gui.declare.state import Int, List, Table, Text
from tiltyard.envs.gui.declare.widgets import Bar
from tiltyard.envs.gui.stream import Stream

EXPRESSIONS = (
    "n + 2 * n - 1", "-n", "'a' + word", "n == 5 and word != ''", "n < 5 or not n", "word and n", "'' or n", "n <= 5",
    "n > 5", "n >= 5", "'b' in word", "'zz' in word", "n not in (1, 2)", "'yes' if n == 5 else 'no'", "(n, 1)[0]",
    "(n, 1)[-1]", "word[1]", "[n, 'x']", "None", "CODES['blue']",
    "[row.n for row in ROWS if row.name == 'b' if row.n > 2]",
    "(1, 2) + (n,)", "twice(n)", "pair(n, twice(2))", "find(ROWS, 'b').n", "find(ROWS, 'z') == None", "first(words)",
    "first((), 4)", "first((), 4) == 4", "last(words)", "count(words)", "count(word)", "sum((1, 2))", "sum(())",
    "min((2, 1))", "max((2, 1))", "any((0, 1))", "all((0, 1))", "all(())", "range(3)", "range(1, 3)", "range(2, 1)",
    "sorted(('b', 'a', 'ab'))", "[r.n for r in sorted_by(ROWS, 'n')]", "repeated(('b', 'a', 'b', 'b', 'c', 'c'))",
    "toggled(words, 'x')", "toggled((), 'x')", "lower(word)", "trim(' a  b ')", "clean(' a  b ')", "digits('12')",
    "digits('')", "split(' Ab  c ')", "join('-', words)", "cut(word, 2)", "cut(word, 99)", "ending(word, 1)", "text(n)",
    "text(True)", "text(-12)", "two_digits(n)", "two_digits(123)", "money(1205)", "money(7)", "clock(185)", "clock(59)",
    "moved((4, 5, 6, 7), 7, 5)", "moved((4, 5, 6, 7), 4, 6)", "moved((4, 5), 4, 9)",
    "[[a + b for b in (1, 2)] for a in (3, 4)]",
    "sum([a for a in (1, 2)]) + sum([b for b in (3, 4)])", "True == 1", "('a', 2) == ('a', 2)", "'a' < 'b'",
    "pick(words)", "choose(CITIES, 3)", "shuffled((1, 2, 3, 4))", "coin()", "coins(5)", "integer(3, 9)",
    "integers(1, 7, 4)", "people(4)", "new_person(people(3))", "numbers(3)", "streets(3)", "password()", "prices(4)",
)  # fmt: skip


EACH = 16  # expressions of an app
APPS = tuple(f"toy{i}" for i in range(0, len(EXPRESSIONS), EACH))


def toy(key: str) -> App:
    """An app whose fields are drawn by some of the expressions above."""
    first = int(key[3:])
    names = {f"e{first + i}": text for i, text in enumerate(EXPRESSIONS[first : first + EACH])}
    return App(
        key=key, name="Toy", icon="gear", colour=0, record="Toy",
        state={
            "rows": Table("Row", {"name": Text(), "n": Int(default=3)}, derived={"double": "n * 2"}, sort="n"),
            "keys": List(), "labels": List(), "found": List("Row"), **{name: List() for name in names},
        },
        data={
            "n": "5", "word": "'Ab c'", "words": "('x', '', 'y')",
            # The fields of a record are drawn in the order in which they are given.
            "rows": "[Row(n=integer(0, 9), name=pick(words) + text(i)) for i in range(4)]",
            "keys": "[row.double for row in sorted_by(rows, 'double')]",
            "labels": "[row.n for row in rows if row.double > 8]", "found": "[Row(name='d')]", **names,
        },
        screens={"main": View((Bar("Toy"),))},
        constants={"ROWS": ({"name": "a", "n": 1}, {"name": "b", "n": 3}, {"name": "b", "n": 2}),
                   "CODES": {"red": 7, "blue": 9}},
        functions={"twice(a)": "a * 2", "pair(a, b)": "(a, b)"},
    )  # fmt: skip


@pytest.fixture(scope="module")
def machine() -> tuple[dict[str, Program], Image, Any, Any]:
    """The toys; settings and system are there for the status bar."""
    programs = compile_apps((PROGRAMS["settings"].app, *map(toy, APPS), SYSTEM))
    memory, floats = np.zeros(w.WORDS, np.int64), np.zeros(w.FLOATS)
    return programs, image(programs, ()), memory, floats


def drawn(machine: Any, key: int) -> dict[str, Any]:
    """The toys' states as the machine draws them."""
    programs, made, memory, floats = machine
    memory[:] = 0
    memory[w.TOP], memory[w.LIMIT] = w.HEAP, w.HEAP + w.HALF
    memory[w.ROOT_KEY] = key
    draw_apps(memory, floats, made.code, made.pool, (2 << len(APPS)) - 2)
    assert memory[w.FAULT] == 0
    return states(machine)


def states(machine: Any) -> dict[str, Any]:
    programs, made, memory, _ = machine
    reader = Reader(memory, made.pool, made.types, makers(programs))
    return {app: reader.value(memory[w.ROOTS + 1 + i]) for i, app in enumerate(APPS)}


def test_every_expression_has_the_interpreters_value(machine: Any) -> None:
    for key in (3, 4, 5):
        for number, (app, got) in enumerate(drawn(machine, key).items()):
            wanted = machine[0][app].initial(Stream(key).child(2 + number))
            for name in machine[0][app].app.state:
                value, right = getattr(got, name), getattr(wanted, name)
                text = EXPRESSIONS[int(name[1:])] if name[1:].isdigit() else name
                assert (value, type(value)) == (right, type(right)), text


def test_every_function_is_compiled_and_tried() -> None:
    tried = " ".join(EXPRESSIONS)
    elsewhere = {"current", "sorted_by"}  # of which the one needs tasks (test_parity), the other a field's name
    for name in (*FUNCTIONS, *RANDOM):
        assert name in CALLS or name in elsewhere, f"{name} is not compiled"
        assert f"{name}(" in tried or name in elsewhere, f"{name} is not tried"


def test_what_is_compacted_stays_what_it_was(machine: Any) -> None:
    wanted = drawn(machine, 8)
    _, made, memory, _ = machine
    used = int(memory[w.TOP]) - w.HEAP
    for register in (w.GOAL, w.ANSWER, w.WANTED_ANSWER, w.MESSAGE):
        memory[register] = made.pool[EMPTY]
    for _ in range(3):
        collect(memory, made.pool)
        assert states(machine) == wanted
    assert 0 < memory[w.LIVE] < used, "nothing was given back"


def test_a_full_heap_is_a_fault_and_harms_nothing_else(machine: Any) -> None:
    _, made, memory, floats = machine
    drawn(machine, 8)
    memory[w.ROOTS + 1], memory[w.LIMIT] = 0, memory[w.TOP] + w.SLACK + 50
    behind = memory[w.HEAP + w.HALF :].copy()
    draw_apps(memory, floats, made.code, made.pool, 0b010)
    assert memory[w.FAULT] == 1
    assert (memory[w.HEAP + w.HALF :] == behind).all()
