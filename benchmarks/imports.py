"""Results of other libraries as runs, for the same tables and plots as ours: ``tiltyard import``.

==============================  ===================================================================================
SB3's ``evaluations.npz``       returns of evaluation episodes, ``[points, episodes]``
SB3's Monitor CSV               returns of training episodes, over steps summed from their lengths; a folder of such
                                files is one training, whose environments wrote one each
CSV of a logger or its page     a column of returns over a column of steps: W&B, CleanRL, TensorBoard (:mod:`.logged`)
TensorBoard's event files       a scalar of returns: the first of :data:`.logged.TAGS` there is, or the one asked for; a
                                folder of them is one training that was stopped and gone on with
RL-zoo's ``benchmark.md``       one mean return a task and agent, of one run each
==============================  ===================================================================================

What is no evaluation (all but the first and the last, and scalars or columns called ``eval...``) is averaged over
:data:`POINTS` spans of steps; the score is that of the last. Returns stay raw: the tasks are other people's, named
``imported:TASK``, and ``imported.training:TASK`` where they are returns of training, which are never averaged or ranked
with those of evaluations.

Training ends with an episode, so that its last step differs from seed to seed: runs of one agent and task whose last
steps lie within :data:`ALIKE` of the smallest are one condition, and the smallest is their budget.
"""

import math
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from .events import Scalars, read_folder, read_scalars
from .logged import TAGS, columns_of
from .monitors import Trained, of_folder, of_text
from .records import LARGEST_FILE, read_bytes
from .runs import FinishedRun, Run

POINTS = 50
EVALUATIONS, TRAINING = "imported:", "imported.training:"
"""What the names of imported tasks begin with."""
ALIKE = 0.05
"""By how much the last steps of one condition's training curves may exceed the smallest, as a share of it."""
_CLEANRL = re.compile(r"(?P<task>.+?)__(?P<agent>.+?)__(?P<seed>\d+)__\d+")
_ZOO = re.compile(r"(?P<task>.+-v\d+)_(?P<seed>\d+)")
_LARGEST_STEP = 1 << 62


@dataclass(frozen=True)
class ImportedRun(Run):
    """A run of another library, with where it was read from."""

    source: str = ""

    @property
    def command(self) -> str:
        """What reads it again; how it was run, its own library knows."""
        return f"tiltyard import {self.source}"


@dataclass(frozen=True)
class Curve:
    """What a file holds of one run.

    Attributes:
        steps: of each point, ascending.
        values: mean return at each.
        final: returns of the last evaluation's episodes; the last value where there are none.
        agent, task: names, "" where the file does not say.
        seed: ``None`` where the file does not say.
        training: whether these are returns of training, and not of evaluations.
        successes: of the last evaluation's episodes; none where the file does not say.
        rates: share of successful episodes at each point; none where the file does not say.
    """

    steps: tuple[int, ...]
    values: tuple[float, ...]
    final: tuple[float, ...]
    agent: str = ""
    task: str = ""
    seed: int | None = None
    training: bool = False
    successes: tuple[bool, ...] = ()
    rates: tuple[float, ...] = ()

    @property
    def whose(self) -> tuple[str, str, bool]:
        """Agent and task, and whether these are returns of training."""
        return self.agent, self.task, self.training


@dataclass
class Source:
    """A file, or a folder of one training's Monitor or event files: ``AGENT@TASK=PATH``, ``AGENT=PATH`` or ``PATH``."""

    path: Path
    agent: str = ""
    task: str = ""
    tag: str | None = field(default=None)

    @classmethod
    def parse(cls, text: str, tag: str | None = None) -> "Source":
        """What a command line says; a path that has ``=`` in its own name is given with a name before it."""
        named, equals, path = text.partition("=")
        if not equals:
            return cls(Path(text), tag=tag)
        agent, _, task = named.partition("@")
        return cls(Path(path), agent, task, tag)


def read_runs(sources: Iterable[Source]) -> list[FinishedRun]:
    """The runs that ``sources`` hold; runs of one agent and task without a seed are counted from 0.

    Raises:
        FileNotFoundError: no such file.
        ValueError: a file of none of the formats, or that does not say whose and on what it is, or a file given twice.
    """
    sources = list(sources)
    _check_once([source.path for source in sources])
    found = [(_named(curve, source), source) for source in sources for curve in _read(source)]
    budgets = _budgets([curve for curve, _ in found])
    taken: dict[tuple[str, str, bool], set[int]] = {}
    runs = []
    for (curve, source), budget in zip(found, budgets, strict=True):
        seeds = taken.setdefault(curve.whose, set())
        seed = curve.seed if curve.seed is not None else min(set(range(len(seeds) + 1)) - seeds)
        seeds.add(seed)
        runs.append(_finished(replace(curve, seed=seed), source, budget))
    return runs


def _check_once(paths: Sequence[Path]) -> None:
    """Refuses what is given twice: it would count as so many more runs (``ValueError``); warns where that may be so."""
    counts = Counter(path.resolve() for path in paths)
    parts = Counter((path.resolve().parent, kind) for path in paths if (kind := _part_of(path)))
    holding = {folder for folder, _ in parts}
    for path in paths:
        if counts[path.resolve()] > 1:
            raise ValueError(f"{path} is given {counts[path.resolve()]} times: a file counts once, so give it once")
        if path.resolve() in holding:
            raise ValueError(f"{path} is given, and so are files in it: give the folder or its files")
    for (folder, kind), count in parts.items():
        if count > 1:
            told = f"{count} {kind} of {folder} count as {count} runs"
            warnings.warn(f"{told}: if one training wrote them, give the folder in place of the files", UserWarning, 3)


def _part_of(path: Path) -> str:
    """What a training may have written several of into one folder; "" of other files."""
    if path.name.endswith("monitor.csv"):
        return "Monitor files"
    return "event files" if "tfevents" in path.name else ""


def _budgets(curves: Sequence[Curve]) -> list[int]:
    """The steps of each run: its last one, or for a training curve the smallest last one of its condition."""
    budgets = [max(1, curve.steps[-1]) for curve in curves]
    first: dict[tuple[str, str, bool], int] = {}
    for i in sorted(range(len(curves)), key=lambda i: budgets[i]):
        if curves[i].training:
            start = first.setdefault(curves[i].whose, budgets[i])
            if budgets[i] > start * (1 + ALIKE):
                start = first[curves[i].whose] = budgets[i]
            budgets[i] = start
    return budgets


def _read(source: Source) -> list[Curve]:
    path = source.path
    if path.is_dir():
        if not any(path.glob("*monitor.csv")) and any(path.glob("*tfevents*")):
            return [_tensorboard(path, read_folder(path), source.tag)]
        return [_trained(path, of_folder(path))]
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        if path.suffix == ".npz":
            return [_sb3(path)]
        if "tfevents" in path.name:
            return [_tensorboard(path, read_scalars(path), source.tag)]
        if path.suffix == ".md":
            return _zoo(path)
        if path.suffix == ".csv":
            return _csv(path, source.tag)
    except ValueError as error:
        raise ValueError(str(error) if str(path) in str(error) else f"{path}: {error}") from error
    raise ValueError(f"{path} is no evaluations.npz, CSV, event file (tfevents) or benchmark.md")


def _named(curve: Curve, source: Source) -> Curve:
    """With the names of the user, else of the file, else of the folders of RL-zoo and CleanRL around it."""
    found: dict[str, Any] = {"agent": "", "task": "", "seed": None}
    inside = source.path / "monitor.csv" if source.path.is_dir() else source.path
    parents = inside.resolve().parents
    for i, folder in enumerate(parents[:3]):
        if match := _CLEANRL.fullmatch(folder.name):
            found = match.groupdict()
        elif match := _ZOO.fullmatch(folder.name):
            found = {**match.groupdict(), "agent": parents[i + 1].name}
        else:
            continue
        break
    agent = source.agent or curve.agent or found["agent"]
    task = source.task or curve.task or found["task"]
    seed = curve.seed if curve.seed is not None else found["seed"]
    if not agent or not task:
        what = f"on what {agent} is: give @TASK=" if agent else "whose it is and on what: give AGENT@TASK="
        raise ValueError(f"{source.path} does not say {what}{source.path}")
    return replace(curve, agent=agent, task=task, seed=None if seed is None else int(seed))


def _finished(curve: Curve, source: Source, budget: int) -> FinishedRun:
    task = (TRAINING if curve.training else EVALUATIONS) + re.sub(r"[^\w./-]+", "-", curve.task)
    assert curve.seed is not None
    rates = curve.rates or (math.nan,) * len(curve.steps)
    run = ImportedRun(
        *(task, curve.agent, curve.seed, budget),
        eval_episodes=len(curve.final),
        eval_points=len(curve.steps),
        source=str(source.path),
    )
    return FinishedRun(
        run=run,
        scores=curve.final,
        successes=curve.successes,
        normalised=float(np.mean(curve.final)),
        curve=tuple(zip(curve.steps, curve.values, rates, strict=True)),
        versions={},
        wall_seconds=0.0,
        commit=f"imported from {source.path.name}",
        hardware="not recorded",
        folder=source.path.parent / run.name,
    )


def binned(steps: Sequence[float], values: Sequence[float]) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Means of ``values`` over :data:`POINTS` equal spans of ``steps``, each at its end; few points stay as they are.

    Raises:
        ValueError: no points, or one that is not finite.
    """
    x, y = np.asarray(steps, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if not len(x) or not (np.isfinite(x).all() and np.isfinite(y).all()) or x.min() < 0 or x.max() > _LARGEST_STEP:
        raise ValueError("there are no returns in it, or some that are not finite")
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    if len(x) <= POINTS:
        return tuple(int(one) for one in x), tuple(float(one) for one in y)
    ends = np.linspace(0, x[-1], POINTS + 1)[1:]
    spans = np.minimum(np.searchsorted(ends, x), POINTS - 1)
    kept = np.unique(spans)
    means = [float(y[spans == span].mean()) for span in kept]
    return tuple(int(round(ends[span])) for span in kept), tuple(means)


def valued(name: str, steps: Sequence[float], values: Sequence[float]) -> tuple[list[float], list[float]]:
    """The points whose value is not NaN, as loggers write a mean over no episodes; a warning counts the others.

    Raises:
        ValueError: steps that fall, as where several runs stand in one file, or values that are NaN up to the end, so
            that what is left would hide how the training ended.
    """
    if fall := next((i for i in range(1, len(steps)) if steps[i] < steps[i - 1]), 0):
        raise ValueError(
            f"{name}: its steps fall from {steps[fall - 1]:,.0f} to {steps[fall]:,.0f}: give each run a file or a "
            "column of its own, with rows in the order of their steps"
        )
    points = [(at, value) for at, value in zip(steps, values, strict=True) if not math.isnan(value)]
    if len(points) == len(values):
        return list(steps), list(values)
    last, end = max((at for at, _ in points), default=-1), max(steps)
    if last < end * (1 - ALIKE):
        told = f"after step {last:,.0f}, up to its last, {end:,.0f}" if points else "at all steps"
        raise ValueError(
            f"{name}: its returns are NaN {told}, so that it has no score at its end; if it did not diverge, leave "
            "these cells empty"
        )
    told = f"{len(values) - len(points)} of {len(values)} returns are NaN and were left out"
    warnings.warn(f"{name}: {told}", UserWarning, 2)
    return [at for at, _ in points], [value for _, value in points]


def _over(path: Path, steps: Sequence[float], values: Sequence[float], **names: Any) -> Curve:
    try:
        at, means = binned(steps, values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return Curve(at, means, (means[-1],), **names)


def _sb3(path: Path) -> Curve:
    try:
        with np.load(path, allow_pickle=False) as found:
            steps, results = np.asarray(found["timesteps"]), np.asarray(found["results"], dtype=np.float64)
            successes = np.asarray(found["successes"], dtype=bool) if "successes" in found else None
    except (ValueError, KeyError, OSError, EOFError, TypeError, AttributeError, BadZipFile, zlib.error) as error:
        why = error.args[0] if error.args else "it is cut off"
        raise ValueError(f"{path} is no evaluations.npz: {why}") from error
    if results.ndim != 2 or not results.size or not np.isfinite(results).all():
        raise ValueError(f"{path} holds no finite returns [points, episodes]")
    if steps.shape != (len(results),) or not np.issubdtype(steps.dtype, np.integer):
        raise ValueError(
            f"{path} holds timesteps of shape {steps.shape} and kind {steps.dtype}: there must be one whole number for "
            f"each of its {len(results)} evaluations"
        )
    if steps.min() < 0 or (np.diff(steps) < 0).any() or steps.max() > _LARGEST_STEP:
        raise ValueError(f"{path} holds timesteps that do not ascend from 0: write its evaluations in their order")
    if successes is not None and successes.shape != results.shape:
        raise ValueError(
            f"{path} holds successes of shape {successes.shape} and results of shape {results.shape}: give each "
            "episode one, or leave successes out"
        )
    told: dict[str, Any] = (
        {}
        if successes is None
        else {"successes": tuple(successes[-1].tolist()), "rates": tuple(successes.mean(axis=1).tolist())}
    )
    means = results.mean(axis=1).tolist()
    return Curve(tuple(int(step) for step in steps), tuple(means), tuple(results[-1].tolist()), **told)


def _tensorboard(path: Path, scalars: Scalars, tag: str | None) -> Curve:
    chosen = next((one for one in ((tag,) if tag else TAGS) if one in scalars), None)
    if chosen is None:
        raise ValueError(f"{path} has no {tag or 'returns'}; give --tag, one of {', '.join(sorted(scalars)) or 'none'}")
    steps, values = zip(*scalars[chosen], strict=True)
    return _over(path, *valued(str(path), steps, values), training=_is_training(chosen))


def _is_training(name: str) -> bool:
    """Whether a scalar or a column of this name holds returns of training."""
    return not name.startswith("eval")


def _csv(path: Path, tag: str | None) -> list[Curve]:
    text = read_bytes(path, LARGEST_FILE).decode("utf-8-sig")
    if text.startswith("#{"):
        return [_trained(path, of_text(path, text))]
    curves = []
    for column in columns_of(path, text, tag):
        match = _CLEANRL.fullmatch(column.run)
        names: dict[str, Any] = match.groupdict() if match else {}
        names |= {"seed": int(names["seed"])} if match else {}
        names = names or ({"agent": column.run} if column.shared else {})
        named = f"{path}, column {column.run} - {column.tag}" if column.shared else str(path)
        steps, values = valued(named, column.steps, column.values)
        curves.append(_over(path, steps, values, training=_is_training(column.tag), **names))
    return curves


def _trained(path: Path, found: Trained) -> Curve:
    steps = np.cumsum([one.length for one in found.episodes]).tolist()
    return _over(path, steps, [one.value for one in found.episodes], task=found.env_id, training=True)


def _zoo(path: Path) -> list[Curve]:
    lines = [
        line.strip().strip("|").split("|") for line in path.read_text("utf-8").splitlines() if line.startswith("|")
    ]
    heads = [head.strip() for head in lines[0]] if lines else []
    if not {"algo", "env_id", "mean_reward", "n_timesteps"} <= set(heads):
        raise ValueError(f"{path} has no table with algo, env_id, mean_reward and n_timesteps")
    if len(lines) < 3:
        raise ValueError(f"{path} has a table without rows: there is nothing to import")
    return [_of_zoo(path, heads, number, cells) for number, cells in enumerate(lines[2:], 1)]


def _of_zoo(path: Path, heads: Sequence[str], number: int, cells: Sequence[str]) -> Curve:
    if len(cells) != len(heads):
        raise ValueError(
            f"{path}: row {number} of the table has {len(cells)} cells and its head {len(heads)}: give each as many"
        )
    row: Mapping[str, str] = dict(zip(heads, (cell.strip() for cell in cells), strict=True))
    try:
        mean, steps = float(row["mean_reward"]), _whole(row["n_timesteps"])
    except (ValueError, OverflowError):
        mean, steps = math.nan, 0
    if not math.isfinite(mean) or not 1 <= steps <= _LARGEST_STEP:
        told = f"mean_reward {row['mean_reward']!r} and n_timesteps {row['n_timesteps']!r}"
        raise ValueError(f"{path}: row {number} of the table has {told}, which must be a finite number and a count")
    return Curve((steps,), (mean,), (mean,), row["algo"], row["env_id"], 0)


def _whole(text: str) -> int:
    """``500k`` and ``10M`` as RL-zoo writes them."""
    units = {"k": 1_000, "M": 1_000_000}
    return round(float(text.rstrip("kM")) * units.get(text[-1:], 1))
