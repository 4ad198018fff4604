"""Which finished runs may be averaged: same agent, settings, task, budget and versions; everything else gets a name."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

from ...envs.catalogue import Row, find
from ..provenance import differences
from ..runs import DATA, FinishedRun, Run

Groups = dict[tuple[str, str], tuple[FinishedRun, ...]]
"""Runs that differ by seed alone, by (task, name of the agent), seeds ascending; see ``Run.task``."""


def group(runs: Iterable[FinishedRun]) -> tuple[Groups, list[str]]:
    """Groups ``runs`` and says in sentences what was left out or kept apart.

    An agent is named by its catalogue name, and by whatever else would otherwise be pooled: settings that differ from
    its row, the budget where one task was run with several, the versions where they are not those of most runs.
    """
    kept, notes = _usable(sorted(runs, key=lambda run: (run.run.task, run.run.agent, run.run.seed, str(run.folder))))
    names = _names(kept)
    groups: dict[tuple[str, str], dict[int, FinishedRun]] = defaultdict(dict)
    for run, name in zip(kept, names, strict=True):
        first = groups[run.run.task, name].setdefault(run.run.seed, run)
        if first is not run:
            notes.append(
                f"seed {run.run.seed} of {name} on {short(run.run.task)} was found twice; only {first.folder.name} "
                f"counts, {run.folder.name} does not"
            )
    notes += _version_notes(kept) + _commit_notes(kept)
    return {key: tuple(found[seed] for seed in sorted(found)) for key, found in groups.items()}, notes


def short(task: str) -> str:
    """``Hopper-v5`` of ``tiltyard/Hopper-v5``."""
    return task.rpartition("/")[2]


def env_of(task: str) -> Row:
    """The environment of a task."""
    return find(task.partition(" ")[0])


def _usable(runs: list[FinishedRun]) -> tuple[list[FinishedRun], list[str]]:
    kept, notes = [], []
    for run in runs:
        if run.scores and math.isfinite(run.normalised):
            kept.append(run)
        else:
            of = f"seed {run.run.seed} of {run.run.agent} on {short(run.run.env_id)}"
            notes.append(f"{of} has no finite score and was left out")
    return kept, notes


def _names(runs: list[FinishedRun]) -> list[str]:
    lengths: dict[tuple[str, str], set[str]] = defaultdict(set)
    for run in runs:
        lengths[run.run.task, _settings(run.run)].add(run.run.length)
    usual = _usual_versions(runs)
    names = []
    for run in runs:
        name = _settings(run.run)
        if len(lengths[run.run.task, name]) > 1:
            name += f", {run.run.length}"
        odd = differences(run.versions, usual)
        names.append(f"{name} ({', '.join(change.partition(' (')[0] for change in odd)})" if odd else name)
    return names


def _settings(run: Run) -> str:
    shown = (f"{key}={value}" for key, value in sorted(run.params.items()) if key not in DATA)
    return ", ".join([run.agent, *shown])


def _usual_versions(runs: list[FinishedRun]) -> dict[str, str]:
    """The versions most runs have; runs with others carry theirs in their name."""
    counts = Counter(tuple(sorted(run.versions.items())) for run in runs)
    return dict(counts.most_common(1)[0][0]) if counts else {}


def _version_notes(runs: list[FinishedRun]) -> list[str]:
    usual = _usual_versions(runs)
    odd = Counter(tuple(differences(run.versions, usual)) for run in runs)
    return [
        f"{count} run{'s' if count > 1 else ''} with {', '.join(changes).replace('(now', '(the others')} "
        f"{'are' if count > 1 else 'is'} kept apart, for other versions may give other numbers"
        for changes, count in odd.items()
        if changes
    ]


def _commit_notes(runs: list[FinishedRun]) -> list[str]:
    commits = sorted({run.commit for run in runs})
    if len(commits) < 2:
        return []
    parts = [commit.partition("+") for commit in commits]
    shown = ", ".join(head[:10] + plus + changes or "unrecorded" for head, plus, changes in parts)
    return [f"these runs come from {len(commits)} commits of Tiltyard ({shown}), pooled where versions agree"]
