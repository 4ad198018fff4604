"""A race: agents x tasks x seeds of a suite, executed by an engine, resumed where it was broken off."""

import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from . import provenance
from .engines import find as find_engine
from .evaluation import TUNING_FROM, is_tuning
from .runs import STEPS, FinishedRun, Run, VersionWarning, is_finished, read_run
from .suites import Suite
from .suites import find as find_suite

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class RaceIncomplete(RuntimeError):
    """Some runs of a race have no result; the message names them, says why, and how to go on.

    Attributes:
        failures: error sentence by run name.
        finished: the other runs' results.
    """

    def __init__(self, message: str, failures: Mapping[str, str], finished: Sequence[FinishedRun]) -> None:
        super().__init__(message)
        self.failures, self.finished = dict(failures), list(finished)


def race(
    suite: str | Suite,
    *,
    agents: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    root: str | Path = "runs",
    engine: str = "local",
    workers: int | None = None,
) -> list[FinishedRun]:
    """Executes every run of a suite that is not finished yet, and returns them all in the suite's order.

    Args:
        suite: a suite, the name of one, or the path of a ``.toml`` file that holds one.
        agents: race these alone.
        seeds: instead of the suite's own; below 10,000 (seeds from there on are for tuning).
        root: folder of run folders. Finished runs found there are kept, unfinished ones start again.
        engine: "local" (a process a core) or "ray".
        workers: runs at a time; as many as there are cores by default.

    Raises:
        KeyError: no such suite, agent or engine.
        ValueError: a tuning seed, or fewer than 1 worker.
        RaceIncomplete: when all others are done, if a run failed, was killed, or is there under other versions.
    """
    name, suite = (suite, find_suite(suite)) if isinstance(suite, str) else (suite.name, suite)
    runs, execute, root = suite.runs(agents=agents, seeds=seeds), find_engine(engine), Path(root)
    _check(runs, workers)
    root.mkdir(parents=True, exist_ok=True)
    _make_datasets(suite, [run for run in runs if not is_finished(run.folder(root))])
    failures = {run.name: reason for run in runs if (reason := _of_other_versions(run.folder(root)))}
    pending = [run for run in runs if not is_finished(run.folder(root))]
    if pending:
        with _shown(suite.name, runs, pending, root) as board, closing(execute(pending, root, workers)) as outcomes:
            for run, error in outcomes:
                board.ended(run, error)
                failures |= {} if error is None else {run.name: error}
    finished = [read_run(run.folder(root)) for run in runs if run.name not in failures]
    if failures:
        command = _command(name, agents, seeds, root, engine, workers)
        raise RaceIncomplete(_message(failures, len(finished), root, command), failures, finished)
    return finished


def _check(runs: Sequence[Run], workers: int | None) -> None:
    for run in runs:
        if is_tuning(run.seed):
            raise ValueError(f"seed {run.seed} is for tuning and is never raced: use seeds below {TUNING_FROM}")
        run.check()
    if workers is not None and workers < 1:
        raise ValueError(f"a race needs at least 1 worker, got {workers}")


def _make_datasets(suite: Suite, pending: Sequence[Run]) -> None:
    """Makes those of the suite's datasets that pending runs learn from and that are not there yet."""
    from .commands import bar
    from .datasets import load_dataset, make_dataset

    for dataset_id in sorted({run.params["dataset"] for run in pending if "dataset" in run.params}):
        try:
            load_dataset(dataset_id)
        except FileNotFoundError:
            if dataset_id not in suite.datasets:
                raise
            recipe = suite.datasets[dataset_id]
            made: dict[str, Any] = {"dataset_id": dataset_id, "bar": bar, **recipe.settings}
            make_dataset(recipe.env_id, recipe.policy, **made)


def _of_other_versions(folder: Path) -> str | None:
    """Why a finished run found in ``folder`` cannot stand beside today's; None where it can, or there is none."""
    if not is_finished(folder):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionWarning)
        changed = provenance.differences(read_run(folder).versions)
    if not changed:
        return None
    return f"was run with {', '.join(changed)}; move {folder} away to run it again, or race into another folder"


def _command(
    suite: str,
    agents: Sequence[str] | None,
    seeds: Sequence[int] | None,
    root: Path,
    engine: str,
    workers: int | None,
) -> str:
    words = ["tiltyard", "race", suite]
    words += ["--agents", ",".join(agents)] if agents is not None else []
    words += ["--seeds", ",".join(map(str, seeds))] if seeds is not None else []
    words += ["--engine", engine] if engine != "local" else []
    words += ["--workers", str(workers)] if workers is not None else []
    return shlex.join([*words, "--out", str(root)])


def _message(failures: Mapping[str, str], finished: int, root: Path, command: str) -> str:
    reasons = "; ".join(f"{name} ({reason})" for name, reason in failures.items())
    return (
        f"{len(failures)} of {len(failures) + finished} runs have no result: {reasons}; the other {finished} are "
        f"kept in {root}; to go on, run: {command}"
    )


@contextmanager
def _shown(title: str, runs: Sequence[Run], pending: Sequence[Run], root: Path) -> Iterator["_Board"]:
    """A live board on the terminal while the block runs; elsewhere, a line for every run that ends."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    stop = Event()
    with Progress(*columns) as progress:
        board = _Board(progress, title, runs, pending, root)
        watcher = Thread(target=board.watch, args=(stop,), daemon=True)
        watcher.start()
        try:
            yield board
        finally:
            stop.set()
            watcher.join()


class _Board:
    """One bar for the race, in runs, and one for every run under way, in environment steps."""

    def __init__(
        self, progress: "Progress", title: str, runs: Sequence[Run], pending: Sequence[Run], root: Path
    ) -> None:
        self._progress, self._root = progress, root
        self._pending = {run.name: run for run in pending}
        self._bars: dict[str, TaskID] = {}
        self._total = progress.add_task(f"[bold]{title}", total=len(runs), completed=len(runs) - len(pending))

    def watch(self, stop: Event) -> None:
        """Moves the bars until ``stop``, reading the steps that each run notes in its partial folder."""
        while not stop.wait(0.5):
            for name, run in list(self._pending.items()):
                steps = _steps(run.partial(self._root) / STEPS)
                if steps is not None and name in self._pending:
                    bar = self._bars.get(name)
                    if bar is None:
                        label = f"{_short(run)} seed {run.seed}"
                        bar = self._bars[name] = self._progress.add_task(label, total=run.budget)
                    self._progress.update(bar, completed=min(steps, run.budget))

    def ended(self, run: Run, error: str | None) -> None:
        """Takes the run's bar away and leaves one line in its place."""
        self._pending.pop(run.name)
        if run.name in self._bars:
            self._progress.remove_task(self._bars.pop(run.name))
        self._progress.advance(self._total)
        if error is not None:
            self._progress.print(f"[red]failed[/] {run.name}: {error}", highlight=False)
            return
        result = read_run(run.folder(self._root))
        self._progress.print(
            f"{_short(run):<28} seed {run.seed:<4} score {result.normalised:6.3f}   "
            f"success {_share(result.successes):>6}   {result.wall_seconds:6.1f} s",
            highlight=False,
        )


def _short(run: Run) -> str:
    return f"{run.env_id.rpartition('/')[2]} {run.agent}"


def _share(successes: Sequence[bool]) -> str:
    return f"{sum(successes) / len(successes):.1%}" if successes else "-"


def _steps(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # not begun, just published, or caught in the middle of a write
        return None
