"""The same conditions raced from several base checkpoints, side by side: tables of a page (:mod:`..between_bases`).

Differences from the reference stand in two tables, of the runs alone and with the tuning's noise: from each base with
its own page's verdict, and over all of them. A third has the spread between bases beside that between seeds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt

from ...agents.catalogue import find
from ...envs.catalogue import find as find_env
from ..between_bases import Bases
from ..choices import Tuning
from ..nested import Tuned, nested_mean_difference
from ..pages import plain
from ..permutation import LEAST_PAIRS, holm, sign_flip_p
from ..runs import FinishedRun
from ..statistics import MIN_RUNS, Interval
from ..suites import Suite
from ..verdicts import ALPHA, student_interval

NONE = "no significant difference"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Beside:
    """Another race whose conditions a suite has again: its suite, finished runs and tuning."""

    suite: Suite
    runs: Sequence[FinishedRun]
    tuning: Tuning | None = None


@dataclass(frozen=True)
class Raced:
    """A race of one comparison from one base, agents named as on its page.

    Attributes:
        suite: its name, and that of its page's folder.
        base: the policy that all runs began from.
        scores: normalised, by agent and seed.
        verdicts: of each agent against the reference, the runs alone.
        effects: the difference with tuning and its verdict, as the page has them, by agent.
        tuned: what can be resampled, by agent.
    """

    suite: str
    base: str
    scores: Mapping[str, Mapping[int, float]]
    verdicts: Mapping[str, str]
    effects: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    tuned: Mapping[str, Tuned] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """What a page says of several bases: their races, how many seeds they share, and cells of three tables."""

    races: Sequence[Raced]
    seeds: int
    alone: list[list[str]]
    nested: list[list[str]]
    spread: list[list[str]]

    @property
    def heads(self) -> list[str]:
        """Of the first two tables."""
        each = chain.from_iterable((f"from {plain(race.base)}", "") for race in self.races)
        return ["agent", *each, "the bases agree on", "mean over the bases", "p", ""]


def base_of(run: FinishedRun) -> str:
    """The policy that a run began from: its own, or its agent's in that environment; "" of agents without."""
    row = find(run.run.agent, find_env(run.run.env_id).domain)
    return str(run.run.params.get("policy", row.settings_for(run.run.env_id).get("policy", "")))


def section(reference: str, races: Sequence[Raced]) -> Section | None:
    """The page's section; None where the races share too few seeds, or no agent but the reference.

    Args:
        reference: agent that differences are from.
        races: one a base, the page's own last.
    """
    agents = [name for name in races[-1].scores if all(name in race.scores for race in races)]
    seeds = sorted(set.intersection(*(set(race.scores[name]) for race in races for name in agents)))
    if reference not in agents or len(agents) < 2 or len(seeds) < MIN_RUNS:
        return None
    scores = {name: np.array([[race.scores[name][seed] for seed in seeds] for race in races]) for name in agents}
    apart = {name: scores[name] - scores[reference] for name in agents if name != reference}
    spread = [_spread(f"score of {name}", Bases(values), ".3f") for name, values in scores.items()]
    spread += [_spread(f"{name} minus {reference}", Bases(values), "+.3f") for name, values in apart.items()]
    return Section(races, len(seeds), _alone(races, apart), _nested(reference, races, list(apart)), spread)


def _alone(races: Sequence[Raced], apart: Mapping[str, Floats]) -> list[list[str]]:
    """A row an agent, of the runs alone: exact tests that turn the signs of a seed's mean over bases."""
    if min(values.shape[1] for values in apart.values()) < LEAST_PAIRS:
        return []
    adjusted = holm([sign_flip_p(values.mean(axis=0)) for values in apart.values()])
    rows = []
    for (name, values), p in zip(apart.items(), adjusted, strict=True):
        each = [(f"{student_interval(one):+.3f}", race.verdicts[name]) for one, race in zip(values, races, strict=True)]
        rows.append([plain(name), *_cells(each, values.mean(axis=1).tolist()), *_over(Bases(values).of_these, p)])
    return rows


def _nested(reference: str, races: Sequence[Raced], agents: Sequence[str]) -> list[list[str]]:
    """A row an agent that was tuned from every base, with the noise of tuning."""
    known = [
        name
        for name in agents
        if all({name, reference} <= race.tuned.keys() and name in race.effects for race in races)
    ]
    pairs = {name: [(race.tuned[name], race.tuned[reference]) for race in races] for name in known}
    found = [nested_mean_difference(pairs[name], rng=np.random.default_rng(0)) for name in known]
    rows = []
    for name, (interval, _), p in zip(known, found, holm([p for _, p in found]), strict=True):
        differences = [float(a.scores.mean() - b.scores.mean()) for a, b in pairs[name]]
        rows.append([plain(name), *_cells([race.effects[name] for race in races], differences), *_over(interval, p)])
    return rows


def _cells(each: Sequence[tuple[str, str]], differences: Sequence[float]) -> list[str]:
    """Interval and verdict from each base, and what of them the bases agree on."""
    sign = len({difference > 0 for difference in differences}) == 1
    verdict = len({verdict for _, verdict in each}) == 1
    agreed = " and ".join([*["sign"] * sign, *["verdict"] * verdict]) or "neither"
    return [*chain.from_iterable(each), agreed]


def _over(interval: Interval, p: float) -> list[str]:
    """The mean over bases with its verdict."""
    verdict = NONE if p > ALPHA else "better" if interval.estimate > 0 else "worse"
    return [f"{interval:+.3f}", f"{p:.3f}" if p >= 0.001 else "below 0.001", verdict]


def _spread(what: str, found: Bases, spec: str) -> list[str]:
    p = found.p
    said = "-" if np.isnan(p) else f"{p:.3f}" if p >= 0.001 else "below 0.001"
    return [plain(what), f"{found.between:.4f}", f"{found.within:.4f}", said, format(found.of_others, spec)]
