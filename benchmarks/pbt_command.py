"""``tiltyard pbt``: a dataclass as in :mod:`.cli`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from . import commands
from .options import Whole


@dataclass
class Pbt:
    """Trains a population of one agent, whose members copy better ones and vary their settings; can be resumed."""

    env: tyro.conf.Positional[str]
    """environment id, such as tiltyard/PointMaze-v0"""
    agent: str
    """an agent's name, such as sac"""
    steps: Whole
    """environment steps of each member, a multiple of --ready, such as 1e5"""
    ready: Whole
    """steps between two looks at the other members"""
    population: int = 8
    """members"""
    space: str | None = None
    """comma-separated settings that vary, such as learning_rate=1e-5:1e-3,gamma; all that make sense by default"""
    explore: str = "perturb"
    """perturb (times 0.8 or 1.2) or resample (anew from the space, each with a probability of a quarter)"""
    settings: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="KEY=VALUE")] = ()
    """keywords of the agent that all members share"""
    seed: int = 10000
    """seed of the first member, from 10000 on; the others have the next ones"""
    eval_episodes: Whole = 20
    """held-out episodes of every score"""
    workers: int | None = None
    """runs at a time; as many as there are cores by default"""
    out: Path = Path("runs/pbt")
    """folder of run folders and of population.json, with every generation's settings, scores and parents"""

    def run(self) -> int:
        """Trains, then prints the best member's schedule of settings."""
        from .pbt import RECORD, train_population

        explore: Any = self.explore
        found = train_population(
            self.env,
            self.agent,
            population=self.population,
            steps=self.steps,
            ready=self.ready,
            space=commands.parse_names(self.space),
            explore=explore,
            params=commands.parse_settings(self.settings),
            seed=self.seed,
            eval_episodes=self.eval_episodes,
            root=self.out,
            workers=self.workers,
        )
        for member in found.lineage:
            told = ", ".join(f"{name} {value}" for name, value in member.settings.items())
            print(f"{member.steps:>12,} steps  score {member.score:.3f}  {told}")
        print(f"{found.steps:,} steps of all members; the best one: {self.out / found.best.run}")
        print(f"score {found.best.score:.3f} on problems it was chosen by, {found.test:.3f} on those that races report")
        print(f"every generation is in {self.out / RECORD}")
        return 0
