"""Which finished runs may be averaged: same agent, settings, task, budget and versions; everything else gets a name."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...envs.catalogue import Row, find
from ..imports import EVALUATIONS, TRAINING
from ..packages import RECORDED, expected
from ..provenance import differences
from ..records import printable
from ..runs import DATA, FinishedRun, Run
from .admission import one_of, usable

Groups = dict[tuple[str, str], tuple[FinishedRun, ...]]
"""Runs that differ by seed alone, by (task, name of the agent), seeds ascending; see :func:`place`."""


class Identity(NamedTuple):
    """Whose run it is: runs of different ones are never pooled, whatever their names.

    Attributes:
        kind: "control" or "language": PPO of Stable-Baselines3 is not the language method PPO.
        handle: the method of a language agent, else the agent's name.
        row: name of the catalogue's row whose settings it has: ``gspo`` has those of ``grpo``.
    """

    kind: str
    handle: str
    row: str

    @property
    def base(self) -> str:
        """Kind and row: what decides an agent's settings."""
        return f"{self.kind}:{self.row}"


def identity(run: Run) -> Identity:
    """Of the agent named ``gspo`` the same as of ``grpo`` with ``method=gspo``."""
    try:
        row = run.row
    except KeyError:  # of a plugin that is not here
        return Identity("", printable(run.agent), run.agent)
    return Identity(row.kind, printable(str(run.params.get("method", row.name))), row.base or row.name)


def place(run: Run, *, across: bool = False) -> tuple[str, str]:
    """The task under which a run is compared, and what that adds to the name of its agent.

    That is :attr:`Run.task` and nothing; or ``across`` tasks of one environment, its id and keywords, and what else was
    given to learn from: ``" from demonstrations-v0, then online"``, ``" with training_reward=sum"``.
    """
    return (run.where, run.task.removeprefix(run.where)) if across else (run.task, "")


def group(runs: Iterable[FinishedRun], *, across: bool = False) -> tuple[Groups, list[str]]:
    """Groups ``runs`` and says in sentences what was left out or kept apart; for ``across`` see :func:`place`.

    An agent is named by its catalogue name, or by its method where it was given one, and by whatever else would
    otherwise be pooled: its kind where another kind has the name too (:class:`Identity`), settings that not all of its
    runs have, the budget where one task was run with several, the versions where they are not those of most runs.
    Settings that all runs of an agent share are told once, in a sentence.
    """
    kept, notes = usable(sorted(runs, key=lambda run: (run.run.task, run.run.agent, run.run.seed, str(run.folder))))
    shared = _shared_settings(kept)
    names = _names(kept, shared)
    found: dict[tuple[str, str], list[FinishedRun]] = defaultdict(list)
    for run, name in zip(kept, names, strict=True):
        task, data = place(run.run, across=across)
        found[task, name + data].append(run)
    groups: Groups = {}
    for key, mine in found.items():
        groups[key], said = _once(key[1], mine)
        notes += said
    notes += _settings_notes(kept, shared) + _version_notes(kept) + _commit_notes(kept)
    return {key: mine for key, mine in groups.items() if mine}, notes


def names_of(runs: Iterable[Run], *, across: bool = False) -> dict[str, str]:
    """What :func:`group` would call the agents of ``runs`` if all of these finished, by the name of the run."""
    done = [FinishedRun(run, (), (), 0.0, (), {}, 0.0, "", "", Path()) for run in runs]
    names = _names(done, _shared_settings(done))
    return {one.run.name: name + place(one.run, across=across)[1] for one, name in zip(done, names, strict=True)}


def short(task: str) -> str:
    """``Hopper-v5 with a=b/c`` of ``tiltyard/Hopper-v5 with a=b/c``."""
    env_id, space, rest = task.partition(" ")
    return env_id.rpartition("/")[2] + space + rest


def env_of(task: str) -> Row:
    """The environment of a task."""
    return find(task.partition(" ")[0])


def summary_of(task: str) -> str:
    """What a task is, in a line: of imported ones, what was imported."""
    told = {EVALUATIONS: "imported returns of evaluations", TRAINING: "imported returns of training"}
    return next((said for start, said in told.items() if task.startswith(start)), env_of(task).summary)


def _once(name: str, runs: Sequence[FinishedRun]) -> tuple[tuple[FinishedRun, ...], list[str]]:
    """One run a seed, seeds ascending, and a sentence on each seed that was found more than once."""
    by_seed: dict[int, list[FinishedRun]] = defaultdict(list)
    for run in runs:
        by_seed[run.run.seed].append(run)
    kept, notes = [], []
    for seed in sorted(by_seed):
        same = by_seed[seed]
        chosen = same[0] if len(same) == 1 else one_of(same, [run for run in runs if run.run.seed != seed])
        if chosen is not None:
            kept.append(chosen)
        if len(same) > 1:
            of = f"seed {seed} of {name} on {short(same[0].run.task)} was found {_times(len(same))}"
            others = ", ".join(run.folder.name for run in same if run is not chosen)
            counts = f"only {chosen.folder.name} counts, {others} does not" if chosen else f"none of {others} counts"
            notes.append(f"{of}; {counts}")
    return tuple(kept), notes


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _names(runs: list[FinishedRun], shared: Mapping[str, frozenset[str]]) -> list[str]:
    lengths: dict[tuple[str, str], set[str]] = defaultdict(set)
    whose = [identity(run.run) for run in runs]
    called = _called(set(whose))
    plain = [
        ", ".join([called[one], *sorted(_settings(run.run) - shared[one.base])])
        for run, one in zip(runs, whose, strict=True)
    ]
    for run, name in zip(runs, plain, strict=True):
        lengths[run.run.task, name].add(run.run.length)
    names = []
    for run, name, usual in zip(runs, plain, _usual_versions(runs), strict=True):
        if len(lengths[run.run.task, name]) > 1:
            name += f", {run.run.length}"
        odd = differences(run.versions, usual)
        names.append(f"{name} ({', '.join(change.partition(' (')[0] for change in odd)})" if odd else name)
    return names


def _called(identities: Collection[Identity]) -> dict[Identity, str]:
    """The handle; with its kind or its row before it, where the handle alone would be that of several."""
    names = {}
    for one in identities:
        same = [other for other in identities if other.handle == one.handle]
        kinds, rows = {other.kind for other in same}, {other.row for other in same if other.kind == one.kind}
        of_row = f"{one.row} with method=" if len(rows) > 1 and one.row != one.handle else ""
        names[one] = (f"{one.kind}:" if len(kinds) > 1 else "") + of_row + one.handle
    return names


def _settings(run: Run) -> frozenset[str]:
    """What was set beyond the agent's row; its method names the agent, and the rest of these is part of the task."""
    return frozenset(printable(f"{k}={v}") for k, v in run.params.items() if k not in (*DATA, "env_kwargs", "method"))


def _shared_settings(runs: list[FinishedRun]) -> dict[str, frozenset[str]]:
    """What all runs of a row have, by :attr:`Identity.base`."""
    shared: dict[str, frozenset[str]] = {}
    for run in runs:
        base = identity(run.run).base
        shared[base] = shared.get(base, _settings(run.run)) & _settings(run.run)
    return shared


def _settings_notes(runs: list[FinishedRun], shared: Mapping[str, frozenset[str]]) -> list[str]:
    agents: dict[frozenset[str], list[str]] = defaultdict(list)
    named = {(run.run.agent, identity(run.run).base) for run in runs}
    count = Counter(agent for agent, _ in named)
    for agent, base in sorted(named):
        agents[shared[base]].append(f"{base.partition(':')[0]}:{agent}" if count[agent] > 1 else agent)
    return [
        f"all runs of {', '.join(names)} have {', '.join(sorted(settings))}"
        for settings, names in agents.items()
        if settings
    ]


def _usual_versions(runs: list[FinishedRun]) -> list[dict[str, str]]:
    """For each run the versions that most have; runs with others carry theirs in their name."""
    own = [{name: run.versions[name] for name in run.versions if name in RECORDED} for run in runs]
    counts = Counter(tuple(sorted(versions.items())) for versions in own)
    return [dict(counts.most_common(1)[0][0]) | others for others in expected(runs)]


def _version_notes(runs: list[FinishedRun]) -> list[str]:
    odd = Counter(
        tuple(differences(run.versions, usual)) for run, usual in zip(runs, _usual_versions(runs), strict=True)
    )
    return [
        f"{count} run{'s' if count > 1 else ''} with {', '.join(changes).replace('(now', '(the others')} "
        f"{'are' if count > 1 else 'is'} kept apart, for other versions may give other numbers"
        for changes, count in odd.items()
        if changes
    ]


def _commit_notes(runs: list[FinishedRun]) -> list[str]:
    commits = sorted({run.commit for run in runs if not run.run.env_id.startswith((EVALUATIONS, TRAINING))})
    if len(commits) < 2:
        return []
    parts = [commit.partition("+") for commit in commits]
    shown = ", ".join(head[:10] + plus + changes or "unrecorded" for head, plus, changes in parts)
    return [f"these runs come from {len(commits)} commits of Tiltyard ({shown}), pooled where versions agree"]
