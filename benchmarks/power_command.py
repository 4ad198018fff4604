"""``tiltyard power``: a dataclass as in :mod:`.cli`."""

from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import tyro

from . import commands

if TYPE_CHECKING:
    from .power import Spread
    from .suites import Suite


@dataclass
class Power:
    """Says, before a race, how likely it is to find a difference of a given size, and how many seeds that takes."""

    suite: tyro.conf.Positional[str]
    """name of a suite, such as text-v1, or a .toml file that holds one"""
    effect: float
    """difference of two agents' mean normalised scores that is to be found, such as 0.1"""
    sd: float | None = None
    """standard deviation of normalised scores between seeds; by default that of the finished runs in --runs"""
    runs: Path | None = None
    """folder of earlier runs; those on the suite's tasks count, and all where none is; by default the published ones of
    this suite, or runs"""
    agents: str | None = None
    """comma-separated names of the suite's agents or methods that will be raced; all of them by default"""
    seeds: str | None = None
    """comma-separated seeds and ranges of the race; the suite's own by default"""

    def run(self) -> int:
        """Simulates, and prints a table."""
        from .power import detectable, needed, page_tests, power
        from .suites import find

        suite = find(self.suite)
        seeds = len(commands.parse_seeds(self.seeds) or suite.seeds)
        tests = page_tests(suite, commands.parse_names(self.agents))
        wanted = self._effect()
        spread = self._spread(suite)
        effect = wanted / spread.deviation
        print(f"{suite.name}: {seeds} seeds, {tests} tests on its page, sd {spread.deviation:.3g} ({spread.source})")
        print(f"effect {self.effect:g} is {effect:.2f} standard deviations")
        if (paired := suite.paired) and "paired" not in spread.source:
            print("paired by seed, as if the runs of a seed had nothing in common: what they have makes it more likely")
        print("seeds  found alone  found first among all")
        for count in sorted({seeds, 5, 10, 20}):
            found = power(count, effect, tests, paired=paired)
            print(f"{count:>5}  {found.alone:>11.0%}  {found.among:>21.0%}")
        least, runs = detectable(seeds, tests, paired=paired), needed(effect, tests, paired=paired)
        if least is None:
            print(f"with {seeds} seeds no effect, however large, can come first among {tests} tests at 5%")
        else:
            print(f"{seeds} seeds find {least * spread.deviation:.3g} in four of five races, first among {tests} tests")
        print(f"for {self.effect:g} that takes {'more than 60' if runs is None else runs} seeds")
        return 0

    def _effect(self) -> float:
        if not 0 < self.effect < inf:
            raise ValueError(f"--effect must be above 0 and finite, got {self.effect:g}")
        return self.effect

    def _spread(self, suite: "Suite") -> "Spread":
        from .loading import load_runs
        from .power import Spread, spread_of

        if self.sd is None:
            folder = self._folder(suite)
            found, tasks = load_runs(folder), {run.task for run in suite.runs(seeds=(0,))}
            here = [run for run in found if run.run.task in tasks]
            spread = spread_of(here or found, suite.score, paired=suite.paired)
            others = ", on other tasks than the suite's" * (not here)
            return replace(spread, source=f"{spread.source} in {folder}{others}")
        if not 0 < self.sd < inf:
            raise ValueError(f"--sd must be above 0 and finite, got {self.sd:g}")
        return Spread(self.sd, "as stated")

    def _folder(self, suite: "Suite") -> Path:
        """Of earlier runs.

        Raises:
            ValueError: there is none.
        """
        from .index import RESULTS

        if self.runs is not None:
            return self.runs
        for folder in (RESULTS / suite.name / "runs", Path("runs")):
            if folder.is_dir():
                return folder
        raise ValueError(
            f"how far apart seeds of {suite.name} end is not known: give --sd, or --runs with a folder of earlier runs"
        )
