from typing import Any

import numpy as np
import pytest

from tiltyard.envs.gui.declare.expressions import DeclarationError, Name, Scope, compiled, constant, parse, reads_drafts
from tiltyard.envs.gui.declare.functions import FUNCTIONS, INT, RANDOM, TABLES, TEXT, Kind, listed
from tiltyard.envs.gui.ui import Screen

ROWS, KIND = constant(({"name": "a", "n": 1}, {"name": "b", "n": 3}, {"name": "b", "n": 2}))
MADE, MAPPING = constant({"red": 7, "blue": 9})
SCOPE = Scope(
    "app toy, screen main",
    "toy",
    {
        "rows": Name(KIND, lambda env: ROWS),
        "codes": Name(MAPPING, lambda env: MADE),
        "n": Name(INT, lambda env: 5),
        "word": Name(TEXT, lambda env: "Ab c"),
        "words": Name(listed(TEXT), lambda env: ("x", "", "y")),
    },
    {"typed": TEXT},
    {"twice(a)": (), "twice": (("a",), "a * 2"), "pair": (("a", "b"), "(a, b)")},
)


def value(text: str, **known: Any) -> Any:
    screen = Screen("toy", drafts={"typed": "hello"})
    return compiled(text, SCOPE).run({"screen": screen, **known})


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("n + 2 * n - 1", 14), ("-n", -5), ("'a' + word", "aAb c"), ("n == 5 and word != ''", True),
        ("n < 5 or not n", False),
        ("n <= 5", True), ("n > 5", False), ("n >= 5", True), ("'b' in word", True), ("n not in (1, 2)", True),
        ("'yes' if n == 5 else 'no'", "yes"), ("(n, 1)[0]", 5), ("[n, 'x']", (5, "x")), ("None", None),
        ("codes['blue']", 9),
        ("[row.n for row in rows if row.name == 'b' if row.n > 2]", (3,)), ("draft.typed", "hello"), ("twice(n)", 10),
        ("pair(n, twice(2))", (5, 4)), ("find(rows, 'b').n", 3), ("find(rows, 'z') == None", True),
        ("first(words)", "x"), ("first((), 4)", 4), ("last(words)", "y"), ("count(words)", 3), ("sum((1, 2))", 3),
        ("min((2, 1))", 1), ("max((2, 1))", 2), ("any((0, 1))", True), ("all((0, 1))", False), ("range(3)", (0, 1, 2)),
        ("range(1, 3)", (1, 2)), ("sorted(('b', 'a'))", ("a", "b")), ("[r.n for r in sorted_by(rows, 'n')]", (1, 2, 3)),
        ("repeated(('b', 'a', 'b'))", ("b",)), ("toggled(words, 'x')", ("", "y")), ("toggled((), 'x')", ("x",)),
        ("lower(word)", "ab c"), ("trim(' a  b ')", "a  b"), ("clean(' a  b ')", "a b"), ("digits('12')", True),
        ("split(word)", ("Ab", "c")), ("join('-', words)", "x-y"), ("cut(word, 2)", "Ab"), ("ending(word, 1)", "c"),
        ("text(n)", "5"), ("two_digits(n)", "05"), ("money(1205)", "$12.05"), ("clock(185)", "3:05"),
        ("moved((4, 5, 6, 7), 7, 5)", (4, 7, 5, 6)), ("moved((4, 5, 6, 7), 4, 6)", (5, 6, 4, 7)),
        ("moved((4, 5), 4, 9)", (4, 5)),
    ],
)  # fmt: skip
def test_expressions_have_the_values_worked_out_by_hand(text: str, result: Any) -> None:
    assert value(text) == result


def test_every_function_is_tried_above() -> None:
    here = test_expressions_have_the_values_worked_out_by_hand.pytestmark[0].args[1]  # type: ignore[attr-defined]
    tried = " ".join(text for text, _ in here)
    assert [name for name in FUNCTIONS if f"{name}(" not in tried] == ["current"], "see test_operations"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n +", "app toy, screen main: 'n +' is no expression"),
        ("wrod", "unknown name 'wrod'; did you mean 'word'"),
        ("[row.nam for row in rows]", "unknown field of entry 'nam'; did you mean 'name'"),
        ("n.name", "int has no field 'name'"),
        ("draft.tpyed", "unknown draft 'tpyed'; did you mean 'typed'"),
        ("lwer(word)", "unknown function 'lwer'; did you mean 'lower'"),
        ("lower()", "lower takes 1 to 1 arguments, got 0"),
        ("twice(1, 2)", "twice takes 1 arguments, got 2"),
        ("lower(text='a')", "lower takes no keywords"),
        ("word.lower()", "only functions of the language can be called"),
        ("n / 2", "Div is not part of the language"),
        ("~n", "Invert is not part of the language"),
        ("1 < n < 3", "comparisons have two sides"),
        ("n is None", "comparisons have two sides"),
        ("1.5", "1.5 is not part of the language"),
        ("lambda: 1", "Lambda is not part of the language"),
        ("[a for a in rows for b in rows]", "one loop over one name"),
        ("find(words, 'a')", "find looks for a row of a table"),
        ("coin()", "unknown function 'coin'"),
        ("NETWORKS", "unknown name 'NETWORKS'"),
        ("__import__('os')", "unknown function '__import__'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence_that_says_where(text: str, said: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        compiled(text, SCOPE)
    assert said in str(caught.value)
    assert str(caught.value).startswith("app toy, screen main: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["pick(words)", "choose(NETWORKS, 3)", "shuffled(words)", "coin()", "coins(2)", "integer(1, 9)",
     "integers(1, 9, 3)",
     "people(2)", "new_person(('Ann Lee',))", "numbers(2)", "streets(1)", "password()", "prices(3)"],
)  # fmt: skip
def test_draws_depend_on_the_generator_alone(text: str) -> None:
    scope = Scope("app toy", "toy", SCOPE.names, random=True)
    run = compiled(text, scope).run
    one, same = (run({"rng": np.random.default_rng(4)}) for _ in range(2))
    assert one == same
    many = {repr(run({"rng": np.random.default_rng(seed)})) for seed in range(30)}
    assert len(many) > 1
    assert "array" not in "".join(many), "plain values, which JSON knows"


def test_every_random_function_is_tried_above() -> None:
    tried = " ".join(test_draws_depend_on_the_generator_alone.pytestmark[0].args[1])  # type: ignore[attr-defined]
    assert not [name for name in RANDOM if f"{name}(" not in tried]
    assert set(TABLES) >= {"NETWORKS", "CITIES"}


def test_kinds_follow_through_rows_and_functions() -> None:
    assert compiled("find(rows, 'a')", SCOPE).kind == Kind("entry")
    assert compiled("[row.n for row in rows]", SCOPE).kind == listed(INT)
    assert compiled("first([row.name for row in rows])", SCOPE).kind == TEXT


def test_expressions_say_whether_they_read_drafts() -> None:
    assert reads_drafts(parse("n == draft.typed"))
    assert not reads_drafts(parse("n == 1"))
