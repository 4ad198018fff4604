"""``tiltyard show NAME``: whatever a catalogue holds, be it of a paper (:mod:`.index`), an environment or a suite."""

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

import gymnasium

from .. import unknown
from ..agents.catalogue import plugged as plugged_agents
from ..agents.row import Row as Agent
from ..envs.catalogue import Row as Env
from ..envs.catalogue import rows as env_rows
from ..envs.errors import made_by_others
from . import index
from .defaults import class_of
from .docs import RESULTS, components, number, suites
from .list_command import datasets
from .suites import Suite
from .suites import rows as suite_rows

PREFIX = "tiltyard/"


def describe(name: str) -> str:
    """What ``tiltyard show NAME`` prints.

    Args:
        name: handle of a paper or of what is built from one, id of an environment (``tiltyard/`` may be left out), name
            of a suite, of a plugin's agent, of a component of language agents or of a dataset. Where two share a name
            the first of these is meant.

    Raises:
        KeyError: nothing is called so; the message holds the nearest names.
    """
    if name in index.handles():
        return index.describe(name)
    envs = {row.id: row for row in env_rows()}
    env = envs.get(name) or envs.get(PREFIX + name)
    if env is not None:
        return "\n".join(_of_env(env))
    found = {suite.name: suite for suite in suite_rows()}
    if name in found:
        return "\n".join(_of_suite(found[name]))
    agents = {row.name: row for row in plugged_agents()}
    if name in agents:
        return "\n".join(_of_agent(agents[name]))
    others = [row for row in components()[2] if row[0] == name]
    if others:
        told = [[f"{kind} of language agents", *index.field("what", what)] for _, kind, what in others]
        return "\n".join([f"{name}: {told[0][0]}", *told[0][1:], *(line for one in told[1:] for line in ("", *one))])
    listed = {row[0]: row[1:] for row in datasets()[2]}
    if name in listed:
        return "\n".join([f"{name}: {', '.join(listed[name])}", *index.field("use", f"tiltyard dataset show {name}")])
    ids = envs if name.startswith(PREFIX) else [env_id.removeprefix(PREFIX) for env_id in envs]
    raise KeyError(unknown("name", name, _all(ids, found, agents, listed)))


def _all(*names: Iterable[str]) -> set[str]:
    """``names``, and those of papers, parts and components."""
    return {*index.handles(), *(row[0] for row in components()[2]), *(one for some in names for one in some)}


def _of_agent(row: Agent) -> Iterator[str]:
    """An agent of a plugin; ours are parts of papers."""
    yield f"{row.name}: {row.summary}"
    yield from index.field("domains", ", ".join(row.domains))
    yield from index.field("settings", index.settings(row))
    yield from index.field("makes", index.environment_keywords(row))
    yield from index.field("source", row.entry_point)
    yield from index.field("use", f"tiltyard train --agent {row.name} --env ID")


def _of_env(row: Env) -> Iterator[str]:
    yield f"{row.id}: {row.summary}"
    yield from index.field("domain", f"{row.domain}, {row.tier}")
    if row.tier == "simulated":  # others would need their server or device
        with made_by_others(row.id, {}):
            env = gymnasium.make(row.id, disable_env_checker=True)
        yield from index.field("observed", _space(env.observation_space))
        yield from index.field("actions", _space(env.action_space))
        env.close()
    if made := class_of(row.entry_point):
        yield from index.field("keywords", index.keywords(made, row.kwargs, leave={"num_envs", "xml_file"}))
    yield from index.field("steps", f"at most {row.max_episode_steps:,} an episode" if row.max_episode_steps else "")
    scores = {"random policy": row.random_score, f"blind ({row.blind_policy})": row.blind_score}
    scores |= {"scripted expert": row.expert_score} if row.scored else {}
    told = [f"{who} {number(score)}" for who, score in scores.items() if score is not None and row.scored]
    yield from index.field("returns", ", ".join(told))
    if isfinite(row.expert_success):
        yield from index.field("success", f"scripted expert {row.expert_success:.0%} of test problems")
    yield from index.field("source", index.source(row.entry_point))
    yield from index.field("use", f'gymnasium.make("{row.id}")')
    raced = [suite.name for suite in suite_rows() if row.id in {task.env_id for task in suite.tasks}]
    yield from ["", "suites", *(f"  {name}" for name in raced)] if raced else []


def _space(space: gymnasium.Space[Any]) -> str:
    """As Gymnasium writes it, but without the characters of a text."""
    if isinstance(space, gymnasium.spaces.Text):
        return f"Text({space.min_length}, {space.max_length})"
    if isinstance(space, gymnasium.spaces.Dict):
        return f"Dict({', '.join(f'{name}: {_space(part)}' for name, part in space.items())})"
    return f"{space}"


def _of_suite(suite: Suite) -> Iterator[str]:
    yield f"{suite.name}: {suite.summary}"
    for _, env, agents, _, minutes in suites([suite])[2]:
        yield from ["", env, *index.field("agents", agents), *index.field("minutes", f"{minutes} of one core")]
    yield ""
    yield from index.field("seeds", ", ".join(map(str, suite.seeds)))
    yield from index.field("score", SCORES[suite.score])
    yield from index.field("datasets", ", ".join(suite.datasets))
    yield from index.field("command", f"tiltyard race {suite.name} --out runs/{suite.name}")
    if (RESULTS / suite.name / "README.md").is_file():
        yield from ["", "results", f"  docs/results/{suite.name}/"]


SCORES: Mapping[Any, str] = {
    "final": "the last evaluation",
    "last-five": "the mean of the last five evaluations",
    "area": "the area under the curve of evaluations",
}
