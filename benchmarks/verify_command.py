"""``tiltyard verify``: a dataclass as in :mod:`.cli`."""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

if TYPE_CHECKING:
    from .verify import Verification


@dataclass
class Verify:
    """Checks a run, a folder of runs or a submission: files, digest, bounds, budgets; plays checkpoints again."""

    path: tyro.conf.Positional[Path]
    """a run folder, a folder of run folders, or a submission (a folder with submission.toml)"""
    suite: str | None = None
    """hold each run against this suite; by default it is only said which of ours it is of"""
    trust: bool = False
    """import what a run names as module:Class or module:id, which runs its code"""
    no_play: bool = False
    """check everything but the evaluation"""
    record: Path | None = None
    """write what was verified to this file, by which tiltyard leaderboard --verified marks rows"""

    def run(self) -> int:
        """Prints each check of a run, or a line a run; exit status 1 on any fault.

        Raises:
            FileNotFoundError: no folder for the record.
        """
        from .suites import find
        from .verified import record_of
        from .verify import verify
        from .verify_submission import SUBMISSION, check_submission, run_folders

        if self.record is not None and not self.record.absolute().parent.is_dir():
            raise FileNotFoundError(f"there is no folder {self.record.parent} for --record to write to: make it first")
        if self.record is not None and self.record.is_dir():
            raise ValueError(f"--record writes a file, and {self.record} is a folder: give the file's name")
        suite = None if self.suite is None else find(self.suite)
        faults: list[str] = []
        trust = self.trust
        if (self.path / SUBMISSION).is_file():
            submission, faults = check_submission(self.path)
            suite = suite or submission.suite
            folders = list(submission.folders)
            print(submission.said)
        else:
            folders = run_folders(self.path)
        found = []
        for folder in folders:
            one = verify(folder, suite=suite, trust=trust, play=not self.no_play)
            found.append(one)
            if len(folders) == 1:
                print("\n".join(map(str, one.checks)))
            print(f"{one.verdict:<10}  {folder.name}", *(f"\n    {check.name}: {check.said}" for check in one.faults))
        for fault in faults:
            print(f"FAULT  {fault}")
        counts = {word: sum(one.verdict == word for one in found) for word in ("verified", "consistent", "faulty")}
        exact = f" ({sum(one.exact for one in found)} bit for bit)"
        said = [f"{count} {word}" + exact * (word == "verified" and count > 0) for word, count in counts.items()]
        print(f"{len(found)} runs: {', '.join(said)}{_reasons(found)}")
        if self.record is not None:
            self.record.write_text(json.dumps(record_of(found), indent=1) + "\n")
            print(f"wrote {self.record}")
        return int(bool(faults) or bool(counts["faulty"]))


def _reasons(found: "list[Verification]") -> str:
    """Why consistent runs were not verified, each reason with its count."""
    from .verify import SKIPPED

    said = Counter(
        check.said
        for one in found
        if one.verdict == "consistent"
        for check in one.checks
        if check.state == SKIPPED and check.name in ("checkpoint", "evaluation")
    )
    return "".join(f"\n  {count} x {reason}" for reason, count in said.items())
