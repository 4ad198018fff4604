"""The audit of MiniWoB++ goes on where it was stopped, and says what was measured where."""

import pytest

from tiltyard.benchmarks.studies.miniwob_audit import resumed

STORED = {"command": "play", "pages": 130, "commit": "a", "hardware": "x", "browser": "156", "tasks": [{"task": "one"}]}


def test_a_resumed_run_keeps_its_tasks_and_names_both_commits() -> None:
    found = resumed({**STORED, "commit": "b", "tasks": []}, STORED)
    assert found == {**STORED, "commit": "a, then b"}
    assert resumed({**STORED, "commit": "b", "tasks": []}, found)["commit"] == "a, then b"


def test_another_run_is_not_resumed() -> None:
    with pytest.raises(ValueError, match="cannot be resumed"):
        resumed({**STORED, "command": "play more"}, STORED)
