"""What is learnt from data, played otherwise: python benchmarks/studies/offline_starts.py --runs RUNS --out FOLDER.

A race evaluates the best actions from the task's own starts, which in locomotion are nearly one: a policy's return may
then be that of one trajectory. Here the final agent of every finished run under RUNS plays the same held-out seeds in
four ways: its best actions and sampled ones (deterministic actors have none), from the task's starts and from widened
ones, in which ``reset_noise_scale`` is several times as large. The scale of returns is the task's own throughout.
``--page`` writes the page of what is stored again.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tiltyard.benchmarks.commands import load_agent
from tiltyard.benchmarks.evaluation import evaluate
from tiltyard.benchmarks.loading import load_runs
from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.provenance import commit, hardware, versions
from tiltyard.benchmarks.runs import FinishedRun
from tiltyard.benchmarks.studies.phone_transfer import over_runs
from tiltyard.benchmarks.threads import one_thread
from tiltyard.envs.catalogue import find

OUT = Path(__file__).parents[2] / "docs" / "results" / "control-v2-offline-starts"
WIDER = 0.5  # HalfCheetah's own is 0.1: joints uniform within 0.1, velocities with a standard deviation of 0.1
EPISODES = 20
WAYS: dict[str, dict[str, Any]] = {
    "best actions": {},
    "sampled actions": {"deterministic": False},
    "best actions, widened starts": {"reset_noise_scale": WIDER},
    "sampled actions, widened starts": {"deterministic": False, "reset_noise_scale": WIDER},
}


def row(finished: FinishedRun, episodes: int) -> dict[str, Any]:
    """Normalised mean returns of a run's final agent, by way of playing, and the spread of its episodes."""
    run = finished.run
    with one_thread():
        agent, _ = load_agent(finished.folder / "checkpoint.zip")
        found = {name: evaluate(agent, run.env_id, episodes=episodes, **how).scores for name, how in WAYS.items()}
    scale = find(run.env_id).normalise
    return {
        "run": finished.folder.name,
        "agent": run.agent,
        "seed": run.seed,
        "means": {name: scale(float(np.mean(scores))) for name, scores in found.items()},
        "deviations": {name: float(np.std([scale(one) for one in scores], ddof=1)) for name, scores in found.items()},
    }


def page(found: dict[str, Any]) -> str:
    """The page of what was measured."""
    of: dict[str, list[dict[str, Any]]] = {}
    for one in found["runs"]:
        of.setdefault(one["agent"], []).append(one)
    means, changes = [], []
    for agent, runs in of.items():
        ways = {way: np.array([one["means"][way] for one in runs]) for way in WAYS}
        first, *others = ways.values()
        means.append([agent, *(over_runs(list(values), 3) for values in ways.values())])
        changes.append([agent, *(over_runs(list(values - first), 3) for values in others)])
    spread = [
        [agent, *(f"{np.mean([one['deviations'][way] for one in runs]):.3f}" for way in WAYS)]
        for agent, runs in of.items()
    ]
    count = {agent: len(runs) for agent, runs in of.items()}
    return render(
        "offline_starts.md.jinja",
        **{name: found[name] for name in ("env", "episodes", "wider", "commit", "hardware", "versions", "command")},
        ways=list(WAYS),
        means=means,
        changes=changes,
        spread=spread,
        count=count,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures, stores and writes the page; or writes the page alone.

    Raises:
        ValueError: there are no finished runs, or they are of several environments.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs/control-v2-offline"))
    parser.add_argument("--episodes", type=int, default=EPISODES)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--page", action="store_true", help="measure nothing: write the page of what is stored")
    given = parser.parse_args(arguments)
    stored = given.out / "starts.json"
    if not given.page:
        finished = load_runs(given.runs)
        envs = sorted({one.run.env_id for one in finished})
        if len(envs) != 1:
            raise ValueError(f"{given.runs} is to hold finished runs in one environment, found {envs or 'none'}")
        about = {"commit": commit(), "hardware": hardware(), "versions": versions(), "command": command(given)}
        rows = [row(one, given.episodes) for one in sorted(finished, key=lambda one: (one.run.agent, one.run.seed))]
        found = {"env": envs[0], "episodes": given.episodes, "wider": WIDER, **about, "runs": rows}
        given.out.mkdir(parents=True, exist_ok=True)
        stored.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = page(json.loads(stored.read_text(encoding="utf-8")))
    (given.out / "README.md").write_text(text, encoding="utf-8")
    print(text)


def command(given: argparse.Namespace) -> str:
    """What was typed, with the folder of runs that the page names."""
    episodes = f" --episodes {given.episodes}" if given.episodes != EPISODES else ""
    return f"python benchmarks/studies/offline_starts.py --runs runs/{given.runs.name}{episodes}"


if __name__ == "__main__":
    main()
