"""SB3's tests with our classes in their place: what is substituted, counted, and listed on the page."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tiltyard.benchmarks.studies import sb3_tests
from tiltyard.benchmarks.studies.sb3_tests import AGENTS, REFUSED, counts, failing, measured, page

TINY = """
import pytest
import stable_baselines3
from stable_baselines3 import SAC, A2C

def test_ours_is_in_its_place():
    assert SAC.__module__ == "tiltyard.agents.control.sac"

def test_library_is_the_installed_one():
    assert "site-packages" in stable_baselines3.__file__

@pytest.mark.parametrize("model_class", [A2C])
def test_that_fails(model_class):
    assert model_class is None, "two\\nlines"

def test_that_is_skipped():
    pytest.skip()

@pytest.mark.expensive
def test_that_takes_long():
    raise AssertionError
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("tests", "stable_baselines3"):
        (tmp_path / folder).mkdir()
    (tmp_path / "stable_baselines3" / "version.txt").write_text(version("stable_baselines3") + "\n")
    (tmp_path / "stable_baselines3" / "__init__.py").write_text("raise ImportError('the copy that must not be used')\n")
    (tmp_path / "tests" / "test_tiny.py").write_text(TINY)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\nmarkers = ["expensive: takes long"]\n')
    return tmp_path


@pytest.mark.slow
def test_our_classes_stand_in_for_sb3s(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.nice", lambda _: None)  # this process has other tests to run
    found = measured(checkout, ["tiny"], AGENTS, 120)["files"]["tiny"]
    assert {name.partition("::")[2]: one["outcome"] for name, one in found.items()} == {
        "test_ours_is_in_its_place": "passed",
        "test_library_is_the_installed_one": "passed",
        "test_that_fails[stable_baselines3:A2C]": "failed",
        "test_that_is_skipped": "skipped",
    }
    assert found["test_tiny.py::test_that_fails[stable_baselines3:A2C]"]["why"].startswith("AssertionError: two lines")
    assert counts(found) == {"passed": 2, "failed": 1, "skipped": 1}


def test_a_checkout_of_another_version_or_without_tests_says_so(checkout: Path) -> None:
    (checkout / "stable_baselines3" / "version.txt").write_text("1.0\n")
    with pytest.raises(ValueError, match=r"the checkout is Stable-Baselines3 1\.0, and .* is installed"):
        measured(checkout, ["tiny"], AGENTS, 120)
    with pytest.raises(FileNotFoundError, match="has no folder tests"):
        sb3_tests.copied(checkout / "stable_baselines3", checkout)


def test_what_is_forbidden_and_what_is_open_are_listed_apart() -> None:
    forbidden = next(iter(REFUSED))
    found = {forbidden: "failed", "test_run.py::test_ppo": "failed", "test_run.py::test_sac": "passed"}
    column: Any = {"files": {"run": {test: {"outcome": one, "why": "an error"} for test, one in found.items()}}}
    assert failing(column, refused=True) == [(forbidden, REFUSED[forbidden])]
    assert failing(column, refused=False) == [("test_run.py::test_ppo", "an error")]


def test_the_page_is_that_of_the_stored_outcomes() -> None:
    stored = json.loads((sb3_tests.FOLDER / "results.json").read_text(encoding="utf-8"))
    text = page(stored)
    assert (sb3_tests.FOLDER / "README.md").read_text(encoding="utf-8") == text
    for name, of in stored["after"]["files"].items():
        one = counts(of)
        assert f"| `test_{name}.py` |" in text
        assert f" {one['passed']} of {one['passed'] + one['failed']} |" in text
    assert not [test for test, _ in failing(stored["after"], refused=False)]
