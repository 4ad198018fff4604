"""A run is a value, :class:`Run`; executing it fills one folder, which exists either whole or not at all.

A run works in ``<folder>.partial`` and renames that to ``<folder>`` as its last act, after every file has reached the
disk. A process killed at any moment therefore leaves a finished folder or a partial one; partial folders never count
and are emptied when the run starts again. Unfinished runs start again from step 0, never from the middle:
most control agents' checkpoints hold no replay and no generators, so a continued run would not be the run that its
command reproduces.

==================  ==============================================================================================
``run.json``        the run, its command, versions, commit, hardware
``progress.csv``    SB3's logger
``evaluations.npz`` SB3's ``EvalCallback`` format; the last point is the final one, after ``learn`` has returned
``final.json``      raw return and success of every final evaluation episode, the normalised score, seconds
``checkpoint.zip``  the agent
==================  ==============================================================================================
"""

import fcntl
import json
import os
import shlex
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from ..agents.catalogue import find as find_agent
from ..envs.catalogue import find as find_env
from ..envs.catalogue import resolve
from . import provenance
from .evaluation import SEED_LIMIT

if TYPE_CHECKING:
    from .session import Session

RUN, FINAL, CURVE = "run.json", "final.json", "evaluations.npz"
CHECKPOINT, STEPS = "checkpoint.zip", "steps"
DATA = ("dataset", "offline_steps")
"""Params that speak of data, not of the agent's constructor."""
SAMPLED = "eval_sampled"
"""A param that says to evaluate the agent's sampled actions instead of its best ones; for language models the usual."""


RESUMED = "resumed_at"
"""A param that says at which step the run went on from another one's checkpoint; see :mod:`.session`."""


class VersionWarning(UserWarning):
    """A run folder was written under other versions than the ones installed; its numbers may not be comparable."""


@dataclass(frozen=True)
class Run:
    """One agent trained once on one environment.

    Attributes:
        env_id: a Gymnasium id: of the environments' catalogue, or of another package, also as ``module:id``.
        agent: a name of the agents' catalogue, or ``module:Class``.
        seed: of everything random in training; from 10,000 on it marks a tuning run (see :mod:`.evaluation`).
        budget: environment steps of training (agents that collect whole batches may overshoot by less than one batch);
            0 for a run that learns from a dataset alone.
        params: constructor keywords of the agent, where they differ from its row; what JSON can hold. Two
            more say what it learns from first: ``dataset``, the id of a Minari dataset, and ``offline_steps``, updates.
        eval_episodes: held-out episodes of every evaluation.
        eval_points: evaluations, evenly spaced, the final one included.
    """

    env_id: str
    agent: str
    seed: int
    budget: int
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    eval_episodes: int = 100
    eval_points: int = 10

    def __post_init__(self) -> None:
        least_budget = 0 if dict(self.params).get("offline_steps") else 1
        for name, least in (("seed", 0), ("budget", least_budget), ("eval_episodes", 1), ("eval_points", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"a run's {name} must be an integer of at least {least}, got {value!r}")
        if self.seed >= SEED_LIMIT:
            raise ValueError(f"a run's seed must be below {SEED_LIMIT}, where evaluation seeds begin; got {self.seed}")
        try:
            object.__setattr__(self, "params", json.loads(json.dumps(dict(self.params))))
        except TypeError as error:
            raise ValueError(f"a run's params must be what JSON can hold, got {self.params!r}") from error

    @property
    def name(self) -> str:
        """Readable, and different for every different run: ``Hopper-v5-sac-s0-1f3a5c7e``."""
        digest = sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:8]
        return f"{self.env_id.rpartition('/')[2]}-{self.agent}-s{self.seed}-{digest}".replace(":", ".")

    @property
    def track(self) -> str:
        """``online``, ``offline`` (a dataset alone), or ``offline to online``."""
        return "online" if "dataset" not in self.params else "offline to online" if self.budget else "offline"

    @property
    def task(self) -> str:
        """What is to be learnt, from what: the environment's id and keywords, and the dataset if there is one."""
        words = ", ".join(f"{key}={value}" for key, value in sorted(self.params.get("env_kwargs", {}).items()))
        where = f"{self.env_id} with {words}" if words else self.env_id
        if self.track == "online":
            return where
        return f"{where} from {self.params['dataset'].rpartition('/')[2]}" + ", then online" * (self.budget > 0)

    @property
    def length(self) -> str:
        """How long it trains: ``20,000 steps``, ``5,000 updates``, or both."""
        updates = self.params.get("offline_steps", 0)
        parts = [f"{updates:,} updates"] * bool(updates) + [f"{self.budget:,} steps"] * bool(self.budget)
        return ", ".join(parts)

    def folder(self, root: str | Path) -> Path:
        """Where the finished run lies under ``root``."""
        return Path(root) / self.name

    def partial(self, root: str | Path) -> Path:
        """Where the run works until it is finished."""
        return Path(root) / f"{self.name}.partial"

    @property
    def command(self) -> str:
        """The command line that reproduces this run."""
        words = ["tiltyard", "train", "--env", self.env_id, "--agent", self.agent, "--seed", str(self.seed)]
        words += ["--steps", str(self.budget)]
        for name, default in (("eval_episodes", 100), ("eval_points", 10)):
            if getattr(self, name) != default:
                words += [f"--{name.replace('_', '-')}", str(getattr(self, name))]
        for key, value in self.params.items():
            words += ["--set", f"{key}={value if is_plain(value) else json.dumps(value)}"]
        return shlex.join(words)

    def check(self) -> None:
        """Refuses a run that could not start, before anything has started.

        Raises:
            KeyError: no such environment or agent.
            ValueError: the agent cannot be trained in this environment.
            TypeError: a keyword the agent does not have.
        """
        from .execution import check_params

        env, agent = resolve(self.env_id), find_agent(self.agent)
        if not agent.trains_in(env):
            raise ValueError(
                f"agent {agent.name!r} trains in {', '.join(agent.domains)} environments; {env.id} is {env.domain}"
            )
        check_params(agent, self.params)

    def execute(
        self,
        root: str | Path = "runs",
        *,
        progress: Callable[[int], None] | None = None,
        session: "Session | None" = None,
    ) -> "FinishedRun":
        """Trains, evaluates and publishes the run's folder under ``root``; a finished run is only read.

        Args:
            root: folder of run folders; made where missing.
            progress: called now and then with the environment steps done.
            session: who is told of it, and what it goes on from.

        Raises:
            KeyError, ValueError, TypeError: as :meth:`check`.
            RuntimeError: another process is executing the same run.
            OSError: the disk is full or not writable; the message names the run.
        """
        from .execution import train

        self.check()
        try:
            with _claimed(self.partial(root)) as partial:
                if not is_finished(self.folder(root)):
                    _write_json(partial / RUN, _record(self))
                    train(self, partial, progress, session)
                    _publish(partial, self.folder(root))
        except OSError as error:
            if error.errno is None:  # a sentence of ours, such as one on a missing dataset
                raise
            raise OSError(error.errno, f"{self.name}: {error.strerror or error}", error.filename) from error
        return read_run(self.folder(root))


@dataclass(frozen=True)
class FinishedRun:
    """A finished run as read from its folder.

    Attributes:
        run: what was run.
        scores: raw (undiscounted) return of each final evaluation episode, on the test split.
        successes: whether each of these episodes succeeded; () where the environment does not say.
        normalised: mean score on the scale where 0 is a random policy and 1 the environment's expert; the raw mean
            where these are not known.
        curve: (environment steps, mean raw return, success rate) of every evaluation, the final one last.
        versions: of what was installed.
        wall_seconds: training and evaluations together.
        commit: of Tiltyard's checkout, ``""`` for an installed wheel.
        hardware: processor, cores, memory.
        folder: where it lies.
    """

    run: Run
    scores: tuple[float, ...]
    successes: tuple[bool, ...]
    normalised: float
    curve: tuple[tuple[int, float, float], ...]
    versions: dict[str, str]
    wall_seconds: float
    commit: str
    hardware: str
    folder: Path


def is_plain(value: Any) -> bool:
    """Whether ``value`` is a string that a command line may hold without JSON's quotes and still mean itself."""
    return isinstance(value, str) and parse_value(value) == value


def parse_value(text: str) -> Any:
    """A value of ``--set key=value``: JSON, Python's ``True``, ``False`` and ``None``, or else the string itself."""
    try:
        return json.loads({"True": "true", "False": "false", "None": "null"}.get(text, text))
    except ValueError:
        return text


def is_finished(folder: Path) -> bool:
    """Whether ``folder`` holds a whole run: its records are there and can be read."""
    try:
        return bool(_read_json(folder / RUN)) and bool(_read_json(folder / FINAL)) and (folder / CURVE).is_file()
    except (OSError, ValueError):
        return False


def read_run(folder: str | Path) -> FinishedRun:
    """Reads one finished run, warning (:class:`VersionWarning`) where it was written under other versions.

    Raises:
        FileNotFoundError: no finished run lies there.
        ValueError: what lies there is damaged, or of an environment this version does not have.
    """
    folder = Path(folder)
    if not is_finished(folder):
        raise FileNotFoundError(f"{folder} holds no finished run (a finished run has {RUN}, {FINAL} and {CURVE})")
    record, final = _read_json(folder / RUN), _read_json(folder / FINAL)
    try:
        run, versions = Run(**record["run"]), dict(record["versions"])
        finished = FinishedRun(
            run=run,
            scores=tuple(final["scores"]),
            successes=tuple(final["successes"]),
            normalised=find_env(run.env_id).normalise(sum(final["scores"]) / len(final["scores"])),
            curve=_read_curve(folder / CURVE),
            versions=versions,
            wall_seconds=final["wall_seconds"],
            commit=record["commit"],
            hardware=record["hardware"],
            folder=folder,
        )
    except (KeyError, TypeError, ValueError, BadZipFile) as error:
        raise ValueError(f"{folder} is damaged or from an incompatible version ({error}): move it away") from error
    if changed := provenance.differences(versions):
        warnings.warn(f"{folder} was run with {', '.join(changed)}: its numbers may differ", VersionWarning, 2)
    return finished


def load_runs(root: str | Path) -> list[FinishedRun]:
    """Every finished run under ``root``, by name; partial folders do not count, damaged ones are named in a warning.

    A folder written under other versions is returned as well, and said so (:class:`VersionWarning`); use
    :func:`one_version` before pooling.

    Raises:
        FileNotFoundError: no such folder.
    """
    root = Path(root)
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root}: give the folder of a race (its --out)")
    runs = []
    for folder in sorted(root.iterdir()):
        if folder.suffix != ".partial" and is_finished(folder):
            try:
                runs.append(read_run(folder))
            except ValueError as error:
                warnings.warn(f"left out: {error}", UserWarning, 2)
    return runs


def one_version(runs: Iterable[FinishedRun]) -> tuple[list[FinishedRun], list[FinishedRun]]:
    """Splits ``runs`` into those that may be pooled (of one set of versions) and those to leave out.

    The set kept is that of the versions installed now; where no run has those, that of the most runs.
    """
    groups: dict[tuple[str, ...], list[FinishedRun]] = {}
    for run in runs:
        groups.setdefault(tuple(provenance.differences(run.versions)), []).append(run)
    kept = groups.get(()) or max(groups.values(), key=len, default=[])
    return kept, [run for group in groups.values() if group is not kept for run in group]


def _read_curve(path: Path) -> tuple[tuple[int, float, float], ...]:
    import numpy as np

    with np.load(path) as points:
        scores, steps = points["results"].mean(axis=1), points["timesteps"]
        told = "successes" in points.files  # not every environment tells
        successes = points["successes"].mean(axis=1) if told else np.full(len(steps), np.nan)
    return tuple((int(t), float(x), float(y)) for t, x, y in zip(steps, scores, successes, strict=True))


def _record(run: Run) -> dict[str, Any]:
    return {
        "run": asdict(run),
        "command": run.command,
        "versions": provenance.versions(),
        "commit": provenance.commit(),
        "hardware": provenance.hardware(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


@contextmanager
def _claimed(partial: Path) -> Iterator[Path]:
    """An empty ``partial`` folder that no other process holds; the claim ends with the process, however it ends."""
    partial.mkdir(parents=True, exist_ok=True)
    with (partial / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RuntimeError(f"{partial.stem} is being run by another process") from error
        for leftover in partial.iterdir():
            if leftover.name != "lock":
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        yield partial


def _publish(partial: Path, folder: Path) -> None:
    """Makes ``partial`` the finished ``folder`` in one step, its files on the disk before its name."""
    (partial / STEPS).unlink(missing_ok=True)
    for path in (*partial.iterdir(), partial):
        _sync(path)
    if folder.exists():  # damaged: is_finished() was false
        shutil.rmtree(folder)
    os.replace(partial, folder)
    _sync(folder.parent)
    (folder / "lock").unlink()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _read_json(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text())
    return record


def _write_json(path: Path, record: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(record, indent=1) + "\n")
