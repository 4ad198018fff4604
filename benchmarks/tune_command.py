"""``tiltyard tune``: a dataclass as in :mod:`.cli`."""

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from . import commands
from .options import Whole
from .records import read_record

if TYPE_CHECKING:
    from .choices import Choice


@dataclass
class Tune:
    """Tries settings of a suite's agents on seeds that no race reports, as many for each, and says which did best."""

    suite: tyro.conf.Positional[str]
    """name of a suite, such as gui-v2, or a .toml file that holds one"""
    grid: str | None = None
    """one setting and its values in order, such as learning_rate=1e-4,3e-4,1e-3,3e-3; at least three"""
    method: str | None = None
    """in place of a grid: random, tpe or hyperband search over the agents' spaces (extra tune)"""
    trials: Whole | None = None
    """of the search, the same number for every agent; each is a run a seed"""
    space: str | None = None
    """comma-separated settings to search, such as learning_rate=1e-5:1e-3,gamma; all that an agent has by default"""
    agents: str | None = None
    """comma-separated names of the suite's agents or methods to tune; all of them by default"""
    envs: str | None = None
    """comma-separated ids of the suite's environments to tune in; all of them by default"""
    seeds: str = "10000-10002"
    """comma-separated seeds and ranges, from 10000 on"""
    test_seeds: str | None = None
    """seeds below 10000 on which what a search chose is run as well, to tell by how much its score falls"""
    search_seed: int = 0
    """seed of what a search proposes"""
    engine: str = "local"
    """local (a process a core) or ray"""
    workers: int | None = None
    """runs at a time; as many as there are cores by default"""
    out: Path = Path("runs/tuning")
    """folder of run folders, of tuning.json with every score, and of a page"""

    def run(self) -> int:
        """Tunes, prints a table and writes it down.

        Raises:
            ValueError: options that do not belong together, or a folder that holds another tuning.
        """
        if (self.grid is None) == (self.method is None):
            raise ValueError("give --grid or --method, and not both: a grid of one setting, or a search over several")
        if self.grid is not None:
            return self._grid(self.grid)
        return self._search(self.method or "")

    def _grid(self, grid: str) -> int:
        from .race import command_of
        from .tuning import parse_grid, tune

        asked = {"trials": self.trials, "space": self.space, "test-seeds": self.test_seeds}
        if of_search := [f"--{name}" for name, given in asked.items() if given is not None]:
            raise ValueError(f"{' and '.join(of_search)} belong to --method: a grid has its own values")
        setting, values = parse_grid(grid)
        self._check_out({"grid": grid})
        choices = tune(self.suite, setting, values, **self._shared())
        command = command_of("tune", self.suite, grid=grid, agents=self.agents, envs=self.envs, seeds=self.seeds)
        about = {"setting": setting, "values": values, "seeds": self.seeds, "command": command}
        return self._keep(choices, {"grid": grid}, "tuning.md.jinja", {"choices": choices, **about})

    def _search(self, method: Any) -> int:
        from importlib.metadata import version

        from .how_to_autorl import search, searched
        from .race import command_of

        if self.trials is None:
            raise ValueError("--method needs --trials, how many settings every agent is tried with, such as 16")
        space = commands.parse_names(self.space)
        of_search = {"method": method, "trials": self.trials, "search-seed": self.search_seed or None}
        self._check_out({**of_search, "test_seeds": self.test_seeds})
        choices = search(
            self.suite,
            method,
            trials=self.trials,
            space=space,
            test_seeds=commands.parse_seeds(self.test_seeds) or (),
            search_seed=self.search_seed,
            **self._shared(),
        )
        given = {"space": self.space, "agents": self.agents, "envs": self.envs}
        seeds = {"seeds": self.seeds, "test-seeds": self.test_seeds}
        ends = {name: one for choice in choices for name, one in choice.space.items()}
        about = {
            **{"method": method, "trials": self.trials, "seeds": self.seeds, "test_seeds": self.test_seeds},
            **{
                "rows": list(searched(choices)),
                "space": ends,
                "diverged": any(one.diverged for one in choices),
                "optuna": version("optuna"),
            },
            "command": command_of("tune", self.suite, **of_search, **given, **seeds),
        }
        return self._keep(choices, {**of_search, "test_seeds": self.test_seeds}, "search.md.jinja", about)

    def _shared(self) -> dict[str, Any]:
        return {
            "agents": commands.parse_names(self.agents),
            "envs": commands.parse_names(self.envs),
            "seeds": commands.parse_seeds(self.seeds) or (),
            "root": self.out,
            "engine": self.engine,
            "workers": self.workers,
        }

    def _asked(self, how: dict[str, Any]) -> dict[str, Any]:
        """What ``tuning.json`` says was asked for."""
        chosen = {name: given for name in ("agents", "envs", "space") if (given := getattr(self, name)) is not None}
        return {"suite": self.suite, **how, "seeds": self.seeds, **chosen}

    def _check_out(self, how: dict[str, Any]) -> None:
        """Refuses a folder whose ``tuning.json`` another tuning wrote, before anything is run.

        Raises:
            ValueError: it holds one.
        """
        from .choices import MOST_BYTES, TRIALS

        if not (self.out / TRIALS).is_file():
            return
        there = read_record(self.out / TRIALS, MOST_BYTES)
        asked = {"agents": None, "envs": None, "space": None, **self._asked(how)}
        if differing := [name for name, value in asked.items() if there.get(name) != value]:
            name = differing[0]
            raise ValueError(
                f"{self.out} holds the results of another tuning, of {name} {there.get(name) or 'by default'}, not "
                f"{asked[name] or 'by default'}: give --out another folder, or move {self.out / TRIALS} away"
            )

    def _keep(self, choices: "Sequence[Choice]", how: dict[str, Any], template: str, about: dict[str, Any]) -> int:
        """Writes ``tuning.json`` and the page."""
        from .choices import TRIALS, recorded
        from .pages import render
        from .provenance import commit, hardware, versions

        others = self._others()
        made = {"versions": versions() | others, "commit": commit(), "hardware": hardware()}
        found = {**self._asked(how), "choices": list(map(recorded, choices)), **made}
        (self.out / TRIALS).write_text(json.dumps(found, indent=1) + "\n")
        page = render(template, suite=self.suite, score=_scored(choices), others=others, **about, **made)
        (self.out / "README.md").write_text(page)
        print(page)
        return 0

    def _others(self) -> dict[str, str]:
        """Versions of other packages that the trials recorded."""
        from .loading import load_runs
        from .packages import behind_all
        from .runs import VersionWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VersionWarning)  # such runs are of another tuning, and not counted
            return behind_all(load_runs(self.out))


def _scored(choices: "Sequence[Choice]") -> str:
    """What the scores of all choices are, in words."""
    raw = sorted({one.task for one in choices if one.raw})
    if not raw:
        return "normalised score"
    return "raw return" if all(one.raw for one in choices) else f"normalised score (raw return of {', '.join(raw)})"
