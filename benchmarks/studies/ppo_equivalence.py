"""Whether fast-ppo learns as well as Stable-Baselines3's PPO from the same samples: two one-sided tests.

    python benchmarks/studies/ppo_equivalence.py run TASK AGENT SEED   # a process each
    python benchmarks/studies/ppo_equivalence.py report                # docs/results/ppo-equivalence/

Both agents have the same sizes (128 environments, 64 steps, minibatches of 2,048, 4 epochs, 2 x 64 tanh networks), the
same learning rate and the same number of samples. SB3's PPO normalises observations and rewards by ``VecNormalize``
around the same vector, fast-ppo by its own moments. Each is scored by the mean normalised return of its best actions
in 32 held-out episodes.

The two are called equivalent on a task where the 90% Welch interval of the difference of means lies within +-0.05 of
the normalised score, which is two one-sided t tests at 5% (Schuirmann 1987). A finished run is not done again.
"""

import argparse
import json
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

TASKS: dict[str, tuple[int, dict[str, Any]]] = {
    "tiltyard/HalfCheetah-v5": (1_000_000, {}),
    "tiltyard/Hopper-v5": (1_000_000, {}),
    "tiltyard/Highway-v0": (500_000, {"action": "discrete"}),
}
AGENTS = ("ppo", "fast-ppo")
NUM_ENVS, EPISODES, EVALUATION_SEED, MARGIN = 128, 32, 3_000_000, 0.05
SETTINGS: dict[str, Any] = {"n_steps": 64, "batch_size": 2048, "n_epochs": 4, "learning_rate": 1e-3, "gamma": 0.99}
RUNS = Path("runs") / "ppo-equivalence"
OUT = Path(__file__).parents[2] / "docs" / "results" / "ppo-equivalence"


def score(agent: Any, normaliser: Any, task: str, episodes: int) -> float:
    """Mean normalised return of the best actions, over held-out problems."""
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.vec_env import VecNormalize

    from tiltyard.envs.catalogue import find
    from tiltyard.wrappers.spaces import sb3_env

    venv: Any = sb3_env(
        task, episodes, seed=EVALUATION_SEED, split="test" if find(task).splits else "train", **TASKS[task][1]
    )
    if normaliser is not None:
        statistics = normaliser.obs_rms
        venv = VecNormalize(venv, training=False, norm_reward=False)
        venv.obs_rms = statistics
    returns, _ = evaluate_policy(agent, venv, episodes, return_episode_rewards=True)
    venv.close()
    return float(find(task).normalise(float(np.mean(returns))))


def run(task: str, name: str, seed: int, steps: int, runs: Path) -> None:
    """Trains and scores one agent; leaves a JSON file."""
    import torch
    from stable_baselines3.common.vec_env import VecNormalize

    from tiltyard.agents import make
    from tiltyard.benchmarks.provenance import commit, hardware, versions
    from tiltyard.wrappers.spaces import sb3_env

    path = runs / f"{task.rpartition('/')[2]}-{name}-{seed}.json"
    if path.exists():
        return
    torch.set_num_threads(1)
    start = time.process_time()
    venv: Any = sb3_env(task, NUM_ENVS, seed=seed * NUM_ENVS, **TASKS[task][1])
    normaliser = VecNormalize(venv, gamma=SETTINGS["gamma"]) if name == "ppo" else None
    agent: Any = make(
        name, venv if normaliser is None else normaliser, seed=seed, device="cpu", preset=None, **SETTINGS
    )
    agent.learn(steps)
    record = {
        "task": task,
        "agent": name,
        "seed": seed,
        "steps": agent.num_timesteps,
        "score": score(agent, normaliser, task, EPISODES),
        "cpu_seconds": round(time.process_time() - start, 1),
        "commit": commit(),
        "hardware": hardware(),
        "versions": versions(),
    }
    print({key: record[key] for key in ("task", "agent", "seed", "score", "cpu_seconds")}, flush=True)
    runs.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".partial").write_text(json.dumps(record, indent=1) + "\n")
    path.with_suffix(".partial").replace(path)


def welch(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """Difference of means a - b and its 90% interval by Welch's t."""
    from scipy.stats import t

    first, second = np.asarray(a), np.asarray(b)
    parts = first.var(ddof=1) / len(first), second.var(ddof=1) / len(second)
    error = float(np.sqrt(sum(parts)))
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (len(first) - 1) + parts[1] ** 2 / (len(second) - 1)) if error else 1.0
    estimate, reach = float(first.mean() - second.mean()), float(t.ppf(0.95, freedom)) * error
    return estimate, estimate - reach, estimate + reach


def verdict(low: float, high: float) -> str:
    """What an interval of the difference says."""
    if -MARGIN < low and high < MARGIN:
        return "equivalent"
    return "fast-ppo is better" if low > 0 else "fast-ppo is worse" if high < 0 else "undecided"


def report(runs: Path, out: Path, command: str) -> None:
    """The page and its data."""
    from tiltyard.benchmarks.pages import render

    records = [json.loads(path.read_text()) for path in sorted(runs.glob("*.json"))]
    rows = []
    for task in TASKS:
        scores = {
            name: [one["score"] for one in records if (one["task"], one["agent"]) == (task, name)] for name in AGENTS
        }
        if min(map(len, scores.values())) < 2:
            continue
        estimate, low, high = welch(scores["fast-ppo"], scores["ppo"])
        means = [f"{np.mean(scores[name]):.3f} ({len(scores[name])} seeds)" for name in AGENTS]
        rates = [
            np.mean([r["steps"] / r["cpu_seconds"] for r in records if (r["task"], r["agent"]) == (task, name)])
            for name in AGENTS
        ]
        rows.append(
            [
                task,
                *means,
                f"{estimate:+.3f} [{low:+.3f}, {high:+.3f}]",
                verdict(low, high),
                f"{rates[1] / rates[0]:.2f}",
            ]
        )
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(
        json.dumps({"command": command, "settings": SETTINGS, "runs": records}, indent=1) + "\n"
    )
    page = render(
        "ppo_equivalence.md.jinja", command=command, rows=rows, settings=SETTINGS, margin=MARGIN, made=records[0]
    )
    (out / "README.md").write_text(page)
    print(page)


def main() -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("run", "report"))
    parser.add_argument("task", nargs="?", choices=tuple(TASKS))
    parser.add_argument("agent", nargs="?", choices=AGENTS)
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--steps", type=int, help="instead of the task's own")
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    if args.step == "report":
        return report(args.runs, args.out, shlex.join(["python", "benchmarks/studies/ppo_equivalence.py", "report"]))
    if args.seed is None:
        parser.error("run needs a task, an agent and a seed")
    run(args.task, args.agent, args.seed, args.steps or TASKS[args.task][0], args.runs)


if __name__ == "__main__":
    main()
