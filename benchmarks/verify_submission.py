"""A submission: a folder with ``submission.toml`` and the run folders that it is about.

.. code-block:: toml

    agent = "checkpoint"  # of an agent of ours; or "module:Class", which is imported with --trust alone
    suite = "smoke"
    command = "tiltyard race smoke --agents ppo --out runs"
    runs = "runs"  # the folder of run folders, inside the submission; "runs" if left out

Every condition of a submission (an agent with its settings and budget, on a task) needs all of the suite's seeds, so
that none could be picked; more seeds are those that follow.
"""

import json
import tomllib
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import unknown
from .records import printable, read_bytes
from .runs import CHECKPOINT, NAME, RUN, Run, read_finished
from .suites import Suite, find
from .verify import module_of

SUBMISSION = "submission.toml"
OF_CHECKPOINT = "checkpoint"
_FIELDS = {"agent": True, "suite": True, "command": True, "runs": False}
"""And whether each is needed."""


@dataclass(frozen=True)
class Submission:
    """What a submission says of itself."""

    agent: str
    suite: Suite
    command: str
    folders: tuple[Path, ...]

    @property
    def said(self) -> str:
        """In a line."""
        return printable(f"submission to {self.suite.name}: agent {self.agent}; command: {self.command}")


def run_folders(root: Path) -> list[Path]:
    """The run folder ``root`` itself, or those in it, by name.

    Raises:
        FileNotFoundError: there is none.
    """
    if (root / RUN).is_file() or NAME.fullmatch(root.name):
        return [root]
    if not root.exists():
        raise FileNotFoundError(f"there is no folder {root}")
    inside = sorted(root.iterdir()) if root.is_dir() else []
    found = [one for one in inside if one.suffix != ".partial" and (NAME.fullmatch(one.name) or (one / RUN).is_file())]
    if not found:
        raise FileNotFoundError(f"{root} holds no run folder and no {SUBMISSION}")
    return found


def read_submission(folder: Path) -> Submission:
    """Reads ``submission.toml``; imports and runs nothing.

    Raises:
        FileNotFoundError: no run folders.
        ValueError: no TOML, or not these fields.
        KeyError: no such suite.
    """
    try:
        table: dict[str, Any] = tomllib.loads(read_bytes(folder / SUBMISSION, 1 << 16).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{folder / SUBMISSION}: {error}") from error
    for name, value in table.items():
        if name not in _FIELDS:
            raise ValueError(f"{SUBMISSION}: " + unknown("field", printable(name), _FIELDS))
        if not isinstance(value, str):
            raise ValueError(f"{SUBMISSION}: {name} is text, got {value!r:.100}")
    if missing := [name for name, needed in _FIELDS.items() if needed and name not in table]:
        raise ValueError(f"{SUBMISSION} needs {' and '.join(missing)}")
    inside = folder / table.get("runs", "runs")
    if folder.resolve() not in inside.resolve().parents:
        raise ValueError(f"{SUBMISSION}: runs is a folder inside the submission, got {table['runs']!r:.100}")
    suite = table["suite"]
    if suite.endswith(".toml"):
        raise ValueError(f"{SUBMISSION}: suite is the name of one of ours, not a file of the submission's")
    return Submission(table["agent"], find(suite), table["command"], tuple(run_folders(inside)))


def check_submission(folder: Path) -> tuple[Submission, list[str]]:
    """The submission, and a sentence on each thing that is wrong with it as a whole: agents, checkpoints, seeds."""
    from .tuning import name_of

    submission = read_submission(folder)
    faults = []
    conditions: dict[str, Run] = {}  # by what their runs are called but for the seed
    seeds: dict[str, set[int]] = defaultdict(set)
    for one in submission.folders:
        try:
            run = read_finished(one).run
        except (FileNotFoundError, ValueError):  # named when the run itself is verified
            continue
        name = replace(run, seed=0).name
        conditions.setdefault(name, run)
        seeds[name].add(run.seed)
        faults += [f"{one.name}: {said}" for said in _unlike(submission, run, one)]
    for name, found in seeds.items():
        run = conditions[name]
        told = f"{name_of(run, list(conditions.values()), ())} on {run.task}"
        if missing := sorted(set(submission.suite.seeds) - found):
            faults.append(f"{told} lacks seeds {', '.join(map(str, missing))} of {submission.suite.name}")
        if picked := _picked(found, submission.suite.seeds):
            faults.append(
                f"{told} has seeds {', '.join(map(str, picked))} besides those of {submission.suite.name}, "
                "which could have been picked among many: send none, or all that follow the suite's without a gap"
            )
    return submission, faults


def _picked(found: Collection[int], seeds: Sequence[int]) -> list[int]:
    """Seeds beyond the suite's, but for those that follow its last one, or each other, without a gap."""
    more = sorted(set(found) - set(seeds))
    following = range(max(seeds) + 1, max(seeds) + 1 + len(more))
    return [] if more == list(following) else more


def _unlike(submission: Submission, run: Run, folder: Path) -> list[str]:
    """Where a run is not what its submission says."""
    if submission.agent != OF_CHECKPOINT:
        wrong = run.agent != submission.agent
        return [f"agent {run.agent} is not the submission's, {submission.agent}"] if wrong else []
    if module_of(run.agent):
        return [f"agent {run.agent} is none of ours: its submission says agent = {json.dumps(run.agent)}"]
    return [] if (folder / CHECKPOINT).is_file() else [f"a submission by checkpoint needs its {CHECKPOINT}"]
