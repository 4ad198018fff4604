"""The interpreter in JavaScript evaluates expressions, and writes numbers, as Python does."""

import json
import math
from typing import Any

import numpy as np
import pytest

from tiltyard.envs.gui.declare.expressions import Scope, compiled
from tiltyard.envs.gui.declare.functions import FUNCTIONS
from tiltyard.envs.gui.web import trees
from tiltyard.envs.gui.web.phone import WebPhone

pytestmark = pytest.mark.web
APP = "{fields: new Set(), constants: {}, programs: {}, functions: {}, records: {}}"
COMPILE = f"import('./language.js').then(({{compile}}) => compile(%s, {APP})({{vars: {{}}}}))"
EXPRESSIONS = (
    "'' or 0 or () or None",
    "1 and 'yes' and ()",
    "not ()",
    "(1, 2) + (3,)",
    "'ab' * 3",
    "'a' + 'b'",
    "7 - 9 * 2",
    "-3",
    "(10, 20, 30)[-1]",
    "'phone'[-2]",
    "True == 1",
    "'1' == 1",
    "(1, (2, 'x')) == (1, (2, 'x'))",
    "None == 0",
    "'ell' in 'hello'",
    "2 in (1, 2)",
    "True in (0, 1)",
    "'B' < 'a'",
    "(1, 'b') < (1, 'c')",
    "1 if '' else 2",
    "[n * n for n in range(2, 6) if n != 3]",
    "[n for n in range(5) if n > 1 if n < 4]",
    "range(3, 1)",
    "sorted(('b', 'a', 'B', '10', '9'))",
    "sorted((10, 9, -1))",
    "repeated(('x', 'y', 'x', 'y', 'z', 'x'))",
    "toggled((1, 2, 3), 2)",
    "toggled((1, 3), 2)",
    "first((), 'none')",
    "first((5, 6))",
    "last('word by word')",
    "count('four')",
    "sum((1, 2, 3))",
    "min((3, 1, 2))",
    "max(('b', 'a'))",
    "any((0, '', 3))",
    "all((1, ''))",
    "moved(('a', 'b', 'c', 'd'), 'd', 'b')",
    "moved(('a', 'b', 'c', 'd'), 'a', 'c')",
    "moved(('a', 'b'), 'x', 'b')",
    "moved(('a', 'a', 'b'), 'a', 'b')",
    "clock(185)",
    "clock(-1)",
    "lower('MiXed 42')",
    "trim('  two words ')",
    "clean('  two   words ')",
    "digits('0123')",
    "digits('')",
    "digits('12a')",
    "digits(' 1')",
    "split(' a  b c ')",
    "join(', ', ('a', '', 'b'))",
    "cut('abcdef', 4)",
    "cut('abcdef', -2)",
    "ending('abcdef', 2)",
    "ending('abcdef', 0)",
    "ending('ab', 5)",
    "text(True)",
    "text(None)",
    "text(-12)",
    "text((1, 'it', \"it's\", None))",
    "text((1,))",
    "two_digits(7)",
    "two_digits(123)",
    "money(5)",
    "money(123456)",
)


def plain(value: Any) -> Any:
    return [plain(one) for one in value] if isinstance(value, tuple) else value


def test_expressions_have_the_same_values(same: WebPhone) -> None:
    scope = Scope("test")
    wrong = []
    for text in EXPRESSIONS:
        here = compiled(text, scope).run({})
        there = same.page.evaluate(COMPILE % json.dumps(trees.expression(text)))
        if plain(here) != there or type(plain(here)) is not type(there):
            wrong.append(f"{text}: {there!r} in JavaScript, {here!r} in Python")
    assert not wrong


def test_every_function_of_the_language_is_there(same: WebPhone) -> None:
    there = same.page.evaluate("import('./language.js').then(({FUNCTIONS}) => Object.keys(FUNCTIONS))")
    assert set(there) == set(FUNCTIONS) - {"current"}  # which stands among the names


def test_what_is_wrong_in_python_is_an_error_in_javascript_too(same: WebPhone) -> None:
    for text in ("(1, 2)[2]", "min(())", "last(())", "'a' < 1"):
        tree = json.dumps(trees.expression(text))
        with pytest.raises(Exception):  # noqa: B017, PT011 - an IndexError here, a ValueError or TypeError there
            compiled(text, Scope("test")).run({})
        assert same.page.evaluate(f"{COMPILE % tree}.then(() => 'a value', () => 'an error')") == "an error", text


def test_numbers_have_two_places_as_in_python(same: WebPhone) -> None:
    rng = np.random.default_rng(0)
    ties = [k / 8 for k in range(-24, 25)] + [2.675, 1.005, 0.285, -0.0, 0.0, -0.001, 0.995, 100.125]
    numbers = [*ties, *rng.uniform(-2, 2, 2000).tolist(), *(rng.integers(0, 192_00, 2000) / 192 / 100).tolist()]
    sent = json.dumps([x if x or math.copysign(1, x) > 0 else "-0" for x in numbers])
    there = same.page.evaluate(f"import('./page.js').then(({{twoPlaces}}) => {sent}.map((x) => twoPlaces(Number(x))))")
    assert there == [f"{x:.2f}" for x in numbers]
