"""Runs whose training diverges: told in one sentence, and a failed trial where settings are tuned.

A run that diverges has no score, and ends with :class:`~tiltyard.agents.diverged.Diverged`. Its partial folder keeps
``diverged.json``, and what goes on does not run it again: it would diverge again.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..agents.diverged import Diverged, is_finite, sentence, told
from .evaluation import is_tuning
from .folders import is_claimed, write_whole
from .packages import changes
from .records import part, read_record, seconds_of, words
from .runs import MOST_BYTES, RUN, FinishedRun, Run

RECORD = "diverged.json"
MOST_NAMED = 6
"""Names of runs in one sentence."""


@dataclass(frozen=True)
class DivergedRun:
    """A run whose training diverged.

    Attributes:
        run: what was run.
        versions: of what was installed.
        timesteps: that it had trained for.
        wall_seconds: until then.
        error: what it ended with, in a sentence.
    """

    run: Run
    versions: Mapping[str, str]
    timesteps: int
    wall_seconds: float
    error: str


@contextmanager
def recorded(agent: Any, folder: Path) -> Iterator[None]:
    """Notes in ``folder`` that the agent's training diverges in the block, if it does.

    Not every divergence ends in an error: a Q-network that is not a number has an ``argmax`` too, and would be scored.

    Raises:
        Diverged: in place of the error that it came to, or where the policy's parameters are not finite at the end.
    """
    start = time.perf_counter()
    try:
        with told(agent):
            yield
        if not is_finite(agent):
            raise Diverged(sentence(agent, "parameters of the policy are not finite"))
    except Diverged as error:
        record = {
            "timesteps": int(agent.num_timesteps),
            "wall_seconds": time.perf_counter() - start,
            "error": " ".join(str(error).split()),
        }
        write_whole(folder / RECORD, json.dumps(record, indent=1) + "\n")
        raise


def read_diverged(run: Run, root: Path) -> DivergedRun | None:
    """What is known of a run that diverged; None where it did not, or under other versions than today's."""
    partial = run.partial(root)
    if not (partial / RECORD).is_file() or is_claimed(partial):
        return None
    record, about = read_record(partial / RECORD, MOST_BYTES), read_record(partial / RUN, MOST_BYTES)
    versions = part(about, "versions", dict)
    found = DivergedRun(
        run=run,
        versions={name: words(versions, name) for name in versions},
        timesteps=part(record, "timesteps", int),
        wall_seconds=seconds_of(record),
        error=words(record, "error"),
    )
    return None if changes(found) else found


def diverged_in(root: Path) -> set[str]:
    """Names of the runs in a folder of runs that diverged, under whatever versions."""
    folders = (path.parent for path in root.glob(f"*.partial/{RECORD}"))
    return {folder.stem for folder in folders if not is_claimed(folder)}


def seed_of(name: str) -> int | None:
    """The seed in the name of a run."""
    found = re.search(r"-s(\d+)-[0-9a-f]{8}$", name)
    return int(found[1]) if found else None


def unscored(runs: Iterable[FinishedRun]) -> list[str]:
    """What a board of ``runs`` says of those beside them that diverged, and that no score tells of; tuning left out."""
    runs = list(runs)
    roots, done = {run.folder.parent for run in runs if run.folder.name}, {run.run.name for run in runs}
    names = sorted(name for root in roots for name in diverged_in(root) - done if not is_tuning(seed_of(name) or 0))
    if not names:
        return []
    told = ", ".join(names[:MOST_NAMED]) + f" and {len(names) - MOST_NAMED} others" * (len(names) > MOST_NAMED)
    what = "a run diverged, and is" if len(names) == 1 else f"{len(names)} runs diverged, and are"
    return [f"{what} in no score, rank or probability here: {told}"]
