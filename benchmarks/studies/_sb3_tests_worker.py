"""One file of Stable-Baselines3's tests with Tiltyard's classes in place of theirs: a process of ``sb3_tests.py``.

``python _sb3_tests_worker.py JOB.json`` runs pytest on ``job["tests"]`` (paths, or ids of single tests) in the present
folder and writes to ``job["out"]`` what became of each.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import stable_baselines3

from tiltyard.agents import catalogue

Outcomes = dict[str, dict[str, str]]


def substitute(classes: dict[str, str]) -> None:
    """Puts the agents that ``classes`` names (an SB3 class -> a name of the catalogue) in place of SB3's classes.

    ``from stable_baselines3 import SAC`` then imports ours. What other modules of SB3 imported before stays theirs.

    Raises:
        AttributeError: SB3 has no such class.
    """
    loaded = {name: catalogue.find(agent).load() for name, agent in classes.items()}  # all, before any is replaced
    for name, agent in loaded.items():
        getattr(stable_baselines3, name)
        setattr(stable_baselines3, name, agent)


class Record:
    """A plugin of pytest that notes of each test "passed", "failed" or "skipped", and the last line of a failure.

    Attributes:
        outcomes: by the test's id, without the folder.
    """

    def __init__(self) -> None:
        self.outcomes: Outcomes = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Called by pytest after set-up, call and tear-down of a test: the worst of the three counts."""
        name = report.nodeid.rpartition("/")[2]
        if report.when == "call" or report.outcome != "passed":
            worst = self.outcomes.get(name, {}).get("outcome") == "failed"
            if not worst:
                self.outcomes[name] = {"outcome": report.outcome, "why": _why(report) if report.failed else ""}

    def pytest_collectreport(self, report: Any) -> None:
        """Called by pytest when a file has been read: one that cannot be is a failure."""
        if report.failed:
            self.outcomes[report.nodeid.rpartition("/")[2]] = {"outcome": "failed", "why": _why(report)}


def _why(report: Any) -> str:
    """The error in one line, without the name of the folder that a test was given."""
    crash = getattr(report.longrepr, "reprcrash", None)
    line = " ".join(str(crash.message if crash else report.longrepr).split())
    return re.sub(r"[\w/]*/pytest-of-\w+/pytest-\d+/", "TMP/", line)[:300]


def main(job: Path) -> None:
    """See the module."""
    given = json.loads(job.read_text(encoding="utf-8"))
    substitute(given["classes"])
    record = Record()
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:xdist", "-m", "not expensive"]
    code = pytest.main([*options, *given["tests"]], plugins=[record])
    Path(given["out"]).write_text(json.dumps({"code": int(code), "outcomes": record.outcomes}), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
