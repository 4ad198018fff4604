"""Which runs were verified, by whom it matters to: a file that names each with the hashes of what was checked.

Whoever keeps a leaderboard writes it with ``tiltyard verify RUNS --record FILE`` and shows it with ``tiltyard
leaderboard RUNS --verified FILE``. It lies with the keeper of the board, never in a run's own folder, whose maker could
write it; and a run whose files have changed since is not marked.
"""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from .records import read_bytes, read_record
from .runs import CHECKPOINT, CURVE, FINAL, NAME, RUN, FinishedRun
from .verify import Verification

CHECKED = (RUN, FINAL, CURVE, CHECKPOINT)
_MOST = 1 << 32


def hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each of a run's files that is there."""
    return {name: sha256(read_bytes(folder / name, _MOST)).hexdigest() for name in CHECKED if (folder / name).is_file()}


def record_of(found: Iterable[Verification]) -> dict[str, Any]:
    """What is written down of verified runs: the hashes of their files, by name."""
    return {one.folder.resolve().name: hashes(one.folder) for one in found if one.verdict == "verified"}


def verified_names(path: Path, runs: Iterable[FinishedRun]) -> frozenset[str]:
    """Names of those of ``runs`` that the record at ``path`` has, with the same files.

    Raises:
        FileNotFoundError: no such record.
        ValueError: it is none.
    """
    no_record = f"{path} is no record of verified runs, which is what tiltyard verify --record writes"
    try:
        record = read_record(path, 1 << 26)
    except ValueError as error:
        raise ValueError(no_record) from error
    if not all(NAME.fullmatch(name) and isinstance(one, dict) for name, one in record.items()):
        raise ValueError(no_record)
    return frozenset(
        run.run.name for run in runs if run.run.name in record and record[run.run.name] == hashes(run.folder)
    )
