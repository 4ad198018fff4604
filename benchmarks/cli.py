"""The ``tiltyard`` command: one dataclass a subcommand, whose fields are its options and whose ``run`` is its work.

A user's mistake is one sentence on stderr and exit code 2; a race with failed runs ends with 1, Ctrl-C with 130.
"""

import logging
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import tyro
from gymnasium.error import DependencyNotInstalled

from .. import MissingExtra, __version__, unknown
from . import commands
from .arguments import check, check_names, flags, spread_sets
from .dataset_commands import Dataset
from .evaluate_commands import Evaluate, Play
from .exchange_commands import Export, Import
from .leaderboard_commands import Leaderboard, Report
from .list_command import List
from .maps_command import Maps
from .options import Whole, evaluation_size
from .pbt_command import Pbt
from .power_command import Power
from .pretrain import Pretrain
from .race import RaceIncomplete
from .runs import RESUMED, Run, is_finished
from .tune_command import Tune
from .verify_command import Verify

MISTAKES = (KeyError, ValueError, TypeError, OSError, RuntimeError, MissingExtra, DependencyNotInstalled)
"""What the library raises, in one sentence, for things a user can set right."""
DESCRIPTION = """Environments, agents and honest statistics in four domains: text, GUI, driving, robotics.

tiltyard COMMAND --help shows a command's options, tiltyard --version the version."""


@dataclass
class Show:
    """Shows what a paper, agent, method, environment or suite is here: formula, settings, files, claim, results."""

    name: tyro.conf.Positional[str]
    """of anything that tiltyard list names, such as gigpo or tiltyard/Hopper-v5"""

    def run(self) -> int:
        """Prints it."""
        from .show import describe

        print(describe(self.name))
        return 0


@dataclass
class Train:
    """Trains one agent in one environment, evaluating it on held-out problems; fills one run folder."""

    env: str
    """environment id, such as tiltyard/Hopper-v5; any of Gymnasium's, or another package's as module:id"""
    agent: str
    """agent or method of language agents, such as sac or gspo; any other Stable-Baselines3 class as module:Class"""
    seed: int = 0
    """seed of everything random in training; from 10000 on it marks a tuning run, which no leaderboard shows"""
    steps: Whole = 20_000
    """environment steps of training (of language agents: answers), such as 20000 or 1e6; 0: from a dataset alone"""
    settings: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="KEY=VALUE")] = ()
    """keywords of the agent, such as gamma=0.98; also dataset=ID, offline_steps=N and eval_sampled=true"""
    n_envs: Whole | None = None
    """environments to train in at once; the agent's own number by default"""
    device: str | None = None
    """cpu, cuda or as torch writes them; the agent's own choice by default"""
    preset: str | None = None
    """preset of tuned settings, none for the paper's values; by default the environment's own preset"""
    eval_episodes: Whole | None = None
    """held-out episodes of every evaluation; 100 by default, fewer in a short run without --eval-points"""
    eval_points: Whole | None = None
    """evaluations along the run, the final one included, however long they take; 10 by default, fewer in a short run"""
    resume: bool = False
    """go on from where the same run was stopped, or from the end of a shorter one, or of the same from data alone; what
    goes on is a run of its own"""
    track: str | None = None
    """also log to tensorboard, trackio or wandb (extras of those names)"""
    out: Path = Path("runs")
    """folder of run folders"""

    def run(self) -> int:
        """Executes the run and prints what came of it."""
        from .session import Session, gone_on, unbegun_removed

        run = self.asked_for()
        run.check()
        print(f"{run.agent} in {run.env_id}: {run.settings_from} (--preset chooses)")
        unfinished = self.resume and not is_finished(run.folder(self.out))
        run, source = gone_on(run, self.out) if unfinished else (run, None)
        session = Session(self.track, keep=True, source=source)
        with (
            commands.bar(f"{run.agent} in {run.env_id}", run.budget or run.params["offline_steps"]) as progress,
            unbegun_removed(run, self.out),
        ):
            finished = run.execute(self.out, progress=progress, session=session)
        print(f"{finished.folder}: {finished.wall_seconds:.1f} s")
        actions = commands.actions_of(run.params)
        commands.print_evaluation(finished.scores, finished.successes, run.env_id, run.task, actions)
        return 0

    def asked_for(self) -> Run:
        """The run that the options describe, as long as nothing is gone on from."""
        params = commands.parse_settings(self.settings)
        for name in ("n_envs", "device", "preset"):
            if (value := getattr(self, name)) is not None:
                if name in params:
                    raise ValueError(f"give --{name.replace('_', '-')} or --set {name}, not both")
                params[name] = value
        if RESUMED in params:
            raise ValueError(f"{RESUMED} is set by --resume, which goes on from a run's folder in --out")
        updates = params.get("offline_steps", 0)
        length = self.steps + (updates if isinstance(updates, int) else 0)
        episodes, points = evaluation_size(self.env, length, self.eval_episodes, self.eval_points)
        return Run(self.env, self.agent, self.seed, self.steps, params, eval_episodes=episodes, eval_points=points)


@dataclass
class Race:
    """Runs every agent of a suite on its tasks over several seeds; finished runs are kept, so it can be resumed."""

    suite: tyro.conf.Positional[str]
    """name of a suite, such as smoke, or a .toml file that holds one"""
    agents: str | None = None
    """comma-separated names of the suite's agents or methods to race; all of them by default"""
    seeds: str | None = None
    """comma-separated seeds and ranges, such as 0-9 or 0,2,5-7; the suite's own by default"""
    engine: str = "local"
    """local (a process a core) or ray"""
    workers: int | None = None
    """runs at a time; as many as there are cores by default"""
    out: Path = Path("runs")
    """folder of run folders"""
    until_decided: bool = False
    """add seeds in groups of five, and stop each agent once AdaStop has decided all its comparisons"""

    def run(self) -> int:
        """Races, then says where the results are."""
        from .power import too_few
        from .race import race
        from .suites import find
        from .until_decided import race_until_decided

        how: dict[str, Any] = {"root": self.out, "engine": self.engine, "workers": self.workers}
        agents = commands.parse_names(self.agents)
        if self.until_decided:
            if self.seeds is not None:
                raise ValueError("--until-decided chooses the seeds: leave --seeds out")
            print(found := race_until_decided(self.suite, agents=agents, **how))
            print(f"{len(found.runs)} runs finished in {self.out}; now: tiltyard leaderboard {self.out}")
            return 0
        if self.seeds is None and (told := too_few(find(self.suite), agents)):
            print(f"tiltyard: {told}", file=sys.stderr)
        runs = race(self.suite, agents=agents, seeds=commands.parse_seeds(self.seeds), **how)
        print(f"{len(runs)} runs finished in {self.out}; now: tiltyard leaderboard {self.out}")
        return 0


@dataclass
class Claim:
    """Runs the smallest honest experiment that could refute a paper's claim, and stores its verdict."""

    handle: tyro.conf.Positional[str]
    """of the paper, such as rliable (see docs/papers.md)"""
    seeds: str | None = None
    """fresh seeds to replicate the verdict with that docs/results/claims of the folder you work in (a checkout) stores,
    such as 100-119; by default the claim's own, from 0 on"""
    rejudge: bool = False
    """judge the stored runs by today's rule instead of running any; a verdict that changes keeps the old one"""
    engine: str = "local"
    """local (processes of this machine) or ray; which one changes no result"""
    workers: int | None = None
    """runs at a time; by default one on this machine, and as many as there are cores on a Ray cluster"""
    out: Path = Path("runs/claims")
    """folder where runs are kept until the verdict is stored, so that the same command goes on where it was stopped"""

    def run(self) -> int:
        """Runs the experiment, tells of every run on the standard error, and prints the verdict."""
        from .claims.harness import rejudge, run_claim

        if self.rejudge and self.seeds is not None:
            raise ValueError("--rejudge runs no seeds: leave --seeds out")
        if self.rejudge:
            print(rejudge(self.handle))
            return 0
        with _runs_told():
            seeds = commands.parse_seeds(self.seeds)
            verdict = run_claim(self.handle, seeds=seeds, kept=self.out, workers=self.workers, engine=self.engine)
        print(verdict)
        return 0


@contextmanager
def _runs_told() -> Iterator[None]:
    """Has the claims' log written to the standard error meanwhile, a line a run."""
    log, handler = logging.getLogger(f"{__package__}.claims"), logging.StreamHandler()
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)


COMMANDS: dict[str, type[Any]] = {
    command.__name__.lower(): command
    for command in (
        List,
        Show,
        Train,
        Pretrain,
        Evaluate,
        Play,
        Race,
        Tune,
        Pbt,
        Power,
        Leaderboard,
        Report,
        Verify,
        Export,
        Import,
        Claim,
        Dataset,
        Maps,
    )  # fmt: skip
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line (without the program's name) and returns the exit code."""
    with warnings.catch_warnings():
        warnings.showwarning = _say_warning
        return _answer(list(sys.argv[1:] if argv is None else argv) or ["--help"])


def _answer(arguments: list[str]) -> int:
    try:
        with commands.cut_off():
            if arguments in (["--version"], ["-V"]):
                print(f"tiltyard {__version__}")
                return 0
            return int(_parsed(arguments).run())
    except SystemExit as stop:  # --help, or a mistake that tyro found
        return int(stop.code or 0)
    except KeyboardInterrupt:
        which = "at its last evaluation with --resume" if arguments[:1] == ["train"] else "from there"
        print(f"stopped; finished runs are kept, and the same command goes on {which}", file=sys.stderr)
        return 130
    except RaceIncomplete as incomplete:
        print(f"tiltyard: {incomplete}", file=sys.stderr)
        return 1
    except MISTAKES as error:
        if not _is_mistake(error):
            raise
        print(f"tiltyard: {_sentence(error)}", file=sys.stderr)
        return 2


def _parsed(arguments: list[str], known: dict[str, type[Any]] = COMMANDS, program: str = "tiltyard") -> Any:
    """The command that ``arguments`` describe; what is unknown is named with its nearest valid names."""
    name = next((word for word in arguments if not word.startswith("-")), None)
    if name is not None and name not in known:
        raise ValueError(unknown("command" if known is COMMANDS else f"command of {program}", name, known))
    where = program if name is None else f"{program} {name}"
    if name is not None and (inner := getattr(known[name], "commands", None)):
        arguments.remove(name)
        return _parsed(arguments or ["--help"], inner, where)
    arguments = spread_sets(arguments)
    check_names(arguments, ["version"] if name is None else list(flags(known[name])), where)
    if name is not None:
        check([word for i, word in enumerate(arguments) if i != arguments.index(name)], known[name], where)
    try:
        return tyro.extras.subcommand_cli_from_dict(
            cast(dict[str, Any], known),
            args=arguments,
            prog=program,
            description=DESCRIPTION if known is COMMANDS else None,
            config=(tyro.conf.UseAppendAction,),
            console_outputs=bool({"--help", "-h"} & set(arguments)),
        )
    except SystemExit as stop:
        if stop.code:
            raise ValueError(f"{shlex.join([program, *arguments])} cannot be read; see {where} --help") from None
        raise


def _is_mistake(error: BaseException) -> bool:
    """Whether the user can set it right: raised by Tiltyard or the system; all else is a fault to be shown."""
    if isinstance(error, KeyError) and " " not in str(error.args[:1]):  # a bare key: some dict's, not a sentence
        return False
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    package = trace.tb_frame.f_globals.get("__package__") or "" if trace is not None else ""  # also where run by -m
    return isinstance(error, OSError | MissingExtra | DependencyNotInstalled) or f"{package}.".startswith("tiltyard.")


def _sentence(error: BaseException) -> str:
    """The message without KeyError's quotes and without line breaks."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    if isinstance(error, FileExistsError) and error.filename:
        text = f"{error.filename} is a file, and a folder of this name is needed: give --out another one"
    return re.sub(r"\s+", " ", text) or type(error).__name__


def _say_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if not issubclass(category, DeprecationWarning | PendingDeprecationWarning):
        print(f"tiltyard: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
