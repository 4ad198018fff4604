"""Scales that raw returns are normalised by: what is 0 and what is 1.

============  ======================================  ==================================================================
``expert``    0 a random policy, 1 the scripted one   measured here on test problems, of every environment of ours
``published`` D4RL's random (0) and expert (1)        returns of the task's -v2 in MuJoCo 2; ours is -v5 in MuJoCo 3
``best``      0 a random policy, 1 the best known     the highest mean return of an agent at hand, or the expert's
============  ======================================  ==================================================================

Ranks, P and verdicts on one task are the same on all of them, for they are linear; means over several tasks are not. An
environment without numbers of a scale is left out of what is shown on it, and named.

What of a run is normalised is its score: the mean return of its last evaluation, or, where a suite asks for it, the
area under its evaluation curve (:mod:`..scores`).

Papers: Fu, Kumar, Nachum, Tucker and Levine, D4RL: Datasets for Deep Data-Driven Reinforcement Learning (2020).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from ... import unknown
from ...envs.catalogue import find
from ..datasets.d4rl_scores import SCORES
from ..runs import FinishedRun, Run
from ..scores import Score, raw_score
from .admission import usable
from .groups import place, short

ScaleName = Literal["expert", "published", "best"]
NAMES: tuple[ScaleName, ...] = get_args(ScaleName)
PUBLISHED = {
    f"tiltyard/{name}-v5": SCORES[f"{name.lower()}-expert-v2"] for name in ("Hopper", "HalfCheetah", "Walker2d", "Ant")
}
"""(0, 1) on the published scale."""
_WORDS: dict[ScaleName, tuple[str, str]] = {
    "expert": ("a random policy", "the scripted expert"),
    "published": ("D4RL's random policy", "D4RL's expert (published for MuJoCo's -v2 tasks)"),
    "best": ("a random policy", "the best known here: the highest mean return of an agent at hand, or the expert's"),
}
_SHORT: dict[ScaleName, str] = {"expert": "expert", "published": "D4RL's expert", "best": "best known"}


@dataclass(frozen=True)
class Scale:
    """What is 0 and what is 1.

    Attributes:
        name: one of :data:`NAMES`.
        ends: raw returns that are 0 and 1, by environment and its keywords (:attr:`Run.where`).
        score: what of a run is normalised.
    """

    name: ScaleName = "expert"
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)
    score: Score = "final"

    @property
    def words(self) -> str:
        """``0 is a random policy, 1 the scripted expert``."""
        zero, one = _WORDS[self.name]
        return f"0 is {zero}, 1 {one}"

    @property
    def one(self) -> str:
        """What 1 is, in a word or two."""
        return _SHORT[self.name]

    def normalise(self, run: Run, score: float) -> float:
        """A raw mean return of ``run`` on this scale; itself where the environment has no scores to normalise by."""
        env = find(run.env_id)
        if self.name == "expert" or not env.scored:
            return env.normalise(score)
        low, high = self.ends[run.where]
        return (score - low) / (high - low)


def scaled(
    runs: Iterable[FinishedRun], asked: ScaleName | Scale, score: Score = "final"
) -> tuple[list[FinishedRun], Scale, list[str]]:
    """The runs with :attr:`FinishedRun.normalised` on a scale, the scale, and a sentence on what has no place on it.

    Args:
        runs: finished ones.
        asked: a scale, or the name of one, which is made for these runs.
        score: what of a run is normalised, where a name was given.

    Raises:
        ValueError: no such scale, or no environment of these runs is on it.
    """
    name = asked.name if isinstance(asked, Scale) else asked
    if name not in NAMES:
        raise ValueError(unknown("scale", name, NAMES))
    runs = list(runs)
    score = asked.score if isinstance(asked, Scale) else score
    if name == "expert":
        scale = Scale(score=score)
        return runs if score == "final" else [_on(scale, run) for run in runs], scale, []
    made = _published if name == "published" else _best
    scale = asked if isinstance(asked, Scale) else Scale(name, made(runs), score)
    kept = [run for run in runs if run.run.where in scale.ends or not find(run.run.env_id).scored]
    left = sorted({short(run.run.where) for run in runs} - {short(run.run.where) for run in kept})
    if not kept:
        raise ValueError(f"no environment of these runs has {name} scores: {', '.join(left)} have none")
    told = [_on(scale, run) for run in kept]
    return told, scale, [f"left out, for they have no {name} scores: {', '.join(left)}"] if left else []


def _on(scale: Scale, run: FinishedRun) -> FinishedRun:
    """The run on a scale: itself where it is on it."""
    value = scale.normalise(run.run, raw_score(run, scale.score))
    return run if value == run.normalised else replace(run, normalised=value)


def on_published(runs: Iterable[FinishedRun]) -> bool:
    """Whether some environment of ``runs`` has published scores."""
    return bool(_published(runs))


def _published(runs: Iterable[FinishedRun]) -> dict[str, tuple[float, float]]:
    return {run.run.where: PUBLISHED[run.run.env_id] for run in runs if run.run.where in PUBLISHED}


def _best(runs: Iterable[FinishedRun]) -> dict[str, tuple[float, float]]:
    """From a random policy to the highest mean over runs of an agent with its settings, or the expert."""
    means: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for run in usable(list(runs))[0]:
        where, data = place(run.run, across=True)
        settings = sorted((key, repr(value)) for key, value in run.run.params.items())
        means[where][f"{run.run.agent} {data} {run.run.length} {settings}"].append(sum(run.scores) / len(run.scores))
    rows = {where: find(where.partition(" ")[0]) for where in means}
    return {
        where: (rows[where].random_score, max(rows[where].expert_score, *(float(np.mean(x)) for x in agents.values())))
        for where, agents in means.items()
        if rows[where].scored
    }
