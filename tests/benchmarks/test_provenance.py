"""Where a number comes from: which changes of a checkout count."""

import subprocess

import pytest

from tiltyard.benchmarks.provenance import commit_of

RESULT, CODE = "docs/results/claims/arsq.json", "benchmarks/claims/arsq.py"


@pytest.fixture
def checkout(tmp_path):
    for name in (RESULT, CODE, "docs/results.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "all")
    return tmp_path


def git(home, *words) -> str:
    return subprocess.run(["git", "-C", str(home), *words], check=True, capture_output=True, text=True).stdout.strip()


def test_a_stored_result_does_not_mark_the_results_of_the_next_command(checkout):
    head = git(checkout, "rev-parse", "HEAD")
    assert commit_of(checkout) == head
    (checkout / RESULT).write_text("after")
    (checkout / "docs" / "results" / "page.md").write_text("new")
    git(checkout, "add", "docs/results/page.md")
    (checkout / "notes.txt").write_text("unknown to git")
    assert commit_of(checkout) == head


@pytest.mark.parametrize("name", [CODE, "docs/results.md"])
def test_any_other_change_marks_them(checkout, name):
    head = git(checkout, "rev-parse", "HEAD")
    (checkout / name).write_text("after")
    assert commit_of(checkout) == f"{head}+changes"
    assert commit_of(checkout / "benchmarks") == f"{head}+changes"
    git(checkout, "add", "-A")
    assert commit_of(checkout) == f"{head}+changes"


def test_a_folder_of_no_repository_has_no_commit(tmp_path):
    assert commit_of(tmp_path) == ""
