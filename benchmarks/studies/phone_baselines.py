"""Phone-v1's three baselines on every split: python benchmarks/studies/phone_baselines.py [--out FOLDER].

Success of a random policy, of the matcher of words and of the scripted expert, by level and by held-out axis, with
Wilson intervals at 95% over episodes. They learn nothing, so what differs between axes is how hard the problems are.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from tiltyard.benchmarks.evaluation import wilson
from tiltyard.envs.gui.baselines import RandomPolicy, WordMatcher
from tiltyard.envs.gui.compiled.env import PhoneV1VectorEnv
from tiltyard.envs.gui.problems_v1 import AXES

PHONES = 20
SPLITS: dict[str, dict[str, Any]] = {"train": {}} | {axis: {"split": "test", "held_out": axis} for axis in AXES}
POLICIES = ("random", "word matcher", "expert")


def successes(name: str, episodes: int, seed: int, keywords: dict[str, Any]) -> int:
    """Of so many episodes; the expert plays by words, since what it types or answers may not stand in the goal."""
    observation = "tree" if name == "expert" else "elements"
    env = PhoneV1VectorEnv(PHONES, max_episode_steps=60, observation=observation, **keywords)
    observed, _ = env.reset(seed=seed)
    policy = env.expert() if name == "expert" else RandomPolicy(seed) if name == "random" else WordMatcher()
    starts, done, won = np.ones(PHONES, np.bool_), 0, 0
    while done < episodes:
        actions, _ = policy.predict(observed, episode_start=starts)
        observed, _, terminated, truncated, info = env.step(actions)
        starts = terminated | truncated
        for index in np.flatnonzero(starts)[: episodes - done]:
            done += 1
            won += bool(info["success"][index])
    env.close()
    return won


def main() -> None:
    """Prints the table, and stores it with its numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=300, help="of the random policy and the matcher, for each cell")
    parser.add_argument("--expert-episodes", type=int, default=60)
    parser.add_argument("--seed", type=int, default=20_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    table, rows = Table("level", "split", *POLICIES), []
    for level in (1, 2, 3):
        for split, keywords in SPLITS.items():
            cells = []
            for name in POLICIES:
                n = options.expert_episodes if name == "expert" else options.episodes
                won = successes(name, n, options.seed, {"level": level, **keywords})
                low, high = wilson([True] * won + [False] * (n - won))
                rows.append({"level": level, "split": split, "policy": name, "successes": won, "episodes": n})
                cells.append(f"{won / n:.2f} [{low:.2f}, {high:.2f}]")
            table.add_row(str(level), split, *cells)
    Console().print(table)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "baselines.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
