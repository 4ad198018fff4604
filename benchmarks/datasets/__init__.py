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
    """The local dataset of an id; one of the catalogue is verified (:func:`.catalogue.verify`).

    Raises:
        FileNotFoundError: there is none; the message says how to come by it.
        ValueError: a broken one, or not what the catalogue says.
    """
    from ...agents.control.datasets import load
    from .catalogue import ROWS, verify
    from .store import path_of

    for row in ROWS:
        if row.id == dataset_id and not path_of(dataset_id).exists():
            raise FileNotFoundError(f"there is no local dataset {dataset_id}: make it with {row.command}")
    dataset = load(dataset_id)
    verify(dataset)
    return dataset
