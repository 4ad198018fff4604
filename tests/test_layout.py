"""The house rules that a machine can check: import direction, sizes, every file tested, no bare imports."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("envs", "wrappers", "agents", "benchmarks")  # in import order: each may import those before it
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def imported(path: Path) -> list[str]:
    """The modules a file imports, relative ones resolved to ``tiltyard....``."""
    package = ("tiltyard", *path.relative_to(ROOT).parent.parts)
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            names.append(".".join([*base, *(node.module or "").split(".")]).strip("."))
            names += [f"{names[-1]}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    later = ROOMS[ROOMS.index(room) + 1 :]
    against = [name for name in imported(path) if name.startswith(tuple(f"tiltyard.{other}" for other in later))]
    assert not against, f"{room} may not import {against}"


def test_objectives_know_only_tensors() -> None:
    for path in (ROOT / "agents" / "objectives").rglob("*.py"):
        banned = [
            n
            for n in imported(path)
            if n.startswith(("stable_baselines3", "gymnasium", "tiltyard.envs", "tiltyard.wrappers"))
        ]
        assert not banned, f"{path.name} imports {banned}"


def test_no_room_is_imported_bare() -> None:
    bare = re.compile(r"^\s*(from|import) (envs|agents|wrappers|benchmarks)\b", re.MULTILINE)
    for path in [*FILES, *(ROOT / "tests").rglob("*.py")]:
        assert not bare.search(path.read_text()), f"{path} imports a room without tiltyard. in front"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_keep_their_budgets(path: Path) -> None:
    source = path.read_text()
    assert len(source.splitlines()) <= 400, "split this file into two rooms"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1
                assert length <= 60, f"{node.name} has {length} lines"
