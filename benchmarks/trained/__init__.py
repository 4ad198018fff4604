"""Trained agents that are shipped: finished runs of the suite ``trained-v1``, at most one an environment.

    tiltyard play --env tiltyard/HalfCheetah-v5 --agent trained      # a video
    tiltyard evaluate trained --env tiltyard/HalfCheetah-v5          # its return on held-out problems
    tiltyard race trained-v1 --out runs/trained                      # makes them again
    python -m tiltyard.benchmarks.trained.ship runs/trained/*        # puts them beside this file

Each is a run folder as any other (``tiltyard verify`` checks it), of less than half a megabyte: its checkpoint is
without optimisers, so that training would go on with new ones. Checkpoints hold no code.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from ... import unknown
from ...envs.catalogue import resolve
from ..runs import read_run

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

NAME = "trained"
"""What the command line calls them."""
FOLDER = Path(__file__).parent


def folders() -> dict[str, Path]:
    """The run folder of each environment that has one, by its id."""
    found = (folder for folder in sorted(FOLDER.iterdir()) if (folder / "final.json").is_file())
    return {read_run(folder).run.env_id: folder for folder in found}


def folder_of(env_id: str) -> Path:
    """The run folder of the agent that is shipped for an environment.

    Raises:
        KeyError: there is no such environment, or no agent for it.
    """
    wanted, there = resolve(env_id).id, folders()
    if wanted not in there:
        raise KeyError(unknown("environment with a trained agent", wanted, list(there)))
    return there[wanted]


def load(env_id: str) -> "BaseAlgorithm":
    """The agent that is shipped for an environment, with SB3's ``predict``.

    Raises:
        KeyError: see :func:`folder_of`.
    """
    from ..commands import load_agent

    return load_agent(folder_of(env_id))[0]
