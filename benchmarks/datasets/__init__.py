"""Offline data: made by our own policies, read from D4RL's files, described, and kept as Minari datasets."""

from typing import TYPE_CHECKING

from .d4rl import d4rl_normalise, import_d4rl
from .make import make_dataset
from .tq_saco import state_action_coverage, trajectory_quality

if TYPE_CHECKING:
    from minari import MinariDataset

__all__ = [
    "d4rl_normalise",
    "import_d4rl",
    "load_dataset",
    "make_dataset",
    "state_action_coverage",
    "trajectory_quality",
]


def load_dataset(dataset_id: str) -> "MinariDataset":
    """The local dataset of an id; ``FileNotFoundError`` says how to come by it."""
    from ...agents.control.datasets import load

    return load(dataset_id)
