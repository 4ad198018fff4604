"""Expressions and texts as trees, and declarations in which nothing is left to be parsed."""

import ast
import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from tiltyard.envs.gui.apps import PROGRAMS
from tiltyard.envs.gui.declare.expressions import DeclarationError
from tiltyard.envs.gui.declare.operations import OPERATIONS
from tiltyard.envs.gui.declare.widgets import WIDGETS, Action
from tiltyard.envs.gui.web import export, trees


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("draft.name", ["draft", "name"]),
        ("one.name[0]", ["at", ["field", ["name", "one"], "name"], ["const", 0]]),
        ("not a and -1 < b", ["and", ["not", ["name", "a"]], ["<", ["neg", ["const", 1]], ["name", "b"]]]),
        ("x if x not in (1, None) else 'y'",
         ["if", ["not in", ["name", "x"], ["tuple", ["const", 1], ["const", None]]], ["name", "x"], ["const", "y"]]),
        ("[i for i in rows if i.on if i.off]",
         ["for", "i", ["name", "rows"],
          ["and", ["field", ["name", "i"], "on"], ["field", ["name", "i"], "off"]], ["name", "i"]]),
        ("Line(product=p, size='')", ["new", "Line", {"product": ["name", "p"], "size": ["const", ""]}]),
        ("total()", ["call", "total"]),
    ],
)  # fmt: skip
def test_an_expression_is_a_tree(text: str, tree: Any) -> None:
    assert trees.expression(text) == tree


def test_a_text_is_translated_before_it_is_taken_apart() -> None:
    assert trees.words("{n} left", {"{n} left": "noch {n}"}) == ["text", "noch ", ["name", "n"]]
    assert trees.words("") == ["text"]


def test_what_the_language_does_not_have_has_no_tree() -> None:
    with pytest.raises(DeclarationError, match="cannot be written as a tree"):
        trees._tree(ast.parse("lambda: 1", mode="eval").body)


@pytest.mark.parametrize("part", [*WIDGETS, *OPERATIONS, Action], ids=lambda part: part.__name__)
def test_every_text_of_a_declaration_is_said_to_be_something(part: type) -> None:
    name = part.__name__
    kinds = [table.get(name, ()) for table in (export.EXPRESSIONS, export.TEXTS, export.TARGETS, export.PLAIN)]
    said = [field for kind in kinds for field in kind]
    assert sorted(said) == sorted(field.name for field in fields(part) if field.type in (str, "str"))


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    for key, one in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from strings(one, f"{path}/{key}")


def test_declarations_are_json_in_which_no_expression_is_left() -> None:
    declared = export.declarations(PROGRAMS.values())
    assert json.loads(json.dumps(declared)) == json.loads(json.dumps(declared))
    kinds = {"const", "name", "draft", "field", "at", "and", "or", "not", "neg", "if", "tuple", "for", "call", "new"}
    kinds |= {"text", *trees.OPERATORS.values()}
    bodies = [one["body"] for app in declared["apps"] for one in app["functions"].values()]
    assert bodies
    assert all(body[0] in kinds for body in bodies)
    braces = [path for path, text in strings(declared["apps"]) if "{" in text and "/constants/" not in path]
    assert not braces
