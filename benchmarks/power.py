"""How large a difference a race can find, before it is run: the power of its permutation tests, by simulation.

A page of results corrects its verdicts by Holm's method over all its tests. The first step of it, for the smallest
p-value, asks for 5% divided by their number, the last one for 5%: a test's power lies between what it has alone and
what it has among all others. Four runs a side are the fewest that get a verdict, six where they are paired by seed: the
power is then that of pairs that have nothing in common, and what they do have in common makes it larger.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb

import numpy as np

from ..envs.catalogue import find
from .leaderboard.groups import names_of, place
from .leaderboard.spelling import check_suite
from .permutation import LEAST, LEAST_PAIRS, permutation_ps, sign_flip_ps
from .runs import FinishedRun, Run
from .scores import Score, normalised_score
from .suites import Comparison, Suite
from .verdicts import ALPHA, POWER

REPEATS = 2000
MOST_RUNS = 60
"""Runs a side that are looked at when it is asked how many are needed."""


@dataclass(frozen=True)
class Spread:
    """How far normalised scores of runs of one agent on one task scatter.

    Attributes:
        deviation: standard deviation, pooled over agents and tasks.
        source: where it comes from, in words.
    """

    deviation: float
    source: str


@dataclass(frozen=True)
class Power:
    """Chances to call a difference at all.

    Attributes:
        runs: a side.
        alone: of one test.
        among: of one test that comes first among all of a page.
    """

    runs: int
    alone: float
    among: float


def power(
    runs: int, effect: float, tests: int, *, paired: bool = False, repeats: int = REPEATS, seed: int = 0
) -> Power:
    """The power of permutation tests of two agents, by simulation of normal scores.

    Of more than 20,000 ways to divide the runs 4,000 are drawn, so that p-values are resolved to 0.00025.

    Args:
        runs: a side.
        effect: difference of the agents' means in standard deviations.
        tests: on the page.
        paired: whether runs are paired by their seed.
        repeats: simulated races.
        seed: of the simulation.
    """
    if runs < (LEAST_PAIRS if paired else LEAST):
        return Power(runs, 0.0, 0.0)
    rng = np.random.default_rng([seed, runs])
    a, b = rng.normal(size=(2, repeats, runs))
    p = sign_flip_ps(a + effect - b, rng=rng) if paired else permutation_ps(a + effect, b, rng=rng)
    higher = a.mean(1) + effect > b.mean(1)
    alone, among = (float(((p <= ALPHA / count) & higher).mean()) for count in (1, tests))
    return Power(runs, alone, among if smallest_p(runs, paired=paired) <= ALPHA / tests else 0.0)


def smallest_p(runs: int, *, paired: bool = False) -> float:
    """Of runs that are all apart: no test of so few can have a smaller p-value."""
    return 2 / (2**runs if paired else comb(2 * runs, runs))


def too_few(suite: Suite, agents: Sequence[str] | None = None) -> str:
    """A sentence where a suite's seeds are too few for any verdict of its page, whatever the scores; "" elsewhere."""
    if not suite.comparisons:
        return ""
    tests = page_tests(suite, agents)
    least = LEAST_PAIRS if suite.paired else LEAST
    fewest = next(n for n in range(least, MOST_RUNS) if smallest_p(n, paired=suite.paired) <= ALPHA / tests)
    if len(suite.seeds) >= fewest:
        return ""
    return (
        f"with its {len(suite.seeds)} seeds no verdict on the page of {suite.name} can fall, whatever the scores: "
        f"{tests} tests at {ALPHA:.0%} take {fewest} seeds at least"
    )


def needed(effect: float, tests: int, *, paired: bool = False, wanted: float = POWER, seed: int = 0) -> int | None:
    """The fewest runs a side whose test, first among all of a page, finds an effect in ``wanted`` of races; None: many.

    Powers grow with runs, so that the interval of possible numbers is halved.
    """
    low, high = LEAST, MOST_RUNS
    if power(high, effect, tests, paired=paired, seed=seed).among < wanted:
        return None
    while low < high:
        middle = (low + high) // 2
        if power(middle, effect, tests, paired=paired, seed=seed).among >= wanted:
            high = middle
        else:
            low = middle + 1
    return low


def detectable(runs: int, tests: int, *, paired: bool = False, wanted: float = POWER, seed: int = 0) -> float | None:
    """The effect, in standard deviations, that a page's first test finds in ``wanted`` of races; None: no effect can.

    It is known to a hundredth.
    """
    if runs < (LEAST_PAIRS if paired else LEAST) or smallest_p(runs, paired=paired) > ALPHA / tests:
        return None
    low, high = 0.0, 20.0
    while high - low > 0.01:
        middle = (low + high) / 2
        if power(runs, middle, tests, paired=paired, seed=seed).among >= wanted:
            high = middle
        else:
            low = middle
    return high


def page_tests(suite: Suite, agents: Sequence[str] | None = None) -> int:
    """Tests on the page of a suite's race: each condition against the reference, on every task and over several.

    Conditions are called as on the page of the whole race. What stands on it twice is one test, as there.

    A suite without comparisons counts as one in which all conditions of a task are compared with one of them.

    Raises:
        KeyError, ValueError: a suite whose page could not be made of its runs, see
            :func:`.leaderboard.spelling.check_suite`.
    """
    check_suite(suite)
    runs = suite.runs(agents=agents, seeds=(0,))
    if not suite.comparisons:
        return max(1, len(runs) - len({run.task for run in runs}))
    tests: set[tuple[str, str, tuple[str, ...]]] = set()
    for one in suite.comparisons:
        conditions = _complete(suite, one, runs)
        if one.reference in conditions:
            for condition in conditions - {one.reference, *one.inert}:
                alone = [(task,) for task in one.tasks]
                tests |= {(one.reference, condition, tasks) for tasks in (tuple(sorted(one.tasks)), *alone)}
    return max(1, len(tests))


def _complete(suite: Suite, comparison: Comparison, runs: Sequence[Run]) -> set[str]:
    """What the page calls those conditions of ``runs`` that run every task of ``comparison``, and count in it."""
    shown = [run for run in suite.runs(seeds=(0,)) if any(_is_of(one, run) for one in suite.comparisons)]
    names = names_of(shown, across=comparison.across)
    ran: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        if _is_of(comparison, run):
            called = names[run.name], suite.label(run)
            if not comparison.agents or set(called) & set(comparison.agents):
                ran.setdefault(called, set()).add(place(run, across=comparison.across)[0])
    return {label or name for (name, label), tasks in ran.items() if tasks == set(comparison.tasks)}


def _is_of(comparison: Comparison, run: Run) -> bool:
    return place(run, across=comparison.across)[0] in comparison.tasks


def spread_of(runs: Sequence[FinishedRun], score: Score = "final", *, paired: bool = False) -> Spread:
    """From earlier runs: what several seeds of the same agent on the same task scattered by.

    Tasks of raw returns are left out, which the source says.

    Args:
        runs: earlier ones.
        score: what of a run counts.
        paired: leave out what all agents of a task have in common on a seed, where each ran the same seeds: with s_ac
            the score of agent a on seed c, the deviation is that of s_ac - s_a. - s_.c + s_.. over (A - 1)(C - 1).

    Raises:
        ValueError: no agent has two runs on one task whose returns are normalised.
    """
    tasks: dict[str, dict[str, dict[int, float]]] = {}
    scored = [run for run in runs if find(run.run.env_id).scored]
    for run in scored:
        conditions = tasks.setdefault(run.run.task, {})
        conditions.setdefault(replace(run.run, seed=0).name, {})[run.run.seed] = normalised_score(run, score)
    several = [[seeds for seeds in found.values() if len(seeds) > 1] for found in tasks.values()]
    in_pairs = paired and all(len(found) > 1 and len({frozenset(seeds) for seeds in found}) == 1 for found in several)
    parts = [_scatter(found, in_pairs) for found in several]
    total, freedom = sum(squares for squares, _ in parts), sum(free for _, free in parts)
    if not freedom:
        raise ValueError(
            "these runs say nothing of the spread: no agent has two of them on one task whose returns are normalised; "
            "give --sd"
        )
    counted = f"{sum(len(seeds) for found in several for seeds in found)} earlier runs"
    told = f"{counted} of {sum(map(len, several))} conditions" + ", paired by seed" * in_pairs
    told += f", without {len(runs) - len(scored)} of raw returns" * (len(scored) < len(runs))
    return Spread(float(np.sqrt(total / freedom)), told)


def _scatter(conditions: Sequence[Mapping[int, float]], paired: bool) -> tuple[float, int]:
    """The sum of squares about a task's means, and its degrees of freedom."""
    if paired:
        table = np.array([[scores[seed] for seed in sorted(scores)] for scores in conditions])  # [agents, seeds]
        left = table - table.mean(1, keepdims=True) - table.mean(0) + table.mean()
        return float((left**2).sum()), (len(table) - 1) * (table.shape[1] - 1)
    each = [np.array(list(scores.values())) for scores in conditions]
    return sum(float(((one - one.mean()) ** 2).sum()) for one in each), sum(len(one) - 1 for one in each)
