"""A race: agents x tasks x seeds of a suite, executed by an engine, resumed where it was broken off."""

import shlex
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from ..envs.errors import CannotBeMade
from .diverging import read_diverged
from .engines import BUSY, Backend
from .engines import find as find_engine
from .engines.worker import sentence
from .evaluation import TUNING_FROM, evaluation_env, is_tuning
from .folders import Busy, claimed, is_claimed
from .overshoot import warn_of
from .packages import changes
from .runs import STEPS, FinishedRun, Run, VersionWarning, is_finished, read_run
from .suites import Suite
from .suites import find as find_suite
from .time_limit import is_endless, warning_of

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DATASETS = "datasets.partial"
"""Folder that the race which makes datasets holds, empty."""
POLL = 0.5
"""Seconds between looks at what others are doing."""
TRIALS = "; settings at which training ends in an error again are left out of a grid or space"
"""What to do where a trial of tuning fails however often it is run."""


class RaceIncomplete(RuntimeError):
    """Some runs of a race have no result; the message names them, says why, and how to go on.

    Attributes:
        failures: error sentence by run name.
        finished: the other runs' results.
        diverged: those of the failed runs whose training diverged.
    """

    def __init__(
        self,
        message: str,
        failures: Mapping[str, str],
        finished: Sequence[FinishedRun],
        diverged: Sequence[Run] = (),
    ) -> None:
        super().__init__(message)
        self.failures, self.finished, self.diverged = dict(failures), list(finished), list(diverged)


def race(
    suite: str | Suite,
    *,
    agents: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    root: str | Path = "runs",
    engine: str = "local",
    workers: int | None = None,
    command: str | None = None,
) -> list[FinishedRun]:
    """Executes every run of a suite that is not finished yet, and returns them all in the suite's order.

    A damaged run is named in a warning and executed anew, in its place. Races in one folder share the work: each leaves
    alone what another is executing, and waits for it when it has nothing else to do.

    Args:
        suite: a suite, the name of one, or the path of a ``.toml`` file that holds one.
        agents: race these alone.
        seeds: instead of the suite's own; below 10,000 (seeds from there on are for tuning).
        root: folder of run folders. Finished runs found there are kept, unfinished ones start again.
        engine: "local" (a process a core) or "ray".
        workers: runs at a time; as many as there are cores by default.
        command: what to type to go on where some fail; by default what makes this race.

    Raises:
        KeyError: no such suite, agent or engine.
        ValueError: a tuning seed, fewer than 1 worker, an environment that cannot be made, or a suite whose page could
            not be made of its runs (:func:`.leaderboard.spelling.check_suite`).
        RaceIncomplete: when all others are done, if a run failed, diverged, was killed, or is there under other
            versions. What diverged is not run again, for it would again; :mod:`.leaderboard.report` tells of it.
    """
    from .leaderboard.spelling import check_suite

    name, suite = (suite, find_suite(suite)) if isinstance(suite, str) else (suite.name, suite)
    check_suite(suite)
    runs = suite.runs(agents=agents, seeds=seeds)
    for run in runs:
        if is_tuning(run.seed):
            raise ValueError(f"seed {run.seed} is for tuning and is never raced: use seeds below {TUNING_FROM}")
    own = command_of("race", name, agents=agents, seeds=seeds, engine=engine, workers=workers, out=root)
    return finish(suite, runs, root=Path(root), engine=engine, workers=workers, command=command or own)


def finish(
    suite: Suite, runs: Sequence[Run], *, root: Path, engine: str, workers: int | None, command: str
) -> list[FinishedRun]:
    """Executes those of ``runs`` that are not finished yet, as :func:`race` does, and returns them all in their order.

    Args:
        suite: says how to make the datasets that they learn from, and gives the board its title.
        runs: all of them.
        root: folder of run folders.
        engine: "local" or "ray".
        workers: runs at a time; as many as there are cores by default.
        command: what to type to go on where some fail.

    Raises:
        KeyError: no such agent or engine.
        ValueError: fewer than 1 worker, a run that cannot be, or one whose environment cannot be made here, where the
            engine is local.
        RaceIncomplete: as :func:`race`.
    """
    execute = find_engine(engine)
    for run in runs:
        run.check(elsewhere=engine != "local")
    if workers is not None and workers < 1:
        raise ValueError(f"a race needs at least 1 worker, got {workers}")
    found = {run.name: _found(run.folder(root)) for run in runs}
    before = {run.name: one.error for run in runs if not found[run.name] and (one := read_diverged(run, root))}
    pending = [run for run in runs if found[run.name] is None and run.name not in before]
    if engine == "local":  # another machine may have what this one lacks
        _check_environments(pending)
    warn_of(list({(run.task, run.agent, str(run.params), run.budget): run for run in pending}.values()))
    root.mkdir(parents=True, exist_ok=True)
    _make_datasets(suite, pending, root)
    failures = {name: reason for name, run in found.items() if run and (reason := _of_other_versions(run))} | before
    if pending:
        with _shown(suite.name, runs, pending, root) as board:
            failures |= _executed(pending, root, execute, workers, board)
    finished = [read_run(run.folder(root)) for run in runs if run.name not in failures]
    if failures:
        diverged = [run for run in runs if run.name in failures and read_diverged(run, root)]
        told = _message(failures, [run.name for run in diverged], len(finished), root, command)
        hint = TRIALS if any(is_tuning(run.seed) for run in runs) else ""
        raise RaceIncomplete(told + hint, failures, finished, diverged)
    return finished


def _check_environments(pending: Sequence[Run]) -> None:
    """Makes the environment of each task once, as it is evaluated in, and closes it; warns of those without time limit.

    Raises:
        ValueError: with the reason that the first one gave which cannot be made.
    """
    for run in {run.task: run for run in pending}.values():
        try:
            env = evaluation_env(run.env_id, run.agent, 1, **run.params.get("env_kwargs", {}))
        except CannotBeMade:
            raise
        except Exception as error:
            raise ValueError(f"{run.where} cannot be made: {sentence(error)}") from error
        if is_endless(env):
            warnings.warn(warning_of(run.env_id), UserWarning, 4)
        env.close()


def _executed(
    pending: Sequence[Run], root: Path, execute: Backend, workers: int | None, board: "_Board"
) -> dict[str, str]:
    """Executes ``pending``, what other processes are at last; returns an error sentence for each that failed."""
    failures: dict[str, str] = {}
    elsewhere: list[Run] = []
    while pending or elsewhere:
        if pending:
            with closing(execute(pending, root, workers)) as outcomes:
                for run, error in outcomes:
                    if error == BUSY:
                        elsewhere.append(run)
                        continue
                    board.ended(run, error)
                    failures |= {} if error is None else {run.name: error}
        free, pending = _awaited(elsewhere, root, board), []
        for run in free:
            elsewhere.remove(run)
            if is_finished(run.folder(root)):  # by the other process: none is started to read it
                board.ended(run, None)
            else:
                pending.append(run)
    return failures


def _awaited(elsewhere: Sequence[Run], root: Path, board: "_Board") -> list[Run]:
    """Those runs that no other process is at any more, as soon as there are any: finished there, or left to us."""
    if elsewhere:
        board.say(f"waiting for another process that executes {', '.join(run.name for run in elsewhere)}")
    while elsewhere:
        if free := [run for run in elsewhere if not is_claimed(run.partial(root))]:
            return free
        time.sleep(POLL)
    return []


def _make_datasets(suite: Suite, pending: Sequence[Run], root: Path) -> None:
    """Makes the datasets that pending runs learn from and that are not there yet; one race at a time.

    Raises:
        FileNotFoundError: a dataset that is not there, and that neither the suite nor the catalogue says how to make.
    """
    wanted = sorted({run.params["dataset"] for run in pending if "dataset" in run.params})
    while wanted:
        try:
            with claimed(root / DATASETS):
                for dataset_id in wanted:
                    _make_dataset(suite, dataset_id)
                return
        except Busy:
            time.sleep(POLL)


def _make_dataset(suite: Suite, dataset_id: str) -> None:
    from .commands import bar
    from .datasets import catalogue, load_dataset, make_dataset

    try:
        load_dataset(dataset_id)
    except FileNotFoundError:
        if recipe := suite.datasets.get(dataset_id):
            made: dict[str, Any] = {"dataset_id": dataset_id, "bar": bar, **recipe.settings}
            make_dataset(recipe.env_id, recipe.policy, **made)
        elif dataset_id in {row.id for row in catalogue.ROWS}:
            catalogue.make(dataset_id, bar=bar)
        else:
            raise


def _found(folder: Path) -> FinishedRun | None:
    """The finished run in ``folder``, under whatever versions; None where there is none, with a warning if damaged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VersionWarning)
        try:
            return read_run(folder)
        except FileNotFoundError:
            return None
        except ValueError as error:
            reason = str(error).removesuffix(": move it away")
    warnings.warn(f"executed anew: {reason}", UserWarning, 3)
    return None


def _of_other_versions(run: FinishedRun) -> str | None:
    """Why a finished run that was found cannot stand beside today's; None where it can."""
    changed = changes(run)
    if not changed:
        return None
    return f"was run with {', '.join(changed)}; move {run.folder} away to run it again, or race into another folder"


def command_of(verb: str, suite: str, **options: Any) -> str:
    """What to type: options that are None are left out, so is the local engine; sequences become lists with commas."""
    words = ["tiltyard", verb, suite]
    for name, value in options.items():
        if value is None or (name, value) == ("engine", "local"):
            continue
        listed = isinstance(value, Sequence) and not isinstance(value, str)
        words += [f"--{name}", ",".join(map(str, value)) if listed else str(value)]
    return shlex.join(words)


def _message(failures: Mapping[str, str], diverged: Sequence[str], finished: int, root: Path, command: str) -> str:
    reasons = "; ".join(f"{name} ({reason})" for name, reason in failures.items())
    told = (
        f"{len(failures)} of {len(failures) + finished} runs have no result: {reasons}; the other {finished} are "
        f"kept in {root}"
    )
    if diverged:
        told += (
            f"; {len(diverged)} of them diverged, which tiltyard report tells, and are not run again unless their "
            "folders, NAME.partial, are removed"
        )
    return told + f"; to go on, run: {command}" * (len(failures) > len(diverged))


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
        TextColumn("{task.description}", markup=False),
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
        self._drawing = Lock()
        self._total = progress.add_task(title, total=len(runs), completed=len(runs) - len(pending))

    def watch(self, stop: Event) -> None:
        """Moves the bars until ``stop``, reading the steps that each run notes in its partial folder."""
        while not stop.wait(POLL):
            with self._drawing:
                for name, run in self._pending.items():
                    steps = _steps(run.partial(self._root) / STEPS)
                    if steps is not None:
                        self._move(name, run, steps)

    def _move(self, name: str, run: Run, steps: int) -> None:
        length = run.budget or int(run.params["offline_steps"])
        if name not in self._bars:
            self._bars[name] = self._progress.add_task(f"{_short(run)} seed {run.seed}", total=length)
        self._progress.update(self._bars[name], completed=min(steps, length))

    def ended(self, run: Run, error: str | None) -> None:
        """Takes the run's bar away and leaves one line in its place."""
        with self._drawing:
            self._pending.pop(run.name)
            if run.name in self._bars:
                self._progress.remove_task(self._bars.pop(run.name))
            self._progress.advance(self._total)
        if error is not None:
            self.say(f"failed {run.name}: {error}", "red")
            return
        result = read_run(run.folder(self._root))
        self.say(
            f"{_short(run):<28} seed {run.seed:<4} score {result.normalised:6.3f}   "
            f"success {_share(result.successes):>6}   {result.wall_seconds:6.1f} s"
        )

    def say(self, line: str, style: str = "") -> None:
        """Prints a line above the bars, as it is: an error's own words may look like markup."""
        from rich.text import Text

        self._progress.print(Text(line, style))


def _short(run: Run) -> str:
    return f"{run.env_id.rpartition('/')[2]} {run.agent}"


def _share(successes: Sequence[bool]) -> str:
    return f"{sum(successes) / len(successes):.1%}" if successes else "-"


def _steps(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):  # not begun, just published, or caught in the middle of a write
        return None
