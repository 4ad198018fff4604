"""What ``help`` tells is there and is true: public names, their arguments, the examples and docs/python-api.md."""

import ast
import doctest
import importlib
import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tiltyard
import tiltyard.agents
import tiltyard.benchmarks
import tiltyard.envs
import tiltyard.wrappers
from tiltyard.agents.catalogue import ROWS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
ROOMS = (tiltyard, tiltyard.agents, tiltyard.benchmarks, tiltyard.envs, tiltyard.wrappers)
FILES = [path for room in ("tiltyard/*.py", "[aebw]*/**/*.py") for path in sorted(ROOT.glob(room))]
CLASSES = sorted({row.class_name for row in ROWS})


def module(path: Path) -> str:
    """``tiltyard.envs.core`` of ``envs/core.py``, ``tiltyard.envs`` of ``envs/__init__.py``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "tiltyard" else ("tiltyard", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_every_public_name_is_there_and_says_what_it_is(room: ModuleType) -> None:
    assert room.__doc__
    for name in {*dir(room), *getattr(room, "__all__", ())}:
        found = getattr(room, name)
        if name.startswith("_") or not getattr(found, "__module__", "").startswith("tiltyard"):
            continue
        assert found.__doc__, f"{room.__name__}.{name} has no docstring"
        for part, value in vars(found).items() if isinstance(found, type) else ():
            if not part.startswith("_") and (inspect.isfunction(value) or isinstance(value, property | classmethod)):
                assert inspect.getdoc(getattr(found, part)), f"{room.__name__}.{name}.{part} has no docstring"


@pytest.mark.parametrize("name", CLASSES)
def test_help_explains_every_keyword_of_an_agent(name: str) -> None:
    agent = getattr(tiltyard.agents, name)
    told: set[str] = set()
    for owner in agent.__mro__:
        for text in (owner.__doc__ or "", getattr(vars(owner).get("__init__"), "__doc__", None) or ""):
            told |= set(re.findall(r":param (\w+):", text)) | set(re.findall(r"^ +(\w+): ", text, re.MULTILINE))
            told |= set(re.findall(r"``(\w+)``", text))
    assert {one for one in inspect.signature(agent).parameters if not one.startswith("_")} - told == set()


def test_settings_are_told_where_the_constructor_takes_them() -> None:
    text = inspect.getdoc(tiltyard.agents.AWAC.__init__) or ""
    assert "\n    gamma: discount.\n" in text  # of all agents
    assert "\n    temperature: " in text  # its own
    assert text.count("\n    learning_rate: ") == 1


@cache
def definitions() -> list[tuple[Path, Any]]:
    """Every class and function of the package, and its file."""
    nodes = [(path, node) for path in FILES for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    return [(path, node) for path, node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)]


@cache
def classes() -> dict[str, ast.ClassDef]:
    """The classes by name."""
    return {node.name: node for _, node in definitions() if isinstance(node, ast.ClassDef)}


def parameters_of(node: Any) -> set[str]:
    """The parameters of a function, or the fields and parameters of a class and its bases."""
    if not isinstance(node, ast.ClassDef):
        args = node.args
        given = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        return {one.arg for one in given if one is not None}
    found = {one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)}
    for one in node.body:
        if isinstance(one, ast.FunctionDef) and one.name in ("__init__", "__new__"):
            found |= parameters_of(one)
    for base in node.bases:
        name = ast.unparse(base).partition("[")[0].rpartition(".")[2]
        if classes().get(name, node) is not node:
            found |= parameters_of(classes()[name])
    return found


def test_no_docstring_explains_an_argument_that_there_is_not() -> None:
    wrong = []
    for path, node in definitions():
        _, _, listed = (ast.get_docstring(node) or "").partition("\nArgs:\n")
        told = set(re.findall(r"^ {4}(\w+)(?: \(.*?\))?: ", listed.partition("\n\n")[0], re.MULTILINE))
        wrong += [f"{path}:{node.lineno} {name}" for name in told and told - parameters_of(node)]
    assert wrong == []


@pytest.mark.parametrize(
    "path", [path for path in FILES if ">>> " in path.read_text()], ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_examples_of_docstrings_come_out_as_they_say(path: Path) -> None:
    assert doctest.testmod(importlib.import_module(module(path)), optionflags=doctest.ELLIPSIS).failed == 0


LISTED = [line.split("|")[2:4] for line in PAGE.splitlines() if line.startswith("| ") and ".py`" in line]


@pytest.mark.parametrize(("names", "where"), LISTED, ids=[names.strip() for names, _ in LISTED])
def test_the_names_of_the_page_are_where_it_says(names: str, where: str) -> None:
    files = [ROOT / name for name in re.findall(r"`([\w/]+\.py)`", where)]
    assert files
    modules = [importlib.import_module(module(one)) for path in files for one in (path, *path.parent.glob("*.py"))]
    for text in re.findall(r"`([^`]+)`", names):
        if text.startswith("from "):
            exec(text.replace(", ...", ""), {})
        elif text.startswith("tiltyard."):
            owner, _, name = text.partition("(")[0].rpartition(".")
            assert hasattr(importlib.import_module(owner), name), text
        elif not text.startswith("gymnasium."):
            assert any(hasattr(one, text) for one in modules), text
