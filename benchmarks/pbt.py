"""Population-based training: members that learn beside each other, copy better ones, and vary their settings.

Every ``ready`` steps all members are scored. One in the bottom fifth copies weights and settings of one drawn from the
top fifth (*exploit*, truncation selection), then varies the settings (*explore*): each is multiplied by 0.8 or 1.2, or
with ``explore="resample"`` drawn anew from the space with a probability of a quarter. A member whose training diverges
copies as well, however many do.

A member's stretch between two scores is a run as any other, with a folder, a command and a checkpoint with replay
buffer; its params name the run that it goes on from, so that a name is the whole lineage. Whatever is killed goes on
with the same call: finished stretches are only read, and all draws depend on seed, generation and member alone, so that
the population ends as if nothing had happened. ``population.json`` has every generation: settings, scores, parents.

Departures from the paper: generations are synchronous, where the paper's workers look at each other whenever they are
ready (which makes results hang on how fast each one is); settings stay within their space; one of few choices moves to
the next one in place of a factor; a stretch begins with a reset environment.

Paper: Population Based Training of Neural Networks (2017), algorithm 1, sections 3 and 4.1 (exploit and explore).
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from .. import unknown
from ..agents.spaces import Dimension, Number, Space, space_of
from ..envs.catalogue import find as find_env
from .diverging import DivergedRun
from .evaluation import SEED_LIMIT, TUNING_FROM, is_tuning
from .folders import Busy, claimed, write_whole
from .packages import behind_all
from .race import command_of
from .records import read_record
from .runs import CONTINUES, RESUMED, FinishedRun, Run
from .session import spend
from .suites import Suite
from .tuning import finish_trials
from .values import is_plain

Explore = Literal["perturb", "resample"]
SHARE = 0.2
"""Of the population, at either end."""
FACTORS = (0.8, 1.2)
RESAMPLED = 0.25
"""Probability that a setting is drawn anew."""
RECORD, LOCK = "population.json", "population.partial"
MOST_BYTES = 1 << 26
FIXED = ("learning_starts", "exploration_fraction")
"""Settings that say nothing any more once training is under way."""


@dataclass(frozen=True)
class Member:
    """One member in one generation.

    Attributes:
        run: name of the folder of its stretch.
        settings: that it learnt with.
        score: normalised, on problems of tuning; minus infinity where its training diverged, null in the record.
        steps: environment steps of its lineage so far.
        parent: member of the generation before whose weights it has; its own number where it copied none.
    """

    run: str
    settings: Mapping[str, Number]
    score: float
    steps: int
    parent: int


@dataclass(frozen=True)
class Population:
    """What training came to.

    Attributes:
        generations: of members, in order.
        steps: environment steps of all stretches together.
        test: normalised score of the best member's checkpoint on the problems that races report.
    """

    generations: tuple[tuple[Member, ...], ...]
    steps: int
    test: float

    @property
    def best(self) -> Member:
        """The member with the highest score in the last generation; of equals the first."""
        return max(self.generations[-1], key=lambda member: member.score)

    @property
    def lineage(self) -> list[Member]:
        """The best member and those it comes from, the first generation first."""
        number = self.generations[-1].index(self.best)
        line = []
        for members in reversed(self.generations):
            line.append(members[number])
            number = members[number].parent
        return line[::-1]


def exploited(scores: Sequence[float], rng: np.random.Generator) -> list[int]:
    """Whose weights and settings each member goes on with: its own number, but in the bottom fifth of the population.

    Such a member gets that of one drawn uniformly from the top fifth; a fifth is at least one member. Of equal scores
    the first counts as higher, so that members that are alike do not stay so. Those of minus infinity, at least one of
    which is finite, have nothing to go on with, and are all among the bottom.

    Args:
        scores: of each member, ``[members]``, higher is better.
        rng: decides the draws.
    """
    count, alive = max(1, int(SHARE * len(scores))), int(np.isfinite(scores).sum())
    ranked = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
    top, bottom = ranked[: min(count, alive)], ranked[min(len(ranked) - count, alive) :]
    drawn = {number: top[int(rng.integers(len(top)))] for number in bottom}
    return [drawn.get(i, i) for i in range(len(scores))]


def explored(
    settings: Mapping[str, Number], space: Space, rng: np.random.Generator, explore: Explore
) -> dict[str, Number]:
    """Settings near those given, or some of them drawn anew."""
    vary = _perturbed if explore == "perturb" else _resampled
    return {name: vary(settings[name], dimension, rng) for name, dimension in space.items()}


def _perturbed(value: Number, dimension: Dimension, rng: np.random.Generator) -> Number:
    way = int(rng.integers(2))
    if dimension.choices:
        at = dimension.choices.index(value) + (-1, 1)[way]
        return dimension.choices[min(max(at, 0), len(dimension.choices) - 1)]
    return dimension.clipped(value * FACTORS[way])


def _resampled(value: Number, dimension: Dimension, rng: np.random.Generator) -> Number:
    again, share = rng.random(2)
    return dimension.value(share) if again < RESAMPLED else value


def train_population(
    env_id: str,
    agent: str,
    *,
    population: int = 8,
    steps: int,
    ready: int,
    space: Sequence[str] | None = None,
    explore: Explore = "perturb",
    params: Mapping[str, Any] | None = None,
    seed: int = TUNING_FROM,
    eval_episodes: int = 20,
    root: str | Path = "runs/pbt",
    workers: int | None = None,
) -> Population:
    """Trains a population of one agent in one environment, on this machine's cores.

    Args:
        env_id: where.
        agent: an agent's name.
        population: members.
        steps: environment steps of each lineage.
        ready: steps between two looks at the others.
        space: settings that vary, as :func:`~tiltyard.agents.spaces.space_of` reads them; by default all of the
            agent's that still say something in the middle of training and are not among ``params``.
        explore: "perturb" or "resample".
        params: keywords of the agent that all members share.
        seed: of the first member, from 10,000 on; the others have the next ones.
        eval_episodes: of every score.
        root: folder of run folders and of ``population.json``.
        workers: runs at a time.

    Raises:
        KeyError: no such environment, agent, setting or way to explore.
        ValueError: fewer than two members, steps that are no multiple of ``ready``, a seed that races report, a setting
            that is to vary and to be shared, stretches that are shorter than what the agent collects at once, members
            that all diverge, or a folder with another population or process at work.
        TypeError: a setting that the agent does not have.
        RaceIncomplete: a run failed or was killed.
    """
    _check(population, steps, ready, explore, seed)
    first = Run(env_id, agent, seed, ready, dict(params or {}), eval_episodes=eval_episodes, eval_points=1)
    found = space_of(first.row.load(), space)
    if space is not None and (both := sorted(found.keys() & first.params.keys())):
        raise ValueError(f"{both[0]} is to vary and to be shared by all members: leave it out of one of both")
    chosen = {name: one for name, one in found.items() if space is not None or name not in {*FIXED, *first.params}}
    if not chosen:
        raise ValueError(f"agent {agent!r} has none of the settings that have a search space")
    options = {"agent": agent, "population": population, "steps": steps, "ready": ready, "seed": seed, "out": root}
    options |= {"space": space, "explore": explore, "eval-episodes": eval_episodes, "workers": workers}
    command = " ".join([command_of("pbt", env_id, **options), *_typed(first.params)])
    training = _Training(first, chosen, explore, population, Path(root), workers, command)
    training.check_folder()
    try:
        with claimed(Path(root) / LOCK):
            return training.run(steps // ready)
    except Busy as error:
        raise ValueError(
            f"another process trains a population in {root}: wait for it, or give another --out"
        ) from error


def _check(population: int, steps: int, ready: int, explore: str, seed: int) -> None:
    if explore not in get_args(Explore):
        raise KeyError(unknown("way to explore", explore, get_args(Explore)))
    if population < 2:
        raise ValueError(f"a population has at least 2 members, got {population}")
    if ready < 1 or steps < ready or steps % ready:
        raise ValueError(f"steps must be a multiple of ready, got {steps} and {ready}")
    if not (is_tuning(seed) and seed + population <= SEED_LIMIT):
        raise ValueError(
            f"members are chosen by their scores, which is tuning: give a seed from {TUNING_FROM} on, got {seed}"
        )


def _typed(params: Mapping[str, Any]) -> list[str]:
    """What to type for settings that all members share."""
    told = {key: value if is_plain(value) else json.dumps(value) for key, value in params.items()}
    return [shlex.join(["--set", f"{key}={value}"]) for key, value in told.items()]


@dataclass(frozen=True)
class _Training:
    """A population under way."""

    first: Run
    space: Space
    explore: Explore
    size: int
    root: Path
    workers: int | None
    command: str

    @property
    def asked(self) -> dict[str, Any]:
        """What decides how a population turns out, but for how long it is trained (JSON)."""
        first = self.first
        about = {"env_id": first.env_id, "agent": first.agent, "population": self.size, "ready": first.budget}
        about |= {"seed": first.seed, "explore": self.explore, "params": dict(first.params)}
        space = {name: asdict(one) for name, one in self.space.items()}
        found: dict[str, Any] = json.loads(json.dumps({**about, "eval_episodes": first.eval_episodes, "space": space}))
        return found

    def check_folder(self) -> None:
        """Refuses a folder whose record another population wrote, before anything is run.

        Raises:
            ValueError: it holds one.
        """
        path = self.root / RECORD
        there = read_record(path, MOST_BYTES) if path.is_file() else {}
        for name, value in self.asked.items():
            if name in there and there[name] != value:  # records of old do not say everything
                told = f", of {name} {there[name]}, not {value}" if isinstance(value, int | str) else f" (other {name})"
                raise ValueError(f"{self.root} holds another population{told}: give another --out")

    def run(self, generations: int) -> Population:
        done: list[tuple[Member, ...]] = []
        finished: list[FinishedRun] = []
        others: dict[str, str] = {}
        total = 0
        for generation in range(generations):
            runs, parents = self._next(generation, done)
            suite = Suite(f"generation {generation + 1} of {generations}", "", (), ())
            how: dict[str, Any] = {"engine": "local", "workers": self.workers, "command": self.command}
            before, ended = finished, finish_trials(suite, runs, root=self.root, **how)
            for one in before:
                spend(one.folder)  # of use only to what comes next, which is there
            finished = [one for one in ended if isinstance(one, FinishedRun)]
            if not finished:
                raise ValueError(
                    f"the training of all {self.size} members diverged: give other settings, a --space with lower "
                    "learning rates, or more members"
                )
            members = [self._member(*pair) for pair in zip(ended, parents, strict=True)]
            reached = [0] * self.size if generation == 0 else [done[-1][parent].steps for parent in parents]
            total += sum(member.steps - at for member, at in zip(members, reached, strict=True))
            done.append(tuple(members))
            others = behind_all(finished)
            self._write(done, total, None, others)
        best = max(range(self.size), key=lambda i: done[-1][i].score)
        population = Population(tuple(done), total, self._tested(self.root / done[-1][best].run))
        self._write(done, total, population.test, others)
        return population

    def _next(self, generation: int, done: Sequence[tuple[Member, ...]]) -> tuple[list[Run], list[int]]:
        """The runs of a generation, with the member of the one before that each goes on from."""
        if generation == 0:
            rngs = [np.random.default_rng([self.first.seed, 0, i]) for i in range(self.size)]
            drawn = [{name: one.value(rng.random()) for name, one in self.space.items()} for rng in rngs]
            return [self._run(i, 0, settings, {CONTINUES: ""}) for i, settings in enumerate(drawn)], [*range(self.size)]
        before = done[-1]
        parents = exploited(
            [member.score for member in before], np.random.default_rng([self.first.seed, generation, self.size])
        )
        runs = []
        for i, parent in enumerate(parents):
            rng, settings = np.random.default_rng([self.first.seed, generation, i]), dict(before[parent].settings)
            settings = settings if parent == i else explored(settings, self.space, rng, self.explore)
            source, at = before[parent].run, before[parent].steps
            if at >= (generation + 1) * self.first.budget:
                raise ValueError(
                    f"{self.first.agent} collects {at - generation * self.first.budget:,} steps more than the "
                    f"{self.first.budget:,} of a stretch at once: give a longer --ready"
                )
            runs.append(self._run(i, generation, settings, {CONTINUES: source, RESUMED: at}))
        return runs, parents

    def _run(self, member: int, generation: int, settings: Mapping[str, Any], lineage: Mapping[str, Any]) -> Run:
        params, budget = {**self.first.params, **settings, **lineage}, (generation + 1) * self.first.budget
        return replace(self.first, seed=self.first.seed + member, params=params, budget=budget)

    def _member(self, run: FinishedRun | DivergedRun, parent: int) -> Member:
        settings = {name: run.run.params[name] for name in self.space}
        if isinstance(run, DivergedRun):
            return Member(run.run.name, settings, -np.inf, run.timesteps, parent)
        return Member(run.run.name, settings, run.normalised, run.curve[-1][0], parent)

    def _tested(self, folder: Path) -> float:
        from .commands import find_policy

        tested = replace(find_policy(str(folder), None), seed=0).evaluate()
        return find_env(self.first.env_id).normalise(tested.mean)

    def _write(
        self, done: Sequence[tuple[Member, ...]], steps: int, test: float | None, others: dict[str, str]
    ) -> None:
        """Writes ``population.json``; ``others`` are versions of other packages that the members' runs recorded."""
        from .provenance import commit, hardware, versions

        kept = [
            [asdict(one) | ({} if np.isfinite(one.score) else {"score": None}) for one in members] for members in done
        ]
        made = {"versions": versions() | others, "commit": commit(), "hardware": hardware()}
        record = {**self.asked, "command": self.command, "steps": steps, "test": test, "generations": kept, **made}
        write_whole(self.root / RECORD, json.dumps(record, indent=1) + "\n")
