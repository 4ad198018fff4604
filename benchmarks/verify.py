"""``tiltyard verify``: everything that can be checked about a run from its folder, and its checkpoint played again.

The checks, each a :class:`Check` that is passed, failed or not done:

``files``       every file is whole, of the right types and sizes, and final.json is the last evaluation
``name``        the folder is called as the run in run.json is, whose digest covers every parameter; no link
``command``     the recorded command is the one that makes this run
``episodes``    as many episodes and evaluations as the run says, at the steps it says, none longer than can be
``scores``      every return of every evaluation is one that the environment can give (:mod:`.plausible`)
``normalised``  the stored normalised score is that of the stored returns
``budget``      the agent trained as long as the run says, and not for more than a rollout or a batch beyond
``suite``       task, budget, settings and episodes are the suite's
``seed``        of a reported run, not of a tuning run
``origin``      the commit is of a clean tree
``checkpoint``  is of the run's agent, seed and settings, and trained as long as final.json says
``evaluation``  the checkpoint, played again on the published problems, scores what is stored

On the machine and with the versions of the run, the last compares bit for bit. Elsewhere rounding may differ, and a
policy that samples draws anew: there the two means may be four standard errors apart. Loading a checkpoint
runs none of its code, and a run that names a module of its own is not played unless its maker is trusted.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..envs.catalogue import find as find_env
from .comparing import EXACTLY, compare
from .evaluation import TUNING_FROM, is_tuning
from .overshoot import is_far, rollout_of
from .plausible import beyond, too_early, too_long
from .records import Points, part, read_points, read_record
from .runs import (
    CHECKPOINT,
    CURVE,
    FINAL,
    GROUPED,
    MOST_BYTES,
    MOST_EPISODES,
    RESUMED,
    RUN,
    SAMPLED,
    FinishedRun,
    Run,
    read_finished,
)
from .suites import SUITES, Suite

LARGEST_BATCH = 1 << 16
"""Steps by which an agent that collects whole batches may overshoot its budget, at most, where n_steps does not say."""
OURS = ("tiltyard", "stable_baselines3", "sb3_contrib")
PASSED, FAILED, SKIPPED = "ok", "FAULT", "not done"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: as in this module's table.
        state: :data:`PASSED`, :data:`FAILED` or :data:`SKIPPED`.
        said: what was found, in a phrase.
    """

    name: str
    state: str
    said: str

    def __str__(self) -> str:
        return f"{self.state:<8}  {self.name:<10}  {self.said}"


@dataclass(frozen=True)
class Verification:
    """The results of all checks of one run."""

    folder: Path
    checks: tuple[Check, ...]

    @property
    def faults(self) -> tuple[Check, ...]:
        """The failed ones."""
        return tuple(check for check in self.checks if check.state == FAILED)

    @property
    def exact(self) -> bool:
        """Whether the checkpoint, played again, scored bit for bit what is stored."""
        return any(check.name == "evaluation" and check.said.endswith(EXACTLY) for check in self.checks)

    @property
    def verdict(self) -> str:
        """``verified``; ``consistent``, where the checkpoint was not played again; or ``faulty``."""
        if self.faults:
            return "faulty"
        done = {check.name for check in self.checks if check.state == PASSED}
        return "verified" if {"checkpoint", "evaluation"} <= done else "consistent"


def verify(folder: str | Path, *, suite: Suite | None = None, trust: bool = False, play: bool = True) -> Verification:
    """Checks one run folder.

    Args:
        folder: of a finished run.
        suite: it must be a run of this suite; by default it is only said which released suite it is of.
        trust: import the module that the run names, which runs its code.
        play: evaluate the checkpoint again, where there is one.
    """
    folder = Path(folder)
    try:
        finished = read_finished(folder)
        held = _Held(finished, *_stored(folder, finished.run))
    except (FileNotFoundError, ValueError) as error:
        return Verification(folder, (Check("files", FAILED, str(error).removesuffix(": move it away")),))
    checks = [Check("files", PASSED, f"{RUN}, {FINAL} and {CURVE} are whole and agree")]
    checks += [_checked(name, check, held) for name, check in _CHECKS.items()]
    checks.append(_checked("suite", lambda one: _suite(one, suite), held))
    checks += _checkpoint_checks(held, trust, play)
    return Verification(folder, tuple(checks))


@dataclass(frozen=True)
class _Held:
    """What a folder holds."""

    finished: FinishedRun
    record: dict[str, Any]
    final: dict[str, Any]
    points: Points

    @property
    def run(self) -> Run:
        return self.finished.run


class _Fault(Exception):
    """What a check found wrong."""


class _NotDone(Exception):
    """Why a check says nothing of this run."""


def _stored(folder: Path, run: Run) -> tuple[dict[str, Any], dict[str, Any], Points]:
    most = MOST_EPISODES if RESUMED in run.params else run.eval_points + 1
    final = read_record(folder / FINAL, MOST_BYTES + 64 * run.eval_episodes)
    return read_record(folder / RUN, MOST_BYTES), final, read_points(folder / CURVE, run.eval_episodes, most)


def _checked(name: str, check: Callable[[_Held], str], held: _Held) -> Check:
    """A check's answer."""
    try:
        return Check(name, PASSED, check(held))
    except _NotDone as reason:
        return Check(name, SKIPPED, str(reason))
    except (_Fault, ValueError) as fault:
        return Check(name, FAILED, str(fault))


def _name(held: _Held) -> str:
    folder = held.finished.folder
    if folder.is_symlink():
        raise _Fault(f"{folder.name} is a link; give the folder itself")
    if folder.resolve().name != held.run.name:
        raise _Fault(f"the folder is called {folder.resolve().name}, its run {held.run.name}")
    return f"the folder's digest {held.run.name[-8:]} is that of the run and all its parameters"


def _command(held: _Held) -> str:
    if held.record.get("command") != held.run.command:
        raise _Fault(f"the recorded command is another run's; this one's is: {held.run.command}")
    return held.run.command


def _episodes(held: _Held) -> str:
    run, points = held.run, held.points
    if message := too_long(run, points) or too_early(run, points):
        raise _Fault(message)
    if held.finished.successes and not points.successes.size:
        raise _Fault(f"{FINAL} tells of successes and {CURVE} of none")
    expected = run.eval_points + (1 if run.track == "offline to online" else 0)
    found = len(points.timesteps)
    fewer = f", of {expected} asked for" * (found < expected)  # an agent that learns in one go has the last one alone
    return f"{found} evaluations{fewer}, of {run.eval_episodes} episodes"


def _scores(held: _Held) -> str:
    if message := beyond(held.run, held.points.results.ravel().tolist()):
        raise _Fault(message)
    return f"returns from {held.points.results.min():.6g} to {held.points.results.max():.6g} can be"


def _normalised(held: _Held) -> str:
    stored, found = part(held.final, "normalised", float), held.finished.normalised
    today = find_env(held.run.env_id)
    if not math.isclose(stored, found, rel_tol=1e-9, abs_tol=1e-9):
        raise _Fault(
            f"the stored score is {stored:.6g}; the returns give {found:.6g} (random {today.random_score}, expert "
            f"{today.expert_score})"
        )
    return f"{found:.6g} follows from the returns" + ", and is their mean: no scale is known" * (not today.scored)


def _budget(held: _Held) -> str:
    run, trained = held.run, int(part(held.final, "timesteps", int))
    rollout = None if module_of(run.row.name) else rollout_of(run)  # of another package's agent nothing is imported
    if trained > run.budget + (rollout or LARGEST_BATCH):
        more = f", by more than a rollout of its settings, {rollout:,} steps" if rollout else ""
        raise _Fault(f"it trained for {trained:,} steps where the run says {run.budget:,}{more}")
    logged = _logged_steps(held.finished.folder)
    if logged is not None and logged > trained:
        raise _Fault(f"progress.csv goes to step {logged:,}, and {FINAL} says {trained:,}")
    whole = f", because a rollout of its settings is {rollout:,}" if rollout and is_far(trained, run.budget) else ""
    return f"trained for {trained:,} steps of {run.length}{whole}"


def _logged_steps(folder: Path) -> int | None:
    """The last step of the log in the environment; None without a log that says."""
    from .records import read_bytes

    path = folder / "progress.csv"
    if not path.is_file():
        return None
    lines = read_bytes(path, 1 << 28).decode("utf-8", "replace").splitlines()
    if not lines or "time/total_timesteps" not in lines[0].split(","):
        return None
    column = lines[0].split(",").index("time/total_timesteps")
    cells = [line.split(",")[column] for line in lines[1:] if line.count(",") == lines[0].count(",")]
    steps = [int(float(cell)) for cell in cells if cell.replace(".", "", 1).isdigit()]
    return max(steps, default=None)


def _seed(held: _Held) -> str:
    if is_tuning(held.run.seed):
        raise _NotDone(f"seed {held.run.seed} is of a tuning run (from {TUNING_FROM:,} on), which no leaderboard shows")
    return f"{held.run.seed} is of reported runs"


def _origin(held: _Held) -> str:
    commit = held.finished.commit
    if commit.endswith("+changes"):
        raise _NotDone(f"commit {commit[:10]} with changes: the code of this run is not known")
    return f"commit {commit[:10]}" if commit else "an installed wheel"


_CHECKS: dict[str, Callable[[_Held], str]] = {
    "name": _name,
    "command": _command,
    "episodes": _episodes,
    "scores": _scores,
    "normalised": _normalised,
    "budget": _budget,
    "seed": _seed,
    "origin": _origin,
}


def _suite(held: _Held, suite: Suite | None) -> str:
    run = held.run
    if suite is not None:
        if message := outside(suite, run):
            raise _Fault(message)
        return f"a run of {suite.name}" if _is_of(suite, run) else f"a guest of {suite.name}, which has no {run.agent}"
    for one in SUITES:
        if _is_of(one, run):
            return f"a run of {one.name}"
    raise _NotDone("of no suite of ours; give --suite to hold it against one")


def _is_of(suite: Suite, run: Run) -> bool:
    return run.name in {one.name for one in suite.runs(seeds=[run.seed])}


def outside(suite: Suite, run: Run) -> str:
    """Why ``run`` is none of ``suite``, with any seed, in a sentence; "" where it is one, or a guest of one.

    A guest is an agent that the suite does not have on a task that it has, with the task's episodes and evaluations,
    trained for no longer than the longest of the suite's own agents there.
    """
    if _is_of(suite, run):
        return ""
    here = [one for one in suite.runs(seeds=[run.seed]) if one.task == run.task]
    if not here:
        return f"suite {suite.name} has no task {run.task}"
    alike = [one for one in here if one.agent == run.agent]
    if not alike:
        return _unfair(suite, run, here)
    fields = ("budget", "eval_episodes", "eval_points", "params")
    nearest = min(alike, key=lambda one: sum(getattr(one, name) != getattr(run, name) for name in fields))
    other = [name for name in fields if getattr(nearest, name) != getattr(run, name)]
    said = ", ".join(
        f"{name} {_shown(getattr(run, name))} instead of {_shown(getattr(nearest, name))}" for name in other
    )
    return f"not as suite {suite.name} has it: {said or run.env_id}"


def _unfair(suite: Suite, run: Run, here: list[Run]) -> str:
    """What a guest has beyond the suite's own agents on its task; "" for nothing."""
    for name in ("eval_episodes", "eval_points"):
        if getattr(run, name) not in {getattr(one, name) for one in here}:
            return f"{name} {getattr(run, name):,} instead of {getattr(here[0], name):,}, as suite {suite.name} has it"
    lengths = {"steps": run.budget, "updates": run.params.get("offline_steps", 0)}
    most = {
        "steps": max(one.budget for one in here),
        "updates": max(one.params.get("offline_steps", 0) for one in here),
    }
    for what, length in lengths.items():
        if length > most[what]:
            return f"trained for {length:,} {what}, where suite {suite.name} allows {most[what]:,}"
    for name, usual in ((SAMPLED, False), (GROUPED, 1)):
        if run.params.get(name, usual) not in {one.params.get(name, usual) for one in here}:
            return f"{name} is not as suite {suite.name} has it"
    return f"it goes on from another run, which suite {suite.name} does not allow" if RESUMED in run.params else ""


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _checkpoint_checks(held: _Held, trust: bool, play: bool) -> Iterator[Check]:
    """Of the checkpoint itself, and of what it scores."""
    path = held.finished.folder / CHECKPOINT
    if not path.exists():
        yield Check("checkpoint", SKIPPED, f"no {CHECKPOINT} here: everything was checked but the evaluation")
        return
    foreign = next((name for name in (held.run.row.name, held.run.env_id) if module_of(name)), None)
    if foreign and not trust:
        said = f"{foreign} names the module {module_of(foreign)!r}: not imported without --trust"
        yield Check("checkpoint", SKIPPED, said)
        return
    try:
        yield Check("checkpoint", PASSED, _checkpoint(held, path))
    except (_Fault, ValueError, KeyError, TypeError, OSError) as fault:
        yield Check("checkpoint", FAILED, str(fault))
        return
    if play:
        yield _checked("evaluation", lambda one: _evaluation(one, trust), held)


def module_of(name: str) -> str:
    """The module that a name would import, if it is neither ours nor Stable-Baselines3's."""
    module, colon, _ = name.rpartition(":")
    return module if colon and module.partition(".")[0] not in OURS else ""


def _checkpoint(held: _Held, path: Path) -> str:
    from ..agents.checkpoint import read_checkpoint

    stored, _ = read_checkpoint(path)
    run, settings = held.run, stored["settings"]
    wanted = run.row.load().__name__
    if stored["class"] != wanted:
        raise _Fault(f"it holds a {stored['class']:.50}, and the run's agent is a {wanted}")
    if settings.get("seed") != run.seed:
        raise _Fault(f"it was trained with seed {settings.get('seed')!r:.40}, the run has seed {run.seed}")
    for name, value in run.params.items():
        if name in settings and isinstance(value, bool | int | float | str) and settings[name] != value:
            raise _Fault(f"it was trained with {name}={settings[name]!r:.40}, the run says {value!r:.40}")
    trained, said = stored["counters"].get("num_timesteps"), part(held.final, "timesteps", int)
    if trained != said:
        raise _Fault(f"it was trained for {trained!r:.20} steps, {FINAL} says {said}")
    return f"a {wanted} of seed {run.seed}, trained for {said:,} steps"


def _evaluation(held: _Held, trust: bool) -> str:
    from .commands import find_policy

    try:
        found = find_policy(str(held.finished.folder), None, trust=trust).evaluate()
    except (TypeError, KeyError, RuntimeError) as error:
        raise _Fault(f"the checkpoint cannot be played: {error}") from error
    comparison = compare(found, held.finished, held.points.lengths[-1].tolist())
    if comparison.agrees:
        return comparison.said
    raise _Fault(comparison.said)
