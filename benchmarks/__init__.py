"""Runs, races, statistics, the leaderboard, published claims and the command line.

The imports below are eager because the function ``race`` must win over the module of that name; all of them are light.
"""

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
