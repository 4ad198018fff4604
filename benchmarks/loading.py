"""Finished runs of a whole folder: each read, what is damaged or called otherwise named and left out."""

import os
import warnings
from collections.abc import Iterable
from pathlib import Path

from .packages import RECORDED, expected, others_of
from .provenance import differences
from .runs import NAME, RUN, FinishedRun, read_run


def load_runs(root: str | Path) -> list[FinishedRun]:
    """Every finished run under ``root``, by name; partial folders do not count, damaged ones are named in a warning.

    What is neither named like a run nor holds a ``run.json`` is passed over. A folder (or link) that is not called as
    its run is left out as well, and named: it would be a second copy of a run, or stand in for one.

    A folder written under other versions is returned as well, and said so (:class:`~.runs.VersionWarning`); use
    :func:`one_version` before pooling.

    Raises:
        FileNotFoundError: no such folder.
    """
    root = Path(root)
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}: give the folder of a race (its --out)")
    runs = []
    for folder in sorted(root.iterdir()):
        if folder.suffix != ".partial" and (NAME.fullmatch(folder.name) or os.path.lexists(folder / RUN)):
            try:
                found = read_run(folder)
                if found.run.name != folder.name:
                    raise ValueError(f"{folder} is another name for the run {found.run.name}")
                runs.append(found)
            except (FileNotFoundError, ValueError) as error:
                warnings.warn(f"left out: {error}", UserWarning, 2)
    return runs


def one_version(runs: Iterable[FinishedRun]) -> tuple[list[FinishedRun], list[FinishedRun]]:
    """Splits ``runs`` into those that may be pooled (of one set of versions) and those to leave out.

    The set kept is that of the versions installed now; where no run has those, that of the most runs. Runs of other
    agents or environments may have other packages behind them, each of one version (:func:`.packages.expected`).
    """
    runs = list(runs)
    groups: dict[tuple[str, ...], list[FinishedRun]] = {}
    for run in runs:
        own = {name: version for name, version in run.versions.items() if name in RECORDED}
        groups.setdefault(tuple(differences(own)), []).append(run)
    alike = groups.get(()) or max(groups.values(), key=len, default=[])
    kept = [run for run, others in zip(alike, expected(alike), strict=True) if others_of(run) == others]
    pooled = set(map(id, kept))
    return kept, [run for run in runs if id(run) not in pooled]
