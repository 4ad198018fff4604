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

import json
import os
import re
import shlex
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..agents import presets
from ..agents.catalogue import Row
from ..agents.catalogue import find as find_agent
from ..envs.catalogue import find as find_env
from ..envs.catalogue import resolve
from . import provenance
from .defaults import is_default
from .evaluation import SEED_LIMIT, check_group
from .folders import claimed, publish
from .packages import behind, changes
from .records import Points, clock_of, episodes_of, part, printable, read_points, read_record, seconds_of, words
from .training_log import Logged, training_of
from .values import is_plain

if TYPE_CHECKING:
    from .session import Session

RUN, FINAL, CURVE = "run.json", "final.json", "evaluations.npz"
CHECKPOINT, STEPS = "checkpoint.zip", "steps"
DATA = ("dataset", "offline_steps")
"""Params that speak of data, not of the agent's constructor."""
SAMPLED = "eval_sampled"
"""A param that says to evaluate the agent's sampled actions instead of its best ones; for language models the usual."""
GROUPED = "eval_group"
"""A param that says how many evaluation episodes each problem has; those of one stand beside each other."""
PRESET = "preset"  # a param that names the preset of the agent's settings, or "none"; else the environment's own
RESUMED = "resumed_at"
"""A param that says at which step the run went on from another one's checkpoint; see :mod:`.session`."""
CONTINUES = "continues"
"""A param of runs of a population (:mod:`.pbt`): the folder beside this run that it goes on from, "" for the first."""
MOST_EPISODES, MOST_BYTES = 1_000_000, 1 << 20
"""Of one evaluation, and of ``run.json``, in a folder that is still read."""
_PARAMS = {"dataset": str, "offline_steps": int, "env_kwargs": dict, SAMPLED: bool, RESUMED: int, PRESET: str}
_PARAMS |= {GROUPED: int, CONTINUES: str}
NAME = re.compile(r".+-s\d+-[0-9a-f]{8}")
"""What folders of runs are called like."""


class VersionWarning(UserWarning):
    """A run folder was written under other versions than the ones installed; its numbers may not be comparable."""


@dataclass(frozen=True)
class Run:
    """One agent trained once on one environment.

    Attributes:
        env_id: a Gymnasium id: of the environments' catalogue, or of another package, also as ``module:id``.
        agent: a name of the agents' catalogue or of a method of language agents, ``control:NAME`` or
            ``language:NAME`` where it is both, or ``module:Class``.
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
        kinds: tuple[tuple[str, type[Any], str], ...] = (
            ("env_id", str, "text"),
            ("agent", str, "text"),
            ("params", Mapping, "a mapping"),
        )
        for name, kind, said in kinds:
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"a run's {name} must be {said}, got {getattr(self, name)!r}")
        least_budget = 0 if dict(self.params).get("offline_steps") else 1
        for name, least in (("seed", 0), ("budget", least_budget), ("eval_episodes", 1), ("eval_points", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                alone = "; one of 0 steps needs offline_steps, updates on a dataset" if name == "budget" else ""
                raise ValueError(f"a run's {name} must be an integer of at least {least}, got {value!r}{alone}")
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
    def row(self) -> Row:
        """The row that the agent's name stands for in this environment; see :func:`tiltyard.agents.catalogue.find`."""
        return find_agent(self.agent, find_env(self.env_id).domain)

    @property
    def track(self) -> str:
        """``online``, ``offline`` (a dataset alone), or ``offline to online``."""
        return "online" if "dataset" not in self.params else "offline to online" if self.budget else "offline"

    @property
    def where(self) -> str:
        """The environment's id and keywords, but for default interfaces and what changes training alone."""
        return self._named(lambda key, value: key.startswith("training_") or is_default(self.env_id, key, value))

    def _named(self, untold: Callable[[str, Any], bool]) -> str:
        given = self.params.get("env_kwargs", {})
        settings = [f"{key}={value}" for key, value in sorted(given.items()) if not untold(key, value)]
        return printable(self.env_id + bool(settings) * " with " + ", ".join(settings))

    @property
    def task(self) -> str:
        """What is to be learnt, from what: the environment's id and keywords, and the dataset if there is one."""
        named = self._named(lambda *_: False)
        if self.track == "online":
            return named
        data = printable(self.params["dataset"].rpartition("/")[2])
        return f"{named} from {data}" + ", then online" * (self.budget > 0)

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
        words = ["tiltyard", "train", "--env", self.env_id, "--agent", self.agent, "--seed", f"{self.seed}", "--steps"]
        words += [f"{self.budget}", "--eval-episodes", f"{self.eval_episodes}", "--eval-points", f"{self.eval_points}"]
        for key, value in self.params.items():
            words += ["--set", f"{key}={value if is_plain(value) else json.dumps(value)}"]
        return shlex.join(words)

    def check(self, *, elsewhere: bool = False) -> None:
        """Refuses a run that could not start, before anything has started.

        Args:
            elsewhere: it is for another machine, which may have devices that this one has not.

        Raises:
            KeyError: no such environment or agent.
            ValueError: the agent cannot be trained in this environment, or no such preset.
            TypeError: a keyword the agent does not have.
        """
        from .execution import check_params

        env, agent = resolve(self.env_id), self.row
        if not agent.trains_in(env):
            raise ValueError(
                f"agent {agent.name!r} trains in {', '.join(agent.domains)} environments; {env.id} is {env.domain}"
            )
        here = {name: value for name, value in self.params.items() if not (elsewhere and name == "device")}
        check_params(agent, here)
        check_group(self.eval_episodes, self.params.get(GROUPED, 1))
        presets.find(self.params.get(PRESET, presets.AUTO), self.env_id)

    @property
    def settings_from(self) -> str:
        """Where the agent's settings come from, in a phrase."""
        return presets.described(self.agent, self.env_id, self.params.get(PRESET, presets.AUTO))

    def execute(
        self,
        root: str | Path = "runs",
        *,
        progress: Callable[[int], None] | None = None,
        session: "Session | None" = None,
    ) -> "FinishedRun":
        """Trains, evaluates and publishes the run's folder under ``root``; a finished run is only read.

        Args:
            root: folder of run folders; made where missing. What is no finished run of this name there is replaced;
                a stopped training that can be gone on from is renamed and kept (:func:`.session.set_aside`).
            progress: called now and then with the environment steps done.
            session: who is told of it, and what it goes on from.

        Raises:
            KeyError, ValueError, TypeError: as :meth:`check`; Busy: another process is executing the same run.
            OSError: the disk is full or not writable; the message names the run.
        """
        from .execution import train
        from .session import of_population, set_aside

        self.check()
        session = session or of_population(self, Path(root))
        try:
            set_aside(self, Path(root))
            with claimed(self.partial(root)) as partial:
                if not is_finished(self.folder(root)):
                    _write_json(partial / RUN, _record(self))
                    train(self, partial, progress, session)
                    (partial / STEPS).unlink(missing_ok=True)
                    publish(partial, self.folder(root))
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
        clock: seconds by the wall and of the processor from the run's start to each point of the curve, earlier
            evaluations included; () of runs that did not record it, and of those that went on from others.
        training: columns of a language agent's log of its training completions (:mod:`.training_log`), by name.
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
    clock: tuple[tuple[float, float], ...] = ()
    training: Mapping[str, Logged] = field(default_factory=dict, hash=False)


def is_finished(folder: Path) -> bool:
    """Whether ``folder`` holds a whole run that passes every check of :func:`read_run`, under whatever versions."""
    try:
        read_finished(folder)
    except (FileNotFoundError, ValueError):
        return False
    return True


def read_run(folder: str | Path) -> FinishedRun:
    """Reads one finished run, warning (:class:`VersionWarning`) where it was written under other versions.

    The folder's name must be that of the run in ``run.json`` (whose digest it holds), ``final.json`` must agree with
    the last evaluation in ``evaluations.npz``, and every value must have its type, its size and a finite value. That
    finds what disks, copies and hands damage; it does not find a folder whose files were all changed consistently,
    which takes evaluating the checkpoint again (:mod:`.verify`).

    Raises:
        FileNotFoundError: no finished run lies there.
        ValueError: what lies there is damaged, or of an environment or agent this version does not have.
    """
    finished = read_finished(Path(folder))
    if changed := changes(finished):
        warnings.warn(f"{folder} was run with {', '.join(changed)}: its numbers may differ", VersionWarning, 2)
    return finished


def read_finished(folder: Path) -> FinishedRun:
    """:func:`read_run`, whatever versions the run was written under."""
    if not all(os.path.exists(folder / name) for name in (RUN, FINAL, CURVE)):  # False also where nobody may look
        raise FileNotFoundError(f"{folder} holds no finished run (a finished run has {RUN}, {FINAL} and {CURVE})")
    try:
        return _checked(folder)
    except _Renamed:
        raise
    except (KeyError, TypeError, ValueError, OSError) as error:
        reason = " ".join(printable(str(error.args[0] if isinstance(error, KeyError) else error)).split())
        short = reason if len(reason) <= 200 else reason[:197] + "..."
        raise ValueError(f"{folder} is damaged or from an incompatible version ({short}): move it away") from error


class _Renamed(ValueError):
    """A folder that is not called as the run in it."""


def _checked(folder: Path) -> FinishedRun:
    record = read_record(folder / RUN, MOST_BYTES)
    run = _stored_run(part(record, "run", dict))
    name = folder.absolute().name
    if run.name != (name if NAME.fullmatch(name) else folder.resolve().name):  # ".", and links called otherwise
        raise _Renamed(f"{folder} was renamed, or its {RUN} changed: rename it back to {run.name}, or move it away")
    final = read_record(folder / FINAL, MOST_BYTES + 64 * run.eval_episodes)
    scores, successes = episodes_of(final, run.eval_episodes)
    most = MOST_EPISODES if RESUMED in run.params else run.eval_points + 1  # one more: after the data
    points = read_points(folder / CURVE, run.eval_episodes, most)  # a resumed run has those of the runs before it too
    if points.results[-1].tolist() != list(scores) or points.successes[-1].tolist() != list(successes):
        raise ValueError(f"{FINAL} and the last evaluation in {CURVE} are not the same")
    _check_steps(run, part(final, "timesteps", int), points)
    versions = part(record, "versions", dict)
    part(final, "normalised", float)
    return FinishedRun(
        run=run,
        scores=scores,
        successes=successes,
        normalised=find_env(run.env_id).normalise(sum(scores) / len(scores)),
        curve=points.curve,
        versions={printable(name): words(versions, name) for name in versions},
        wall_seconds=seconds_of(final),
        commit=words(record, "commit"),
        hardware=words(record, "hardware"),
        folder=folder,
        clock=clock_of(final, len(points.timesteps)),
        training=training_of(final),
    )


def _stored_run(fields: Mapping[str, Any]) -> Run:
    """The run that ``run.json`` names, if it is of an environment and an agent that there are."""
    run = Run(**fields)
    find_agent(run.agent, find_env(run.env_id).domain)
    for name, kind in _PARAMS.items():
        if name in run.params:
            part(run.params, name, kind)
    if run.params.get("offline_steps", 0) < 0 or "split" in run.params.get("env_kwargs", {}):
        raise ValueError("no run could have been trained with these params")
    if max(run.eval_episodes, run.eval_points) > MOST_EPISODES:
        raise ValueError(f"a run has at most {MOST_EPISODES:,} episodes an evaluation and as many evaluations")
    return run


def _check_steps(run: Run, trained: int, points: Points) -> None:
    """The last evaluation came when the agent had trained for as long as the run says."""
    last, updates = points.timesteps[-1], run.params.get("offline_steps", 0)
    if trained < run.budget or last != (trained if run.budget else updates):
        raise ValueError(f"it was evaluated last after {last} steps, and trained for {trained} of {run.length}")


def _record(run: Run) -> dict[str, Any]:
    return {
        "run": asdict(run),
        "command": run.command,
        "settings": run.settings_from,
        "versions": provenance.versions() | behind(run, loaded=True),
        "commit": provenance.commit(),
        "hardware": provenance.hardware(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _write_json(path: Path, record: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(record, indent=1) + "\n")
