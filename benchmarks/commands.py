"""What the commands share: reading their arguments' small languages, finding agents, tables and progress bars."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import unknown
from ..envs.catalogue import find as find_env
from .options import parse_whole
from .runs import CHECKPOINT, is_finished, parse_value, read_run

if TYPE_CHECKING:
    from rich.table import Table
    from stable_baselines3.common.base_class import BaseAlgorithm

    from .statistics import Interval


def parse_names(text: str | None) -> list[str] | None:
    """``"ppo,dqn"`` as a list; None stays None."""
    return None if text is None else [name for name in (part.strip() for part in text.split(",")) if name]


def parse_seeds(text: str | None) -> list[int] | None:
    """``"0-9"``, ``"3"``, ``"0,2,5-7"`` as a list; None stays None.

    Raises:
        ValueError: anything else, or no seed at all.
    """
    if text is None:
        return None
    seeds: list[int] = []
    for part in text.split(","):
        ends = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if not ends or last < first or last - first >= 10_000:
            raise ValueError(f"--seeds takes numbers and ranges such as 0-9 or 0,2,5-7; got {text!r}")
        seeds += range(first, last + 1)
    return seeds


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """``["gamma=0.9", "net_arch=[64,64]"]`` as keywords; values are JSON, ``1e6`` a whole number, or else strings.

    Raises:
        ValueError: a pair without ``=``, or a key given twice.
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.isidentifier():
            raise ValueError(f"--set takes key=value, such as --set gamma=0.99; got {pair!r}")
        if key in settings:
            raise ValueError(f"--set {key} is given twice")
        settings[key] = parse_whole(value) if re.fullmatch(r"\d[\d_]*[eE]\d+", value) else parse_value(value)
    return settings


def load_agent(path: str | Path, *, trust: bool = False) -> "tuple[BaseAlgorithm, str | None]":
    """The agent of a run folder or of a checkpoint file, and the environment it was trained in (None: not known).

    Args:
        path: of either.
        trust: whether modules that it names may be imported, which runs their code.

    Raises:
        FileNotFoundError: neither is there.
        ValueError: the file is no checkpoint of ours, of an agent this version does not have, or names a module that
            would be imported without ``trust``.
    """
    from ..agents.catalogue import find as find_agent
    from ..agents.catalogue import rows
    from ..agents.checkpoint import read_checkpoint

    path = Path(path)
    if path.is_dir():
        if not is_finished(path):
            raise FileNotFoundError(f"{path} holds no finished run: give a run's folder or a checkpoint file")
        run = read_run(path).run
        _check_trust(path, (run.agent, run.env_id), trust)
        agent: BaseAlgorithm = find_agent(run.agent).load().load(path / CHECKPOINT)
        return agent, run.env_id
    if not path.exists() and not path.with_name(f"{path.name}.zip").exists():
        raise FileNotFoundError(f"there is no run folder or checkpoint file {path}")
    name = read_checkpoint(path)[0]["class"]
    classes = {key: row for row in reversed(rows()) for key in (row.entry_point, row.class_name)}
    if name not in classes:
        if ":" not in name:
            raise ValueError(f"{path} holds an {unknown('agent class', name, [row.class_name for row in rows()])}")
        _check_trust(path, (name,), trust)
    return (classes.get(name) or find_agent(name)).load().load(path), None


def _check_trust(path: Path, names: Sequence[str], trust: bool) -> None:
    """Refuses to import what a folder or file names, unless it is Stable-Baselines3's or the user trusts its maker."""
    for name in names:
        module, colon, _ = name.rpartition(":")
        if colon and not trust and module not in ("tiltyard", "stable_baselines3", "sb3_contrib"):
            raise ValueError(
                f"{path} names {name}: using it imports the module {module!r} and runs its code; if you trust whoever "
                "made it, add --trust"
            )


def table(title: str, *columns: str) -> "Table":
    """A plain table; columns whose name ends in ``#`` are numbers, on the right."""
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        justify: Literal["left", "right"] = "right" if column.endswith("#") else "left"
        made.add_column(column.rstrip("#"), justify=justify, overflow="fold", no_wrap=i == 0)
    return made


def print_evaluation(scores: Sequence[float], successes: Sequence[bool], env_id: str) -> None:
    """Prints mean return, normalised return (95% bootstrap intervals) and success rate (95% Wilson interval).

    What an environment of another package does not tell is left out (no scores to normalise by) or "-" (no success).
    """
    import numpy as np
    from rich.console import Console

    from .evaluation import wilson
    from .statistics import Interval, bootstrap_interval, mean

    row, n = find_env(env_id), len(scores)
    shown = table(f"{env_id}, {n} held-out episodes", "", "mean#", "95% interval#")
    kinds = [("return", list(scores))]
    if row.scored:
        kinds.append(("normalised (0 random, 1 expert)", [row.normalise(score) for score in scores]))
    for name, values in kinds:
        found = None
        if n >= 3:
            found = bootstrap_interval(np.array(values)[:, None], mean, rng=np.random.default_rng(0))
        shown.add_row(name, f"{sum(values) / n:.3f}", _ends(found))
    if successes:
        rate = sum(successes) / n
        shown.add_row("success", f"{rate:.3f}", _ends(Interval(rate, *wilson(successes))))
    else:
        shown.add_row("success", "-", "the environment does not say")
    Console().print(shown)


def _ends(found: "Interval | None") -> str:
    return "needs 3 episodes" if found is None else f"{found.low:.3f} to {found.high:.3f}"


@contextmanager
def bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr; call what it yields with the work done so far. The first call shows it."""
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True))
    task = progress.add_task(label, total=total)

    def show(done: int) -> None:
        progress.start()
        progress.update(task, completed=min(done, total))

    try:
        yield show
        show(total)
    finally:
        if progress.live.is_started:
            progress.stop()
