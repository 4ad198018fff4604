"""What the commands share: reading their arguments' small languages, finding agents, tables and progress bars."""

import os
import re
import select
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import unknown
from ..agents.catalogue import find as find_agent
from ..envs.catalogue import find as find_env
from ..envs.catalogue import resolve
from .options import parse_whole
from .runs import CHECKPOINT, GROUPED, SAMPLED, Run, read_run
from .values import parse_value

if TYPE_CHECKING:
    from rich.table import Table
    from stable_baselines3.common.base_class import BaseAlgorithm

    from .evaluation import Evaluation


def parse_names(text: str | None) -> list[str] | None:
    """``"ppo,dqn"`` as a list; None stays None."""
    return None if text is None else [name for name in (part.strip() for part in text.split(",")) if name]


def parse_seeds(text: str | None) -> list[int] | None:
    """``"0-9"``, ``"3"``, ``"0,2,5-7"`` as a list without repeats; None stays None.

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
    return list(dict.fromkeys(seeds))


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """``["gamma=0.9", "net_arch=[64,64]"]`` as keywords; values are JSON, ``1e6`` a whole number, or else strings.

    Numbers such as ``1e20`` are too large for counts, and are floats.

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
        counts = re.fullmatch(r"\d[\d_]*[eE]\d+", value) and float(value) < 1e18
        settings[key] = parse_whole(value) if counts else parse_value(value)
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
    from ..agents.catalogue import rows
    from ..agents.checkpoint import read_checkpoint

    path = Path(path)
    if path.is_dir():
        run = read_run(path).run
        return _agent_of(run, path, trust), run.env_id
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


def _agent_of(run: Run, folder: Path, trust: bool) -> "BaseAlgorithm":
    _check_trust(folder, (run.row.name, run.env_id), trust)
    agent: BaseAlgorithm = run.row.load().load(folder / CHECKPOINT)
    return agent


@dataclass(frozen=True)
class Policy:
    """What is evaluated or played, and where.

    Attributes:
        agent: with SB3's ``predict``, or ``"expert"`` or ``"random"``.
        env_id: of the environment.
        task: the environment with its keywords, in words.
        env_kwargs: the environment's keywords.
        deterministic: whether the agent takes its best actions or samples.
        episodes: of an evaluation.
        seed: of training, which decides the problems; see :mod:`.evaluation`.
        group: episodes of each problem.
    """

    agent: Any
    env_id: str
    task: str
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    deterministic: bool = True
    episodes: int = 100
    seed: int = 0
    group: int = 1

    @property
    def actions(self) -> str:
        """``"best actions"`` or ``"sampled actions"`` of an agent; nothing for those that are known by name."""
        return "" if isinstance(self.agent, str) else _ACTIONS[self.deterministic]

    def evaluate(self, episodes: int | None = None) -> "Evaluation":
        """Plays the held-out episodes, as many as the run's own evaluation if not said otherwise."""
        from .evaluation import MAX_ENVS, evaluate, evaluation_seeds
        from .threads import one_thread

        count = self.episodes if episodes is None else episodes
        seeds = evaluation_seeds(self.seed, min(count, MAX_ENVS), self.group)
        with one_thread():
            return evaluate(
                self.agent,
                self.env_id,
                episodes=count,
                seeds=seeds,
                deterministic=self.deterministic,
                **self.env_kwargs,
            )


def find_policy(name: str, env_id: str | None, *, trust: bool = False) -> Policy:
    """The policy that a command line names: a run's agent, a checkpoint's, ``"expert"``, ``"random"`` or ``"trained"``.

    ``"trained"`` is the agent that is shipped for the environment (:mod:`.trained`).

    A run's agent is evaluated as the run was: with the run's keywords of the environment, its best or its sampled
    actions, its number of episodes, its problems. Another environment, if ``env_id`` names one, has its own keywords.
    ``trust`` is :func:`load_agent`'s.

    Raises:
        FileNotFoundError, ValueError: as :func:`load_agent`; or it is not said where to play.
        KeyError: no such environment.
    """
    from . import trained
    from .evaluation import POLICIES

    if name == trained.NAME and env_id is not None:
        name, env_id = str(trained.folder_of(env_id)), None
    known = (*POLICIES, trained.NAME)
    if name in known or not Path(name).is_dir():
        policy = name if name in known else load_agent(name, trust=trust)[0]
        if env_id is None:
            raise ValueError("which environment? give --env ID (tiltyard list envs shows them)")
        return Policy(policy, resolve(env_id).id, env_id)
    run = read_run(name).run
    agent = _agent_of(run, Path(name), trust)
    kept: dict[str, Any] = {"deterministic": not run.params.get(SAMPLED, False), "seed": run.seed}
    kept |= {"episodes": run.eval_episodes, "group": run.params.get(GROUPED, 1)}
    if env_id not in (None, run.env_id):
        return Policy(agent, resolve(env_id).id, env_id, **kept)
    env_kwargs = {**run.row.env_kwargs_for(run.env_id), **run.params.get("env_kwargs", {})}
    return Policy(agent, run.env_id, run.task, env_kwargs, **kept)


_ACTIONS = {True: "best actions", False: "sampled actions"}


def actions_of(params: Mapping[str, Any]) -> str:
    """Which actions evaluations of a run with these settings take, in words."""
    return _ACTIONS[not params.get(SAMPLED, False)]


def table(title: str, *columns: str) -> "Table":
    """A plain table; columns whose name ends in ``#`` are numbers, on the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        justify: Literal["left", "right"] = "right" if column.endswith("#") else "left"
        made.add_column(column.rstrip("#"), justify=justify, overflow="fold", no_wrap=i == 0)
    return made


def print_evaluation(
    scores: Sequence[float], successes: Sequence[bool], env_id: str, task: str = "", actions: str = ""
) -> None:
    """Prints mean return, normalised return (95% bootstrap intervals) and success rate (95% Wilson interval).

    What an environment of another package does not tell is left out (no scores to normalise by) or "-" (no success).

    Args:
        scores: of each episode.
        successes: of each episode.
        env_id: whose scale the normalised return is on.
        task: what the table is headed, if not by the environment's id.
        actions: which the agent took, in words.
    """
    from rich.console import Console

    from .evaluation import wilson

    row, n = find_env(env_id), len(scores)
    shown = table(
        ", ".join(filter(None, (task or env_id, f"{n} held-out episodes", actions))), "", "mean#", "95% interval#"
    )
    kinds = [("return", list(scores))]
    if row.scored:
        kinds.append(("normalised (0 random, 1 expert)", [row.normalise(score) for score in scores]))
    for name, values in kinds:
        shown.add_row(name, f"{sum(values) / n:.3f}", interval_of(values))
    if successes:
        rate = sum(successes) / n
        low, high = wilson(successes)
        shown.add_row("success", f"{rate:.3f}", f"{low:.3f} to {high:.3f}")
    else:
        shown.add_row("success", "-", "the environment does not say")
    Console().print(shown)


def interval_of(values: Sequence[float]) -> str:
    """The ends of the 95% bootstrap interval of a mean over episodes, or why there is none."""
    import numpy as np

    from .saturated import none
    from .statistics import MIN_RUNS, bootstrap_interval, mean

    if len(values) < MIN_RUNS:
        return f"needs {MIN_RUNS} episodes"
    found = bootstrap_interval(np.array(values)[:, None], mean, rng=np.random.default_rng(0))
    return none(len(values), "episodes") if np.isnan(found.low) else f"{found.low:.3f} to {found.high:.3f}"


@contextmanager
def cut_off() -> Iterator[None]:
    """Ends the program with the status of a broken pipe where whoever reads its output, such as head, has enough."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        output = select.poll()
        output.register(1, 0)
        if not any(event & select.POLLERR for _, event in output.poll(0)):  # it is another pipe
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for the interpreter flushes it once more
        raise SystemExit(141) from None


@contextmanager
def bar(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr; call what it yields with the work done so far. The first call shows it."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    progress = Progress(console=Console(stderr=True))
    task = progress.add_task(escape(label), total=total)

    def show(done: int) -> None:
        progress.start()
        progress.update(task, completed=min(done, total))

    try:
        yield show
        show(total)
    finally:
        if progress.live.is_started:
            progress.stop()
