"""Runs, races, statistics, the leaderboard, published claims and the command line.

The imports below are eager because the function ``race`` must win over the module of that name; all of them are light.
``benchmarks.statistics``, which compiles, is imported when it is first asked for.
"""

from importlib import import_module
from types import ModuleType

from .. import unknown
from .datasets import load_dataset, make_dataset
from .evaluation import Evaluation, evaluate
from .loading import load_runs
from .race import RaceIncomplete, race
from .runs import FinishedRun, Run, VersionWarning
from .suites import Suite

__all__ = [
    "Evaluation",
    "FinishedRun",
    "RaceIncomplete",
    "Run",
    "Suite",
    "VersionWarning",
    "evaluate",
    "load_dataset",
    "load_runs",
    "make_dataset",
    "race",
]


def __getattr__(name: str) -> ModuleType:
    if name == "statistics":
        return import_module(f"{__name__}.{name}")
    raise AttributeError(unknown("attribute of tiltyard.benchmarks", name, [*__all__, "statistics"]))
