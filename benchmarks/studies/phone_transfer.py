"""Where agents of gui-v1 still succeed: python benchmarks/studies/phone_transfer.py axes --runs RUNS --out FOLDER.

``axes``: every finished run under RUNS on train problems and on each held-out axis, one episode a problem, the same
problems for all runs. ``faces``: one run's agent on the same problems of Phone-v1 in numbers, reading trees of words,
in Chromium (layouts ``same`` and ``flow``) and through the fake device behind adb. ``drift``: every finished run with
its agent's own settings on test problems of a phone that has drifted by 0, a half and 1. All write their raw data as
JSON into FOLDER, and a page of all that is there; ``page`` alone writes the page again.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tiltyard.benchmarks.commands import load_agent
from tiltyard.benchmarks.evaluation import REPORTED_EVALUATION, wilson
from tiltyard.benchmarks.pages import plain, render
from tiltyard.benchmarks.provenance import commit, hardware
from tiltyard.benchmarks.studies._study import interval
from tiltyard.benchmarks.threads import one_thread
from tiltyard.envs.gui.problems_v1 import AXES
from tiltyard.envs.gui.reading_trees import TreePolicy

SPLITS: dict[str, dict[str, Any]] = {
    "train": {"split": "train"},
    **{axis: {"split": "test", "held_out": axis} for axis in AXES},
}
DRIFTS: dict[str, dict[str, Any]] = {f"drift {d:g}": {"split": "test", "drift": d} for d in (0.0, 0.5, 1.0)}
VARIED = ("curriculum", "step_filter", "evaluator")
"""Settings that tell one condition of a suite from another."""
FACES: dict[str, tuple[str, dict[str, Any]]] = {
    "numbers": ("tiltyard/Phone-v1", {"observation": "elements"}),
    "words": ("tiltyard/Phone-v1", {"observation": "tree"}),
    "Chromium, same": ("tiltyard/WebPhone-v0", {"layout": "same"}),
    "Chromium, flow 360x640": ("tiltyard/WebPhone-v0", {"layout": "flow"}),
    "Chromium, flow 412x915": ("tiltyard/WebPhone-v0", {"layout": "flow", "size": (915, 412)}),
    "fake device, adb": ("tiltyard/Android-v0", {"tasks": "phone-v1", "adb": "adb"}),
}


def together(agent: Any, problems: int, **keywords: Any) -> list[bool]:
    """Success on as many problems of Phone-v1, all at once; what has ended is asked for no further action."""
    env = gymnasium.make_vec(
        "tiltyard/Phone-v1",
        num_envs=problems,
        vectorization_mode="vector_entry_point",
        observation="elements",
        **keywords,
    )
    seen, _ = env.reset(seed=[REPORTED_EVALUATION + i for i in range(problems)])  # type: ignore[arg-type]
    actions = np.zeros((problems, 5), np.int64)
    going, won = np.ones(problems, np.bool_), np.zeros(problems, np.bool_)
    while going.any():
        active = np.flatnonzero(going)
        actions[active], _ = agent.predict({name: part[active] for name, part in seen.items()}, deterministic=True)
        seen, _, terminated, truncated, info = env.step(actions)
        ended = going & (terminated | truncated)
        won[ended] = info["success"][ended]
        going &= ~ended
    env.close()
    return [bool(one) for one in won]


def alone(agent: Any, env_id: str, problems: int, **keywords: Any) -> list[bool]:
    """Success on problem after problem of one environment."""
    env, won = gymnasium.make(env_id, **keywords), []
    policy = agent if keywords.get("observation") == "elements" else TreePolicy(agent)
    for i in range(problems):
        seen, info = env.reset(seed=REPORTED_EVALUATION + i)
        ended = False
        while not ended:
            action, _ = policy.predict(seen, deterministic=True)
            seen, _, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
        won.append(bool(info["success"]))
    env.close()
    return won


def condition(run: Mapping[str, Any]) -> str:
    """What a run learnt from, and how."""
    params = run["params"]
    if params.get("learning_rate") == 0:
        return "base, trained no further"
    data = " from noisy data" if "dataset" in params else ""
    named = str(run["agent"]) + data + (", then online" if data and run["budget"] else "")
    named += "".join(f", {name}={params[name]}" for name in VARIED if name in params)
    return named + (", trained after drift" if params.get("env_kwargs", {}).get("drift") else "")


def own_settings(folder: Path) -> bool:
    """Whether a run has its agent's own settings, or one of its parts off."""
    params = json.loads((folder / "run.json").read_text())["run"]["params"]
    return not any(name in params for name in VARIED)


def row(folder: Path, problems: int, splits: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The successes of a run's agent on as many problems of each split."""
    run = json.loads((folder / "run.json").read_text())["run"]
    given = run["params"]["env_kwargs"]
    keywords = {name: value for name, value in given.items() if name not in ("observation", "drift")}
    with one_thread():
        agent, _ = load_agent(folder / "checkpoint.zip")
        found = {name: sum(together(agent, problems, **keywords, **split)) for name, split in splits.items()}
    return {"run": folder.name, "condition": condition(run), "seed": run["seed"], "successes": found}


def across(
    folders: Sequence[Path], problems: int, splits: Mapping[str, Mapping[str, Any]], processes: int
) -> dict[str, Any]:
    """A row a run, as many runs at a time as there are ``processes``."""
    rows = []
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for one in pool.map(partial(row, problems=problems, splits=splits), folders):
            rows.append(one)
            print(json.dumps(one), flush=True)
    return {"problems": problems, "commit": commit(), "hardware": hardware(), "runs": rows}


def faces(folder: Path, problems: int) -> dict[str, Any]:
    """A row a face."""
    run = json.loads((folder / "run.json").read_text())["run"]
    agent, _ = load_agent(folder / "checkpoint.zip")
    given = {name: value for name, value in run["params"]["env_kwargs"].items() if name != "observation"}
    rows = []
    for name, (env_id, keywords) in FACES.items():
        won = alone(agent, env_id, problems, split="test", **given, **keywords)
        rows.append({"face": name, "successes": won})
        print(f"{name}: {said(won)}", flush=True)
    told = {"run": folder.name, "condition": condition(run), "seed": run["seed"]}
    return {**told, "problems": problems, "commit": commit(), "hardware": hardware(), "faces": rows}


def said(won: Sequence[bool]) -> str:
    """A share with Wilson's interval."""
    low, high = wilson(won)
    return f"{np.mean(won):.2f} [{low:.2f}, {high:.2f}]"


def over_runs(shares: Sequence[float], digits: int = 2) -> str:
    """A mean over runs with Student's interval; without one where all runs are one and the same policy."""
    values = np.array(shares)
    if len(values) < 2 or np.ptp(values) == 0:
        return f"{values.mean():.{digits}f}"
    mean, low, high = interval(shares)
    return f"{mean:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def page(folder: Path) -> str:
    """The page of what lies in ``folder``."""
    by_axis, by_face, by_drift = (_read(folder / f"{name}.json") for name in ("axes", "faces", "drift"))
    places = [[plain(one["face"]), said(one["successes"])] for one in by_face.get("faces", [])]
    return render(
        "phone_transfer.md.jinja",
        axes=by_axis,
        faces=by_face,
        drift=by_drift,
        rows=_rows(by_axis, "params", SPLITS),
        drifted=_rows(by_drift, "drift 1", DRIFTS),
        places=places,
        heads=["condition", *SPLITS, "runs"],
        drifts=["condition", *DRIFTS, "runs"],
    )


def _rows(found: Mapping[str, Any], first: str, splits: Mapping[str, Any]) -> list[list[str]]:
    """A row a condition, the best on the split ``first`` above."""
    runs, rows = found.get("runs", []), []
    for name in dict.fromkeys(one["condition"] for one in runs):
        mine = [one["successes"] for one in runs if one["condition"] == name]
        cells = [over_runs([one[split] / found["problems"] for one in mine]) for split in splits]
        rows.append([plain(name), *cells, str(len(mine))])
    return sorted(rows, key=lambda cells: cells[1 + list(splits).index(first)], reverse=True)


def _read(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text())) if file.exists() else {}


def main() -> None:
    """Evaluates, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["axes", "faces", "drift", "page"])
    parser.add_argument("--runs", type=Path, help="folder of run folders, or for faces one run's")
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--processes", type=int, default=1, help="runs at a time, for axes and drift")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.what != "page":
        if options.runs is None:
            parser.error(f"{options.what} needs --runs")
        if options.what == "faces":
            with one_thread():
                found = faces(options.runs, options.problems)
        else:
            folders = sorted(one.parent for one in options.runs.glob("*/final.json"))
            splits = SPLITS
            if options.what == "drift":
                folders, splits = list(filter(own_settings, folders)), DRIFTS
            found = across(folders, options.problems, splits, options.processes)
        (options.out / f"{options.what}.json").write_text(json.dumps(found, indent=1) + "\n")
    (options.out / "README.md").write_text(page(options.out), encoding="utf-8")


if __name__ == "__main__":
    main()
