"""Results of other libraries as runs, for the same tables and plots as ours: ``tiltyard import``.

==============================  ===================================================================================
SB3's ``evaluations.npz``       returns of evaluation episodes, ``[points, episodes]``
SB3's Monitor CSV               returns of training episodes, over steps summed from their lengths
CSV of W&B, or of CleanRL       a column of returns over a column of steps; in W&B's export a column a run
TensorBoard's event files       a scalar of returns: the first of :data:`TAGS` there is, or the one asked for
RL-zoo's ``benchmark.md``       one mean return a task and agent, of one run each
==============================  ===================================================================================

What is no evaluation (all but the first and the last) is averaged over :data:`POINTS` spans of steps; the score is that
of the last. Returns stay raw: the tasks are other people's, named ``imported:TASK``, whatever they are called.
"""

import csv
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from .events import read_scalars
from .records import LARGEST_FILE, read_bytes
from .runs import FinishedRun, Run

POINTS = 50
TAGS = ("charts/episodic_return", "eval/mean_reward", "rollout/ep_rew_mean", "eval/episodic_return", "train/return")
STEPS = ("global_step", "Step", "step", "_step", "timesteps", "total_timesteps", "time/total_timesteps")
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
    """

    steps: tuple[int, ...]
    values: tuple[float, ...]
    final: tuple[float, ...]
    agent: str = ""
    task: str = ""
    seed: int | None = None


@dataclass
class Source:
    """A path with the names that its user gave: ``AGENT@TASK=PATH``, ``AGENT=PATH`` or ``PATH``."""

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
        ValueError: a file of none of the formats, or that does not say whose and on what it is.
    """
    taken: dict[tuple[str, str], set[int]] = {}
    runs = []
    for source in sources:
        for curve in _read(source):
            given = _named(curve, source)
            seeds = taken.setdefault((given.agent, given.task), set())
            seed = given.seed if given.seed is not None else min(set(range(len(seeds) + 1)) - seeds)
            seeds.add(seed)
            runs.append(_finished(replace(given, seed=seed), source))
    return runs


def _read(source: Source) -> list[Curve]:
    path = source.path
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        if path.suffix == ".npz":
            return [_sb3(path)]
        if "tfevents" in path.name:
            return [_tensorboard(path, source.tag)]
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
    parents = source.path.resolve().parents
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
        raise ValueError(f"{source.path} does not say whose it is and on what: give AGENT@TASK={source.path}")
    return replace(curve, agent=agent, task=task, seed=None if seed is None else int(seed))


def _finished(curve: Curve, source: Source) -> FinishedRun:
    task = re.sub(r"[^\w./-]+", "-", curve.task)
    assert curve.seed is not None
    run = ImportedRun(
        *(f"imported:{task}", curve.agent, curve.seed, max(1, curve.steps[-1])),
        eval_episodes=len(curve.final),
        eval_points=len(curve.steps),
        source=str(source.path),
    )
    return FinishedRun(
        run=run,
        scores=curve.final,
        successes=(),
        normalised=float(np.mean(curve.final)),
        curve=tuple((step, value, math.nan) for step, value in zip(curve.steps, curve.values, strict=True)),
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


def _over(path: Path, steps: Sequence[float], values: Sequence[float], **names: Any) -> Curve:
    try:
        at, means = binned(steps, values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return Curve(at, means, (means[-1],), **names)


def _sb3(path: Path) -> Curve:
    try:
        with np.load(path, allow_pickle=False) as found:
            steps, results = found["timesteps"], np.asarray(found["results"], dtype=np.float64)
    except (ValueError, KeyError, OSError) as error:
        raise ValueError(f"{path} is no evaluations.npz: {error}") from error
    if results.ndim != 2 or len(results) != len(steps) or not results.size or not np.isfinite(results).all():
        raise ValueError(f"{path} holds no finite returns [points, episodes]")
    means = results.mean(axis=1).tolist()
    return Curve(tuple(int(step) for step in steps), tuple(means), tuple(results[-1].tolist()))


def _tensorboard(path: Path, tag: str | None) -> Curve:
    scalars = read_scalars(path)
    chosen = next((one for one in ((tag,) if tag else TAGS) if one in scalars), None)
    if chosen is None:
        raise ValueError(f"{path} has no {tag or 'returns'}; give --tag, one of {', '.join(sorted(scalars)) or 'none'}")
    steps, values = zip(*scalars[chosen], strict=True)
    return _over(path, steps, values)


def _csv(path: Path, tag: str | None) -> list[Curve]:
    text = read_bytes(path, LARGEST_FILE).decode("utf-8-sig")
    if text.startswith("#{"):
        return [_monitor(path, text)]
    rows = list(csv.DictReader(StringIO(text)))
    columns = list(rows[0]) if rows else []
    step = next((name for name in STEPS if name in columns), None)
    wanted = (tag,) if tag else TAGS
    exported = [name for name in columns if name.endswith(tuple(f" - {one}" for one in wanted))]
    chosen = exported or [name for name in wanted if name in columns][:1]
    if step is None or not chosen:
        raise ValueError(
            f"{path} has no column of steps and returns; give --tag, one of {', '.join(map(str, columns))}"
        )
    curves = []
    for name in chosen:
        points = [(float(row[step]), float(row[name])) for row in rows if row[name] and row[step]]
        match = _CLEANRL.fullmatch(name.partition(" - ")[0])
        names: dict[str, Any] = match.groupdict() if match else {}
        names |= {"seed": int(names["seed"])} if match else {}
        names = names or ({"agent": name.partition(" - ")[0]} if exported else {})
        curves.append(_over(path, [x for x, _ in points], [y for _, y in points], **names))
    return curves


def _monitor(path: Path, text: str) -> Curve:
    first, _, rest = text.partition("\n")
    rows = list(csv.DictReader(StringIO(rest)))
    try:
        env_id = str(json.loads(first[1:]).get("env_id", "") or "")
        values = [float(row["r"]) for row in rows]
        steps = np.cumsum([float(row["l"]) for row in rows]).tolist()
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no Monitor CSV of Stable-Baselines3: {error!r}") from error
    return _over(path, steps, values, task="" if env_id == "None" else env_id)


def _zoo(path: Path) -> list[Curve]:
    lines = [
        line.strip().strip("|").split("|") for line in path.read_text("utf-8").splitlines() if line.startswith("|")
    ]
    heads = [head.strip() for head in lines[0]] if lines else []
    if not {"algo", "env_id", "mean_reward", "n_timesteps"} <= set(heads):
        raise ValueError(f"{path} has no table with algo, env_id, mean_reward and n_timesteps")
    curves = []
    for cells in lines[2:]:
        row = dict(zip(heads, (cell.strip() for cell in cells), strict=True))
        mean, steps = float(row["mean_reward"]), _whole(row["n_timesteps"])
        curves.append(Curve((steps,), (mean,), (mean,), row["algo"], row["env_id"], 0))
    return curves


def _whole(text: str) -> int:
    """``500k`` and ``10M`` as RL-zoo writes them."""
    units = {"k": 1_000, "M": 1_000_000}
    return round(float(text.rstrip("kM")) * units.get(text[-1:], 1))
