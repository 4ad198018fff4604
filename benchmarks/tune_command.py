"""``tiltyard tune``: a dataclass as in :mod:`.cli`."""

import json
from dataclasses import dataclass
from pathlib import Path

import tyro

from . import commands


@dataclass
class Tune:
    """Runs a suite's agents with each value of one setting, on seeds that no race reports, and says which did best."""

    suite: tyro.conf.Positional[str]
    """name of a suite, such as gui-v2, or a .toml file that holds one"""
    grid: str
    """the setting and its values in order, such as learning_rate=1e-4,3e-4,1e-3,3e-3; at least three"""
    agents: str | None = None
    """comma-separated names of the suite's agents or methods to tune; all of them by default"""
    envs: str | None = None
    """comma-separated ids of the suite's environments to tune in; all of them by default"""
    seeds: str = "10000-10002"
    """comma-separated seeds and ranges, from 10000 on"""
    engine: str = "local"
    """local (a process a core) or ray"""
    workers: int | None = None
    """runs at a time; as many as there are cores by default"""
    out: Path = Path("runs/tuning")
    """folder of run folders, of tuning.json with every score, and of a page"""

    def run(self) -> int:
        """Tunes, prints a table and writes it down."""
        from .pages import render
        from .provenance import commit, hardware, versions
        from .race import command_of
        from .tuning import TRIALS, parse_grid, tune

        setting, values = parse_grid(self.grid)
        choices = tune(
            self.suite,
            setting,
            values,
            agents=commands.parse_names(self.agents),
            envs=commands.parse_names(self.envs),
            seeds=commands.parse_seeds(self.seeds) or (),
            root=self.out,
            engine=self.engine,
            workers=self.workers,
        )
        kept = [
            {**vars(one), "tried": [[value, list(scores)] for value, scores in one.tried.items()], "best": one.best}
            for one in choices
        ]
        made = {"versions": versions(), "commit": commit(), "hardware": hardware()}
        found = {"suite": self.suite, "grid": self.grid, "seeds": self.seeds, "choices": kept, **made}
        (self.out / TRIALS).write_text(json.dumps(found, indent=1) + "\n")
        command = command_of("tune", self.suite, grid=self.grid, agents=self.agents, envs=self.envs, seeds=self.seeds)
        about = {"suite": self.suite, "setting": setting, "seeds": self.seeds, "command": command, **made}
        page = render("tuning.md.jinja", choices=choices, values=values, **about)
        (self.out / "README.md").write_text(page)
        print(page)
        return 0
