"""Where agents of gui-v1 still succeed: python benchmarks/studies/phone_transfer.py axes RUNS --out FOLDER.

``axes``: every finished run under RUNS on train problems and on each held-out axis, one episode a problem, the same
problems for all runs. ``faces``: one run's agent on the same problems of Phone-v1 in numbers, reading trees of words,
in Chromium (layouts ``same`` and ``flow``) and through the fake device behind adb. Both write their raw data as JSON.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tiltyard.benchmarks.commands import load_agent
from tiltyard.benchmarks.evaluation import REPORTED_EVALUATION, wilson
from tiltyard.benchmarks.threads import one_thread
from tiltyard.envs.gui.problems_v1 import AXES
from tiltyard.envs.gui.reading_trees import TreePolicy

SPLITS: dict[str, dict[str, Any]] = {
    "train": {"split": "train"},
    **{axis: {"split": "test", "held_out": axis} for axis in AXES},
}
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


def axes(folders: Sequence[Path], problems: int) -> list[dict[str, Any]]:
    """A row a run."""
    rows = []
    for folder in folders:
        run = json.loads((folder / "run.json").read_text())["run"]
        agent = load_agent(folder / "checkpoint.zip")[0]
        keywords = {name: value for name, value in run["params"]["env_kwargs"].items() if name != "observation"}
        found = {name: together(agent, problems, **keywords, **split) for name, split in SPLITS.items()}
        shares = {name: sum(won) / problems for name, won in found.items()}
        rows.append({"run": folder.name, "agent": run["agent"], "seed": run["seed"], **shares})
        print(json.dumps(rows[-1]), flush=True)
    return rows


def faces(folder: Path, problems: int) -> list[dict[str, Any]]:
    """A row a face."""
    run = json.loads((folder / "run.json").read_text())["run"]
    agent = load_agent(folder / "checkpoint.zip")[0]
    given = {name: value for name, value in run["params"]["env_kwargs"].items() if name != "observation"}
    rows = []
    for name, (env_id, keywords) in FACES.items():
        won = alone(agent, env_id, problems, split="test", **given, **keywords)
        low, high = wilson(won)
        rows.append({"face": name, "run": folder.name, "successes": won})
        print(f"{name}: {sum(won)}/{problems} = {sum(won) / problems:.2f} [{low:.2f}, {high:.2f}]", flush=True)
    return rows


def main() -> None:
    """Evaluates, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["axes", "faces"])
    parser.add_argument("runs", type=Path, help="folder of run folders, or for faces one run's")
    parser.add_argument("--problems", type=int, default=100)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with one_thread():
        if options.what == "axes":
            found = axes(sorted(one.parent for one in options.runs.glob("*/final.json")), options.problems)
        else:
            found = faces(options.runs, options.problems)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"{options.what}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
