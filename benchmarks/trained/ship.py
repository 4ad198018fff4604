"""``python -m tiltyard.benchmarks.trained.ship RUN ...`` puts finished runs of ``trained-v1`` among what is shipped."""

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from ..commands import load_agent
from ..runs import CHECKPOINT, CURVE, FINAL, RUN, read_run
from ..suites import find
from . import FOLDER


def ship(run: Path, to: Path = FOLDER) -> Path:
    """Copies a finished run of the suite ``trained-v1`` and its checkpoint, without optimisers.

    Args:
        run: its folder.
        to: where its copy comes to be, in a folder of the same name.

    Returns:
        The copy.

    Raises:
        FileNotFoundError: there is no finished run.
        ValueError: the run is of no task of the suite.
    """
    name = read_run(run).run.name
    if name not in {one.name for one in find("trained-v1").runs()}:
        raise ValueError(f"{run} is no run of the suite trained-v1: make those with `tiltyard race trained-v1`")
    agent, copy = load_agent(run)[0], to / name
    copy.mkdir(exist_ok=True)
    for file in (RUN, FINAL, CURVE):
        shutil.copyfile(run / file, copy / file)
    agent.save(copy / CHECKPOINT, exclude=["policy.optimizer"])
    return copy


def main(runs: Iterable[str]) -> None:
    """Ships the runs in these folders; ends with a sentence at one that cannot be."""
    for run in runs:
        try:
            print(ship(Path(run)))
        except (FileNotFoundError, ValueError) as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
