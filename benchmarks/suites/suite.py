"""Suites are data: which agents race on which environments, for how many steps, over which seeds.

Budgets are environment steps (answers, for language agents), chosen so that the agents of one task get about the same
computing time; ``seconds`` is what one such run took on one thread, and orders a race (longest first).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from hashlib import sha256
from typing import Any, get_args

from ... import unknown
from ...agents.catalogue import find as find_agent
from ..runs import GROUPED, SAMPLED, Run
from ..scores import Score


def _check_kinds(of: str, row: Any, **kinds: Any) -> None:
    for name, kind in kinds.items():
        value = getattr(row, name)
        if not isinstance(value, kind) or isinstance(value, bool):
            words = getattr(kind, "__name__", str(kind))
            raise TypeError(f"{name} of {of} is of kind {words}, got {value!r:.200}")


def _check_all(of: str, row: Any, **kinds: type[Any]) -> None:
    """Refuses fields that are no tuples, or hold something else; of one value, a tuple is written ``(value,)``."""
    for name, kind in kinds.items():
        values = getattr(row, name)
        if isinstance(values, str | kind) or not isinstance(values, Iterable):
            raise TypeError(f"{name} of {of} are a tuple, of one (value,), got {values!r:.200}")
        for value in values:
            if not isinstance(value, kind) or isinstance(value, bool):
                raise TypeError(f"{name} of {of} hold values of kind {kind.__name__}, got {value!r:.200}")


@dataclass(frozen=True)
class Entry:
    """One agent in one task.

    Attributes:
        agent: as :attr:`Run.agent` has it.
        budget: environment steps of training.
        seconds: measured seconds of one run on one thread, evaluations included.
        params: keywords of the agent that this budget asks for, beyond those of its row.
        label: what the suite's report calls it, where that is not to be the agent with all that sets it apart.
    """

    agent: str
    budget: int
    seconds: float
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    label: str = ""

    def __post_init__(self) -> None:
        """Refuses an entry of which no run could be made.

        Raises:
            TypeError: a field of another kind than its own.
        """
        of = f"an entry of agent {self.agent!r:.100}"
        _check_kinds(of, self, agent=str, budget=int, seconds=int | float, params=Mapping)

    @property
    def names(self) -> frozenset[str]:
        """What it is chosen by: the agent, and the method that a language agent is given."""
        return frozenset({self.agent, self.params.get("method", self.agent)})


@dataclass(frozen=True)
class Task:
    """One environment and the agents that race on it.

    Attributes:
        env_id: a Gymnasium id: of the environments' catalogue, or of another package, also as ``module:id``.
        entries: the agents with their budgets.
        dataset: id of the Minari dataset that every agent of the task is given, if any.
        eval_episodes: held-out episodes of every evaluation.
        eval_points: evaluations along a run, the final one included.
        env_kwargs: the environment's own keywords, such as a level.
        eval_sampled: evaluations are of sampled actions instead of the agents' best ones.
        eval_group: episodes of each evaluation problem; above 1, pass@k is told as well.
    """

    env_id: str
    entries: tuple[Entry, ...]
    eval_episodes: int = 100
    eval_points: int = 6
    dataset: str | None = None
    env_kwargs: Mapping[str, Any] = field(default_factory=dict, hash=False)
    eval_sampled: bool = False
    eval_group: int = 1

    def __post_init__(self) -> None:
        """Refuses what no run could be made of, and groups that no evaluation can have.

        Raises:
            TypeError: a field of another kind than its own.
            ValueError: fewer than 1 episode of each problem.
        """
        of = f"task {self.env_id!r:.100}"
        _check_kinds(of, self, env_id=str, dataset=str | None, env_kwargs=Mapping, eval_group=int)
        _check_all(of, self, entries=Entry)
        if self.eval_group < 1:
            raise ValueError(
                f"eval_group of task {self.env_id} is at least 1, episodes of each evaluation problem, "
                f"got {self.eval_group}"
            )

    def params(self, entry: Entry) -> dict[str, Any]:
        """The params of an entry's runs."""
        given: dict[str, Any] = {"dataset": self.dataset, "env_kwargs": dict(self.env_kwargs)}
        given |= {SAMPLED: self.eval_sampled, GROUPED: self.eval_group if self.eval_group > 1 else None}
        return {**{name: value for name, value in given.items() if value}, **entry.params}


@dataclass(frozen=True)
class Recipe:
    """A dataset that a suite needs, as :func:`~..datasets.make_dataset` makes it."""

    env_id: str
    policy: str
    settings: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Comparison:
    """Agents that a suite's report sets side by side.

    Attributes:
        title: of the comparison.
        tasks: as :attr:`Run.task` has them, or, ``across`` these, as :attr:`Run.where` does.
        reference: the agent that all are compared with, by the name the leaderboard gives it.
        agents: by the same names; all that ran every task, if none are named.
        across: set agents side by side that learn in one environment from different data or none. What an agent was
            given is part of its name then: ``sac``, ``sac from demonstrations-v0, then online``.
        by_episodes: draw success against episodes of training, instead of returns against steps.
        remark: a paragraph on it, in Markdown.
        inert: agents whose mechanism cannot act on these tasks, by name, and why; their scores are shown, and count in
            no verdict.
    """

    title: str
    tasks: tuple[str, ...]
    reference: str
    agents: tuple[str, ...] = ()
    across: bool = False
    by_episodes: bool = False
    remark: str = ""
    inert: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuses names that do not stand in a tuple.

        Raises:
            TypeError: such a field.
        """
        _check_all(f"comparison {self.title!r:.100}", self, tasks=str, agents=str)


@dataclass(frozen=True)
class Suite:
    """A named set of tasks and the seeds every agent runs with."""

    name: str
    summary: str
    tasks: tuple[Task, ...]
    seeds: tuple[int, ...]
    datasets: Mapping[str, Recipe] = field(default_factory=dict, hash=False)
    """What a race makes first, where it is not there: recipes by id."""
    comparisons: tuple[Comparison, ...] = ()
    """What its report shows."""
    score: Score = "final"
    """What a run scores, in tuning and in the report: its last evaluation, its last five or its curve's area."""
    paired: bool = False
    """Whether the report compares runs of the same seed with each other."""
    repeats: str = ""
    """Name of a paired suite with the same conditions, task and seeds, that began from another base checkpoint; the
    report sets the differences from both bases side by side."""

    def __post_init__(self) -> None:
        """Refuses what no race could be made of, and takes each seed once.

        Raises:
            TypeError: a field of another kind than its own.
            ValueError: a score that there is not.
        """
        of = f"suite {self.name!r:.100}"
        _check_kinds(of, self, name=str, datasets=Mapping)
        _check_all(of, self, tasks=Task, seeds=int, comparisons=Comparison)
        for key, recipe in self.datasets.items():
            if not isinstance(recipe, Recipe):
                raise TypeError(f"datasets of {of} are recipes by id, got {recipe!r:.200} under {key!r:.100}")
        if self.score not in get_args(Score):
            raise ValueError(unknown("score of a suite", self.score, get_args(Score)))
        object.__setattr__(self, "seeds", tuple(dict.fromkeys(self.seeds)))

    def check_whole(self) -> None:
        """Refuses a suite in which there is nothing to run.

        Raises:
            ValueError: no tasks, a task without entries, or no seeds; the message says which.
        """
        if not self.tasks:
            raise ValueError(f"suite {self.name} has no tasks: name an environment and its entries in each [[tasks]]")
        for task in self.tasks:
            if not task.entries:
                raise ValueError(f"task {task.env_id} of suite {self.name} has no entries: name agents and budgets")
        if not self.seeds:
            raise ValueError(f"suite {self.name} has no seeds: name some, such as seeds = [0, 1, 2, 3, 4]")

    @property
    def agents(self) -> tuple[str, ...]:
        """Every agent that appears in some task, in order of first appearance."""
        return tuple(dict.fromkeys(entry.agent for task in self.tasks for entry in task.entries))

    def runs(self, *, agents: Sequence[str] | None = None, seeds: Sequence[int] | None = None) -> list[Run]:
        """The runs of a race over this suite, the longest first; entries that are there twice are one.

        Args:
            agents: race these alone, agents or methods of theirs (all agents of the suite by default).
            seeds: instead of the suite's own.

        Raises:
            KeyError: an agent that does not exist, or has no task in this suite.
            ValueError: no agents or no seeds.
        """
        known = {name for task in self.tasks for entry in task.entries for name in entry.names}
        for name in agents or ():
            if name not in known:
                find_agent(name)
                raise KeyError(unknown(f"agent in suite {self.name!r}", name, known))
        wanted = self.agents if agents is None else tuple(dict.fromkeys(agents))
        chosen = self.seeds if seeds is None else tuple(dict.fromkeys(seeds))
        if not wanted or not chosen:
            raise ValueError("a race needs at least one agent and one seed")
        pairs = [(task, entry) for task in self.tasks for entry in task.entries if entry.names & set(wanted)]
        pairs.sort(key=lambda pair: -pair[1].seconds)
        runs = [self._run(task, entry, seed) for task, entry in pairs for seed in chosen]
        return list({run.name: run for run in runs}.values())

    def label(self, run: Run) -> str:
        """What the report calls the condition of ``run``; "" where the suite does not say."""
        labels = {self._run(task, entry, run.seed).name: entry.label for task in self.tasks for entry in task.entries}
        return labels.get(run.name, "")

    @staticmethod
    def _run(task: Task, entry: Entry, seed: int) -> Run:
        params, points = task.params(entry), task.eval_points
        return Run(
            task.env_id, entry.agent, seed, entry.budget, params, eval_episodes=task.eval_episodes, eval_points=points
        )

    @property
    def digest(self) -> str:
        """Of all that decides what is run, learnt from and compared; not of words, nor of measured seconds."""
        compared = [
            [*astuple(replace(one, title="", remark="", inert={})), sorted(one.inert)] for one in self.comparisons
        ]
        content: list[Any] = [
            sorted(run.name for run in self.runs()),
            {name: asdict(recipe) for name, recipe in self.datasets.items()},
            compared,
        ]
        if (self.score, self.paired) != ("final", False):  # so that suites from before these were have their digests
            content.append([self.score, self.paired])
        if self.repeats:
            content.append(self.repeats)
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def core_seconds(self) -> float:
        """Computing time of the whole race, in seconds of one core."""
        return len(self.seeds) * sum(entry.seconds for task in self.tasks for entry in task.entries)
