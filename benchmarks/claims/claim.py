"""A published claim as data: conditions on a testbed, the effects that decide with their margins, and its premise."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Generic, Self, TypeVar

import numpy as np

from ... import unknown
from ..statistics import Floats
from ..testbeds.testbed import Testbed
from ..verdicts import Part
from .progress import Job, runs

C = TypeVar("C")
R = TypeVar("R")

GRID = (0.01, 0.03, 0.1, 0.3)
"""Learning rates that every condition may choose from."""

TUNING = 1000
"""Seeds from here on choose learning rates; no result comes from them."""

WIDEN = 2
"""How often a grid is widened beyond the end where a best value lies."""

FEWEST = 3
"""Seeds of an experiment in its smallest size: intervals need as many runs."""


@dataclass(frozen=True)
class Measurement:
    """What an experiment found: the claim's effects by name, and whatever a reader needs to judge them (JSON)."""

    parts: Mapping[str, Part]
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def means(self) -> dict[str, float]:
        """The effects, by name, without what is known of their noise."""
        return {name: part.sample.mean for name, part in self.parts.items()}


@dataclass(frozen=True)
class Premise:
    """What must hold for the experiment to be able to find the effect; where it does not, nothing is decided.

    Attributes:
        sentence: the premise; or why there is none.
        shown: keys of the details, outermost first, that lead to the numbers that show it; none where nothing does.
        holds: whether those numbers show it; None where it is left to the reader.
    """

    sentence: str
    shown: tuple[str, ...] = ()
    holds: Callable[[Any], bool] | None = None

    def missing(self, details: Mapping[str, Any]) -> str:
        """Why the claim cannot be decided by an experiment with these details; empty where its premise holds."""
        shown: Any = details
        for key in self.shown:
            shown = shown[key]
        absent = self.holds is not None and not self.holds(shown)
        return f"its premise does not hold here ({self.sentence})" if absent else ""


@dataclass(frozen=True)
class Tuning:
    """How each condition gets its learning rate: the best mean score of a grid, on seeds that no result comes from.

    Attributes:
        score: of a run.
        grid: learning rates, the same for every condition; widened by the same factor for all where the best of one
            lies at an end.
        seeds: tuning seeds, the same for every condition.
        alike: the one condition that is tuned, whose rate all others get too.
        variants: other forms of each condition, equally many, that are tried at every rate.
    """

    score: Callable[[Any], float]
    grid: Sequence[float] = GRID
    seeds: int = 3
    alike: str | None = None
    variants: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def smallest(self) -> Self:
        """One seed and one learning rate, but still every variant."""
        return replace(self, grid=self.grid[-1:], seeds=1)


@dataclass(frozen=True)
class Outcome(Generic[C, R]):
    """What a condition did: a run a seed, at the learning rate that suits it (NaN without tuning)."""

    condition: C
    rate: float
    runs: list[R]

    def each(self, value: Callable[[R], Any]) -> Floats:
        """A number of every run, ``[seeds]``."""
        return np.array([value(run) for run in self.runs])


@dataclass(frozen=True)
class Found(Generic[C, R]):
    """All conditions' outcomes on a testbed.

    Attributes:
        claim: whose conditions they are.
        testbed: they ran on.
        outcomes: by condition.
        tried: scores of tuning, by condition, learning rate and variant, one a seed.
        seed_list: the runs' seeds.
        reruns: what :meth:`rerun` has run.
    """

    claim: "Comparison"
    testbed: Any
    outcomes: Mapping[str, Outcome[C, R]]
    tried: Mapping[tuple[str, float, int], list[float]]
    seed_list: Sequence[int] = ()
    reruns: dict[str, "Found[C, R]"] = field(default_factory=dict, compare=False, repr=False)

    def __getitem__(self, name: str) -> Outcome[C, R]:
        return self.outcomes[name]

    @property
    def seeds(self) -> int:
        """Runs of each condition."""
        return len(next(iter(self.outcomes.values())).runs)

    @property
    def grid(self) -> list[float]:
        """Learning rates that every condition tried, in ascending order."""
        return sorted({rate for _, rate, _ in self.tried})

    @property
    def at_edge(self) -> list[str]:
        """Conditions whose learning rate is the least or the largest that was tried."""
        ends = (self.grid[0], self.grid[-1]) if self.grid else ()
        return [name for name, outcome in self.outcomes.items() if outcome.rate in ends]

    @property
    def rates(self) -> dict[str, float]:
        """Learning rates, by condition."""
        return {name: outcome.rate for name, outcome in self.outcomes.items()}

    def each(self, value: Callable[[Any], Any]) -> dict[str, Floats]:
        """A number of every run, ``[seeds]`` for each condition."""
        return {name: outcome.each(value) for name, outcome in self.outcomes.items()}

    def minus(self, value: Callable[[R], Any], others: Iterable[str] = ()) -> dict[str, Floats]:
        """By how much the claim's condition exceeds each baseline (or each of ``others``) in the same task."""
        ours = self[self.claim.ours].each(value)
        return {name: ours - self[name].each(value) for name in others or self.claim.baselines}

    def count(self, holds: Callable[[R], bool]) -> dict[str, int]:
        """Runs of each condition of which something holds."""
        return {name: sum(map(holds, outcome.runs)) for name, outcome in self.outcomes.items()}

    def rerun(self, rates: Mapping[str, float], *, most: int, testbed: Any = None) -> "Found[C, R]":
        """Some conditions once more, on at most ``most`` seeds, at other learning rates or on another testbed."""
        bed: Testbed = testbed or self.testbed
        some = self.seed_list[:most]
        if (key := repr((rates, some, bed))) in self.reruns:
            return self.reruns[key]
        chosen = {name: (self[name].condition, rate) for name, rate in rates.items()}
        outcomes = _outcomes(bed, chosen, some)
        self.reruns[key] = Found(self.claim, bed, outcomes, {}, some)
        return self.reruns[key]

    def on_tuning_seeds(self, names: Iterable[str]) -> dict[str, list[R]]:
        """Some conditions at their learning rates on the seeds of tuning, for what else a claim may choose there."""
        tuning = self.claim.tuning
        some = range(TUNING, TUNING + (min(self.seeds, tuning.seeds) if tuning else 0))
        chosen = {name: (self[name].condition, self[name].rate) for name in names}
        return {name: outcome.runs for name, outcome in _outcomes(self.testbed, chosen, some).items()}

    def faster(self, factor: float, *, most: int) -> "Found[C, R]":
        """All conditions once more at a multiple of their learning rates."""
        return self.rerun({name: factor * rate for name, rate in self.rates.items()}, most=most)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a paper says, and what will decide.

    Attributes:
        handle: of the paper table.
        sentence: the claim in one sentence, with the place in the paper that makes it.
        effect: what the measured numbers are, and which values support the claim.
        remark: what a reader of the verdict must know besides: where the experiment is weak.
        withdrawn: why verdicts of this experiment do not count; empty while they do.
    """

    handle: str
    sentence: str
    effect: str
    remark: str = ""
    withdrawn: str = ""


@dataclass(frozen=True, kw_only=True)
class Comparison(Claim):
    """A claim whose experiment is data: conditions that are compared on a testbed.

    Attributes:
        testbed: the experiment's sizes, the same for all conditions.
        conditions: what is compared, by name.
        ours: the condition that the claim is about.
        baselines: the conditions that it is compared with.
        seeds: how many, from 0 on, each with a run of each condition; or which, where others have had a verdict.
        tuning: of learning rates; None where conditions have published or equal ones.
        premise: what must hold for the effect to be found.
        parts: the effects, by name; each has its own verdict (:mod:`..verdicts`).
        details: whatever a reader needs to judge it (JSON).

    Raises:
        ValueError: ours, a baseline, what is tuned or what has variants is no condition; seeds that are fewer than
            three, given twice or for tuning.
    """

    testbed: Testbed
    conditions: Mapping[str, Any]
    ours: str
    baselines: tuple[str, ...]
    seeds: int | Sequence[int]
    premise: Premise
    parts: Callable[[Any], Mapping[str, Part]]
    details: Callable[[Any], dict[str, Any]]
    tuning: Tuning | None = None

    def __post_init__(self) -> None:
        """Refuses before the first run what would be found out after the last."""
        tuned = ((*self.tuning.variants, self.tuning.alike or self.ours)) if self.tuning else ()
        for name in (self.ours, *self.baselines, *tuned):
            if name not in self.conditions:
                raise ValueError(f"claim {self.handle!r}: {unknown('condition', name, self.conditions)}")
        if self.ours in self.baselines or not self.baselines:
            raise ValueError(
                f"claim {self.handle!r}: {self.ours!r} is compared with others than itself: name baselines"
            )
        seeds = _listed(self.seeds)
        if len(seeds) < FEWEST or len(set(seeds)) < len(seeds):
            raise ValueError(
                f"claim {self.handle!r}: an experiment takes {FEWEST} different seeds or more, got {seeds}"
            )
        _check_seeds(seeds)

    def compare(self, *, seeds: int | Sequence[int], testbed: Any = None) -> Found[Any, Any]:
        """Tunes every condition and runs it on seeds 0, 1, ... (or those given), on the claim's testbed or another.

        Raises:
            ValueError: a seed that is for tuning.
        """
        chosen_seeds = _listed(seeds)
        _check_seeds(chosen_seeds)
        bed: Testbed = testbed or self.testbed
        tried: dict[tuple[str, float, int], list[float]] = {}
        chosen = {name: (condition, float("nan")) for name, condition in self.conditions.items()}
        if self.tuning is not None:
            chosen = self._tune(self.tuning, bed, min(len(chosen_seeds), self.tuning.seeds), tried)
        return Found(self, bed, _outcomes(bed, chosen, chosen_seeds), tried, chosen_seeds)

    def _tune(
        self, tuning: Tuning, bed: Testbed, seeds: int, tried: dict[tuple[str, float, int], list[float]]
    ) -> dict[str, tuple[Any, float]]:
        """The best form and rate of each in one grid for all, widened while the best of one lies at its end."""
        names = [tuning.alike] if tuning.alike else list(self.conditions)
        grid, new = sorted(tuning.grid), sorted(tuning.grid)
        for _ in range(WIDEN + 1):
            trials = [(name, rate, i) for name in names for rate in new for i in range(len(self._forms(name)))]
            done = runs(
                Job(bed, name, self._forms(name)[i], rate, seed, tuning=True)
                for name, rate, i in trials
                for seed in range(TUNING, TUNING + seeds)
            )
            tried |= {trial: [tuning.score(run) for run in done[j * seeds :][:seeds]] for j, trial in enumerate(trials)}
            best = {name: _best(name, tried) for name in names}
            new = _beyond(grid, {rate for _, rate, _ in best.values()})
            grid = sorted([*grid, *new])
            if not new:
                break
        chosen = {name: (self._forms(name)[i], rate) for name, (_, rate, i) in best.items()}
        if tuning.alike:
            rate = chosen[tuning.alike][1]
            return {name: (condition, rate) for name, condition in self.conditions.items()}
        return chosen

    def _forms(self, name: str) -> Sequence[Any]:
        assert self.tuning is not None
        return self.tuning.variants.get(name, (self.conditions[name],))

    def measure(self, *, seeds: int | Sequence[int] | None = None) -> Measurement:
        """Runs the experiment with ``seeds`` seeds (the claim's own by default), or on those given."""
        found = self.compare(seeds=self.seeds if seeds is None else seeds)
        details = dict(self.details(found))
        if self.tuning is not None:
            forms = len(self._forms(self.tuning.alike or self.ours))
            details["tuning"] = {
                "grid": found.grid,
                "trials of each condition": len(found.grid) * forms * min(found.seeds, self.tuning.seeds),
                "chosen": found.rates,
                "at an end of the grid": found.at_edge,
            }
        return Measurement(self.parts(found), details)

    def smallest(self) -> Self:
        """The same claim in the least size that still measures everything: its number says nothing."""
        tuning = self.tuning and self.tuning.smallest()
        return replace(self, testbed=self.testbed.smallest(), tuning=tuning, seeds=FEWEST)


def _outcomes(
    bed: Testbed, chosen: Mapping[str, tuple[Any, float]], seeds: Sequence[int]
) -> dict[str, Outcome[Any, Any]]:
    """What conditions do at their learning rates, on each seed."""
    done = iter(
        runs(
            Job(bed, name, condition, rate, seed, tuning=seed >= TUNING)
            for name, (condition, rate) in chosen.items()
            for seed in seeds
        )
    )
    return {
        name: Outcome(condition, rate, list(islice(done, len(seeds)))) for name, (condition, rate) in chosen.items()
    }


def _best(name: str, tried: Mapping[tuple[str, float, int], list[float]]) -> tuple[str, float, int]:
    """What a condition scored most with in tuning; of equals the first tried. A score of NaN is no score.

    Raises:
        ValueError: it scored NaN with whatever was tried.
    """
    scored = [key for key in tried if key[0] == name and not np.isnan(tried[key]).any()]
    if not scored:
        raise ValueError(
            f"condition {name!r} scored NaN at every learning rate that was tried: there is none to choose"
        )
    return max(scored, key=lambda key: sum(tried[key]))


def _listed(seeds: int | Sequence[int]) -> Sequence[int]:
    return range(seeds) if isinstance(seeds, int) else tuple(seeds)


def _check_seeds(seeds: Iterable[int]) -> None:
    """Refuses seeds that are for tuning (``ValueError``)."""
    if tuned := [seed for seed in seeds if seed >= TUNING]:
        raise ValueError(f"seed {tuned[0]} is for tuning, which takes those from {TUNING} on: report others")


def _beyond(grid: Sequence[float], rates: Iterable[float]) -> list[float]:
    """One value beyond each end of a sorted grid at which one of ``rates`` lies, as far off as its neighbour; or none.

    A grid of one or two values is no search, and is left alone.
    """
    if len(grid) < 3:
        return []
    low = [grid[0] ** 2 / grid[1]] if grid[0] in rates else []
    high = [grid[-1] ** 2 / grid[-2]] if grid[-1] in rates else []
    return [float(f"{value:.4g}") for value in low + high]
