"""Search for hyperparameters: random search, TPE or Hyperband over declared spaces, with seeds apart for testing.

The protocol of the paper: tune on seeds of tuning, over a space that is stated (:mod:`tiltyard.agents.spaces`), with a
budget that is the same for all conditions and counted, choose by one rule (the highest mean score at the full budget,
of equals the first), and test what was chosen on other seeds. The difference between both scores is told
(:attr:`.tuning.Choice.gap`).

Optuna proposes and keeps the trials, in ``optuna.db`` of the folder; a trial's score is that of its runs, which are
folders as any other. Whatever is killed goes on with the same command and ends as if it had not been: each proposal is
drawn from a seed of its own number, and finished runs are only read.

* ``random``: all trials at once.
* ``tpe``: one after the other, each condition by itself; conditions run beside each other.
* ``hyperband``: brackets of successive halving with factor 3, from a ninth, a third and all of the budget on (Li et al.
  2018, algorithm 1). A trial that survives begins again with the longer budget, so that every run is what its command
  says; these steps are counted. The best is chosen among trials of the full budget. Where all survivors of a bracket
  diverge, those given up go on in their place, one after another.

Paper: Hyperparameters in Reinforcement Learning and How To Tune Them (2023), sections 4 to 6. Its DEHB is Hyperband
with differential evolution in place of random proposals; population-based training is :mod:`.pbt`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from .. import need, unknown
from ..agents.spaces import Dimension, Space, space_of
from .choices import Choice, value_of
from .diverging import DivergedRun
from .engines import held
from .evaluation import TUNING_FROM, is_tuning
from .folders import Busy, claimed
from .overshoot import trained
from .race import command_of
from .runs import FinishedRun, Run
from .scores import normalised_score
from .search_methods import Bracket, Method, Scores, brackets, climb
from .suites import Suite, find
from .tuning import SEEDS, conditions, finish_trials, key_of, name_of, none_left, plan

DATABASE = "optuna.db"
LOCK = "optuna.partial"
FEWEST = 3
"""Trials of a search, as of a grid at least; the first of TPE are random."""


@dataclass
class _Search:
    """The trials of one condition.

    Attributes:
        run: of the condition.
        space: by setting.
        study: Optuna's.
        seed: of the proposals.
        method: that proposes.
        full: scores of trials at the full budget.
        stopped: trials given up, with their share of the budget and scores.
        diverged: trials with a run that diverged: how many of its runs did, and how many it had.
        runs: all of them.
    """

    run: Run
    space: Space
    study: Any
    seed: int
    method: Method
    full: dict[int, tuple[float, ...]] = field(default_factory=dict)
    stopped: dict[int, tuple[float, tuple[float, ...]]] = field(default_factory=dict)
    diverged: dict[int, tuple[int, int]] = field(default_factory=dict)
    runs: list[FinishedRun | DivergedRun] = field(default_factory=list)

    def params(self, number: int) -> dict[str, Any]:
        """The settings of a trial; a new one is proposed if there are not as many yet.

        A proposal that was cut off before all its settings were stored is given up and drawn again.
        """
        import optuna

        live = []
        for trial in self.study.get_trials(deepcopy=False):
            if trial.state == optuna.trial.TrialState.RUNNING and set(trial.params) != set(self.space):
                self.study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
            elif trial.state != optuna.trial.TrialState.FAIL:
                live.append(trial.params)
        if number == len(live):
            own = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
            samplers = optuna.samplers
            self.study.sampler = (
                samplers.TPESampler(seed=own, n_startup_trials=FEWEST)
                if self.method == "tpe"
                else samplers.RandomSampler(seed=own)
            )
            live.append(self.study.ask(_distributions(self.space)).params)
        return {name: one.clipped(live[number][name]) for name, one in self.space.items()}

    def tell(self, number: int, scores: tuple[float, ...], share: float, *, over: bool) -> None:
        """Keeps the scores of a trial at a share of the budget; Optuna is told once, when the trial is over."""
        if share == 1:
            self.full[number] = scores
            self.stopped.pop(number, None)
        elif over:
            self.stopped[number] = (share, scores)
        if over:
            self._end(number, float(np.mean(scores)) if share == 1 else None)

    def fail(self, number: int, diverged: int, every: int) -> None:
        """Gives a trial up of whose runs so many diverged; to Optuna it is worse than all that were not given up."""
        self.diverged[number] = (diverged, every)
        self.stopped.pop(number, None)
        self._end(number, None)

    def _end(self, number: int, value: float | None) -> None:
        """Tells Optuna, once, that a trial is over; without a value it is pruned."""
        import optuna

        told = [one for one in self.study.get_trials(deepcopy=False) if one.state != optuna.trial.TrialState.FAIL]
        if told[number].state == optuna.trial.TrialState.RUNNING:
            pruned = optuna.trial.TrialState.PRUNED if value is None else None
            self.study.tell(told[number].number, value, state=pruned)


def search(
    suite: str | Suite,
    method: Method,
    *,
    trials: int,
    space: Sequence[str] | None = None,
    agents: Sequence[str] | None = None,
    envs: Sequence[str] | None = None,
    seeds: Sequence[int] = SEEDS,
    test_seeds: Sequence[int] = (),
    root: str | Path = "runs/tuning",
    engine: str = "local",
    workers: int | None = None,
    search_seed: int = 0,
) -> list[Choice]:
    """Searches the settings of every entry of a suite, as many trials each, and tests the best on other seeds.

    Args:
        suite: a suite, the name of one, or the path of a ``.toml`` file that holds one.
        method: "random", "tpe" or "hyperband".
        trials: of each condition; each is a run a seed, of hyperband most of them shorter ones.
        space: settings to search, as :func:`~tiltyard.agents.spaces.space_of` reads them; all that an agent has.
        agents: tune these alone.
        envs: ids of environments; tune on their tasks alone.
        seeds: of tuning, from 10,000 on.
        test_seeds: below 10,000; the best of each condition is run with them as well, on problems that are reported.
        root: folder of run folders and of Optuna's storage.
        engine: "local" or "ray".
        workers: runs at a time.
        search_seed: of the proposals.

    Raises:
        MissingExtra: Optuna is not installed.
        KeyError: no such suite, agent, environment, engine, method or setting.
        ValueError: fewer than three trials, seeds of the wrong kind, a folder that holds another search, an agent whose
            training diverges in every trial, or whose best does in a test.
        TypeError: a setting that one of the agents does not have.
        RaceIncomplete: as :func:`~.race.race`.
    """
    optuna = need("optuna", extra="tune")
    name, suite = (suite, find(suite)) if isinstance(suite, str) else (suite.name, suite)
    _check(method, trials, test_seeds)
    planned = plan(suite, name, agents, envs, seeds)
    spaces = {(run.env_id, run.agent): _space(run, space) for run in planned}
    first = conditions(planned, seeds, sorted({one for own in spaces.values() for one in own}), name)
    options: dict[str, Any] = {"space": space, "agents": agents, "envs": envs, "seeds": seeds, "test-seeds": test_seeds}
    options = {key: given or None for key, given in options.items()} | {"search-seed": search_seed or None}
    about: dict[str, Any] = {"engine": engine, "workers": workers, "out": root}
    root, command = Path(root), command_of("tune", name, method=method, trials=trials, **options, **about)
    run_all = _Runner(suite, root, engine, workers, command)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with claimed(root / LOCK), held(engine):
            storage = f"sqlite:///{root / DATABASE}"
            searches = [
                _Search(
                    run, own, _study(run, own, method, storage, search_seed, (suite.score, *seeds)), search_seed, method
                )
                for run in first
                for own in [spaces[run.env_id, run.agent]]
            ]
            start = 0
            for bracket in brackets(method, trials):
                score = partial(_level, searches, bracket, seeds, run_all)
                climb(bracket, range(start, start + bracket.size), searches, score)
                start += bracket.size
            return [_tested(one, first, test_seeds, run_all) for one in searches]
    except Busy as error:
        raise ValueError(f"another process searches in {root}: wait for it, or give another --out") from error


def _check(method: str, trials: int, test_seeds: Sequence[int]) -> None:
    if method not in get_args(Method):
        raise KeyError(unknown("search method", method, get_args(Method)))
    if trials < FEWEST:
        raise ValueError(f"a search has at least {FEWEST} trials, got {trials}")
    if wrong := [seed for seed in test_seeds if is_tuning(seed)]:
        raise ValueError(f"seed {wrong[0]} is for tuning: test on seeds below {TUNING_FROM}, which no trial has seen")


def _space(run: Run, names: Sequence[str] | None) -> dict[str, Dimension]:
    found = space_of(run.row.load(), names)
    if not found:
        raise ValueError(f"agent {run.agent!r} has none of the settings that have a search space: leave it out")
    return found


@dataclass(frozen=True)
class _Runner:
    """Executes runs that are not finished yet."""

    suite: Suite
    root: Path
    engine: str
    workers: int | None
    command: str

    def __call__(self, runs: Sequence[Run]) -> dict[str, FinishedRun | DivergedRun]:
        how: dict[str, Any] = {"engine": self.engine, "workers": self.workers, "command": self.command}
        different = list({run.name: run for run in runs}.values())
        return {one.run.name: one for one in finish_trials(self.suite, different, root=self.root, **how)}


def _level(
    searches: Sequence[_Search],
    bracket: Bracket,
    seeds: Sequence[int],
    run_all: _Runner,
    going: Mapping[int, tuple[int, Sequence[int]]],
) -> dict[int, dict[int, Scores]]:
    """Of each condition the scores of the trials that are at a level; those that diverge fail."""
    runs = {
        (i, number): [_run(searches[i], number, bracket.shares[at], seed) for seed in seeds]
        for i, (at, those) in going.items()
        for number in those
    }
    done = run_all([run for several in runs.values() for run in several])
    scored: dict[int, dict[int, Scores]] = {i: {} for i in going}
    for (i, number), mine in runs.items():
        ended = [done[run.name] for run in mine]
        finished = [run for run in ended if isinstance(run, FinishedRun)]
        searches[i].runs += ended
        if len(finished) == len(ended):
            scored[i][number] = tuple(normalised_score(run, run_all.suite.score) for run in finished)
        else:
            searches[i].fail(number, len(ended) - len(finished), len(ended))
    return scored


def _run(one: _Search, number: int, share: float, seed: int) -> Run:
    """The run of a trial with a seed, of a share of the budget."""
    params = {**one.run.params, **one.params(number)}
    if not one.run.budget:  # it learns from a dataset alone
        updates = max(1, round(share * int(params["offline_steps"])))
        return replace(one.run, seed=seed, params={**params, "offline_steps": updates})
    return replace(one.run, seed=seed, params=params, budget=max(1, round(share * one.run.budget)))


def _tested(one: _Search, others: Sequence[Run], test_seeds: Sequence[int], run_all: _Runner) -> Choice:
    """The choice of a condition, with the best point run on the test seeds."""
    settings, run = list(one.space), one.run
    if not one.full:
        raise ValueError(none_left(run, ", ".join(settings)))

    def value(number: int) -> Any:
        return value_of(settings, one.params(number))

    tried: dict[Any, tuple[float, ...]] = {}
    for number, scores in sorted(one.full.items()):
        tried.setdefault(value(number), scores)  # of equal points one
    best = max(one.full, key=lambda number: (float(np.mean(one.full[number])), -number))
    tests = [_run(one, best, 1.0, seed) for seed in test_seeds]
    done = run_all(tests) if tests else {}
    tested = [each for each in map(done.get, (test.name for test in tests)) if isinstance(each, FinishedRun)]
    if len(tested) < len(tests):
        raise ValueError(
            f"of {len(tests)} tests of the best of {one.run.agent} on {one.run.task} {len(tests) - len(tested)} "
            "diverged: search again in a space with lower learning rates, in another folder"
        )
    runs = {each.run.name: each for each in one.runs}.values()
    return Choice(
        task=run.task,
        agent=name_of(run, others, settings),
        setting=", ".join(settings),
        tried=tried,
        present=value_of(settings, run.params),
        steps=sum(each.run.budget for each in runs),
        seconds=sum(each.wall_seconds for each in runs),
        params={name: value for name, value in run.params.items() if name not in one.space},
        stopped=tuple((value(number), share, scores) for number, (share, scores) in sorted(one.stopped.items())),
        tests=tuple(normalised_score(each, run_all.suite.score) for each in tested),
        space={name: (one.space[name].low, one.space[name].high, one.space[name].log) for name in settings},
        trained=sum(map(trained, runs)),
        diverged={value(number): counts for number, counts in sorted(one.diverged.items())},
    )


def _study(run: Run, space: Space, method: Method, storage: str, seed: int, scored: Sequence[Any]) -> Any:
    """Optuna's study of a condition, made or found in the storage.

    Args:
        run: of the condition.
        space: by setting.
        method: that proposes.
        storage: its address.
        seed: of the proposals.
        scored: what scores hang on besides the run: which one a suite takes, and the seeds (JSON).

    Raises:
        ValueError: it is of another space, method or seed, or its scores are those of other runs.
    """
    import optuna

    wanted = json.dumps([method, seed, {name: vars(one) for name, one in space.items()}], sort_keys=True)
    named = ", ".join(key_of(run, list(space)))
    study = optuna.create_study(study_name=named, storage=storage, direction="maximize", load_if_exists=True)
    if study.user_attrs.setdefault("search", wanted) != wanted:
        raise ValueError(
            f"the folder holds another search of {run.agent} (other method, space or seed): give another --out"
        )
    study.set_user_attr("search", wanted)
    rest = {name: value for name, value in run.params.items() if name not in space}
    trial = json.dumps([replace(run, seed=0, params=rest).name, *scored])
    if study.user_attrs.setdefault("trial", trial) != trial:  # one of old does not say
        raise ValueError(
            f"the folder holds another search of {run.agent} (other seeds, budget or evaluation, whose scores are no "
            "guide here): give another --out"
        )
    study.set_user_attr("trial", trial)
    return study


def _distributions(space: Mapping[str, Dimension]) -> dict[str, Any]:
    """Optuna's words for a space."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    def one(dimension: Dimension) -> Any:
        if dimension.choices:
            return CategoricalDistribution(dimension.choices)
        if dimension.whole:
            return IntDistribution(int(dimension.low), int(dimension.high), log=dimension.log)
        return FloatDistribution(dimension.low, dimension.high, log=dimension.log)

    return {name: one(dimension) for name, dimension in space.items()}


def searched(choices: Sequence[Choice]) -> Iterator[list[str]]:
    """Rows of the page's table: what was chosen, on how much, and what of its score held on test seeds."""
    for one in choices:
        edge = ", near an end of the space" if one.at_edge else ""
        yield [
            one.task,
            one.agent,
            f"{one.best}{edge}{one.ties}",
            f"{np.mean(one.tried[one.best]):.3f}",
            f"{np.mean(one.tests):.3f}" if one.tests else "not tested",
            one.gap_told,
            _counted(one),
            str(one.runs),
            one.length,
            f"{one.seconds / 60:.0f}",
        ]


def _counted(one: Choice) -> str:
    """How many trials ended, were given up and diverged."""
    stopped, diverged = f" + {len(one.stopped)}" * bool(one.stopped), f", {len(one.diverged)} diverged"
    return f"{len(one.tried)}{stopped}" + diverged * bool(one.diverged)
