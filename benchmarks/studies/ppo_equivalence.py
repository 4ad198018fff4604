"""Whether fast-ppo learns as well as Stable-Baselines3's PPO from the same samples: two one-sided tests.

    python benchmarks/studies/ppo_equivalence.py run TASK AGENT SEED   # a process each
    python benchmarks/studies/ppo_equivalence.py report                # docs/results/ppo-equivalence/

All agents have the same sizes (128 environments, 64 steps, minibatches of 2,048, 4 epochs, 2 x 64 tanh networks), the
same learning rate and the same number of samples. SB3's PPO normalises observations and rewards by ``VecNormalize``
around the same vector, fast-ppo by its own moments. A third agent, fast-ppo-vecnormalize, is fast-ppo inside
``VecNormalize`` and without its own normalisation, so that it has SB3's inputs and rewards and only the update is ours;
it was added when four seeds of the other two had shown that they differ on Hopper.

A run's score is the mean of five checkpoints, after 80%, 85%, 90%, 95% and all of the samples: the normalised return of
the best actions, each time in 16 held-out episodes.

An agent is called equivalent to SB3's PPO on a task where the 90% Welch interval of the difference of means lies within
+-0.05 of the normalised score: two one-sided t tests at 5% (Schuirmann 1987). A finished run is not done again.

Seeds from 100 on are a replication, judged by itself: more seeds added to those that left a task undecided would be a
second look at the same data, which errs more often than it states.
"""

import argparse
import json
import shlex
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from tiltyard.benchmarks.studies._study import once, said, stored

TASKS: dict[str, tuple[int, dict[str, Any]]] = {
    "tiltyard/HalfCheetah-v5": (1_000_000, {}),
    "tiltyard/Hopper-v5": (1_000_000, {}),
    "tiltyard/Highway-v1": (500_000, {"action": "discrete"}),
}
REFERENCE, INSIDE = "ppo", "fast-ppo-vecnormalize"
AGENTS = (REFERENCE, "fast-ppo", INSIDE)
NUM_ENVS, EPISODES, EVALUATION_SEED, MARGIN = 128, 16, 3_000_000, 0.05
FRESH = 100  # seeds from here on are a replication
CHECKPOINTS = (0.8, 0.85, 0.9, 0.95)  # of the samples, and the end
SETTINGS: dict[str, Any] = {"n_steps": 64, "batch_size": 2048, "n_epochs": 4, "learning_rate": 1e-3, "gamma": 0.99}
RUNS = Path("runs") / "ppo-equivalence"
OUT = Path(__file__).parents[2] / "docs" / "results" / "ppo-equivalence"


class Checked(BaseCallback):
    """Scores the agent each time when one of ``marks`` samples is reached, at the end of that rollout.

    Args:
        marks: numbers of samples, ascending.
        scored: gives the score of the agent as it is.
    """

    def __init__(self, marks: Sequence[int], scored: Callable[[], float]) -> None:
        super().__init__()
        self.marks, self.scored = list(marks), scored
        self.scores: list[float] = []
        self.aside = 0.0  # processor time of the evaluations, seconds

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.marks and self.num_timesteps >= self.marks[0]:
            self.check()

    def check(self) -> None:
        """Scores the agent now."""
        began = time.process_time()
        self.marks = self.marks[1:]
        self.scores.append(self.scored())
        self.aside += time.process_time() - began


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


def run(task: str, name: str, seed: int, steps: int) -> dict[str, Any]:
    """Trains one agent, and scores it at each checkpoint."""
    from stable_baselines3.common.vec_env import VecNormalize

    from tiltyard.agents import make
    from tiltyard.wrappers.spaces import sb3_env

    venv: Any = sb3_env(task, NUM_ENVS, seed=seed * NUM_ENVS, **TASKS[task][1])
    normaliser = None if name == "fast-ppo" else VecNormalize(venv, gamma=SETTINGS["gamma"])
    own = {"norm_obs": False, "norm_reward": False} if name == INSIDE else {}
    agent: Any = make(
        name.removesuffix("-vecnormalize"),
        venv if normaliser is None else normaliser,
        seed=seed,
        device="cpu",
        preset=None,
        **SETTINGS,
        **own,
    )
    checked = Checked([int(steps * part) for part in CHECKPOINTS], lambda: score(agent, normaliser, task, EPISODES))
    began = time.process_time()
    agent.learn(steps, callback=checked)
    spent = time.process_time() - began - checked.aside
    checked.check()
    return {
        "task": task,
        "agent": name,
        "seed": seed,
        "steps": agent.num_timesteps,
        "scores": checked.scores,
        "seconds": round(spent, 2),
    }


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
    return "better" if low > 0 else "worse" if high < 0 else "undecided"


def tables(records: Sequence[dict[str, Any]]) -> dict[str, list[list[str]]]:
    """Of each task: each agent's mean and rate; each difference from the reference with its verdict."""
    rows, differences = [], []
    for task in TASKS:
        for fresh in (False, True):
            mine = [one for one in records if one["task"] == task and (one["seed"] >= FRESH) == fresh]
            label = f"{task}, replication" if fresh else task
            found = {name: [one for one in mine if one["agent"] == name] for name in AGENTS}
            rows += [[label, *_row(name, runs)] for name, runs in found.items() if runs]
            scores = {name: [float(np.mean(one["scores"])) for one in runs] for name, runs in found.items()}
            for name in AGENTS[1:]:
                if min(len(scores[name]), len(scores[REFERENCE])) >= 4:
                    estimate, low, high = welch(scores[name], scores[REFERENCE])
                    told = f"{estimate:+.3f} [{low:+.3f}, {high:+.3f}]"
                    differences.append([label, f"`{name}`", told, verdict(low, high)])
    return {"rows": rows, "differences": differences}


def _row(name: str, runs: Sequence[dict[str, Any]]) -> list[str]:
    rate = np.mean([one["steps"] / one["seconds"] for one in runs])
    seeds = sorted(one["seed"] for one in runs)
    together = seeds == list(range(seeds[0], seeds[-1] + 1))
    told = f"{len(seeds)} ({seeds[0]} to {seeds[-1]})" if together and len(seeds) > 1 else str(len(seeds))
    return [f"`{name}`", said([float(np.mean(one["scores"])) for one in runs], 3), told, f"{rate:,.0f}"]


def report(runs: Path, out: Path, command: str) -> None:
    """The page and its data, which keep the runs that were there and of which there is no file any more.

    Raises:
        ValueError: there is no run.
    """
    from tiltyard.benchmarks.pages import render

    data = out / "results.json"
    kept = json.loads(data.read_text())["runs"] if data.exists() else []
    by_name = {one["name"]: one for one in [*kept, *stored(runs)]}
    records = [by_name[name] for name in sorted(by_name)]
    if not records:
        raise ValueError(f"{runs} holds no run yet: python benchmarks/studies/ppo_equivalence.py run TASK AGENT SEED")
    page = render(
        "ppo_equivalence.md.jinja",
        command=command,
        **tables(records),
        settings=SETTINGS,
        margin=MARGIN,
        made=records[0],
        commits=sorted({one["commit"] for one in records}),
        samples={task: one["steps"] for task in TASKS for one in records if one["task"] == task},
        checkpoints=[f"{part:.0%}" for part in (*CHECKPOINTS, 1.0)],
        episodes=EPISODES,
        num_envs=NUM_ENVS,
    )
    out.mkdir(parents=True, exist_ok=True)
    data.write_text(json.dumps({"command": command, "runs": records}, indent=1) + "\n")
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
    steps = args.steps or TASKS[args.task][0]
    name = f"{args.task.rpartition('/')[2]}-{args.agent}-{args.seed}"
    settings = {"steps": steps, "num_envs": NUM_ENVS, "episodes": EPISODES, "agent": SETTINGS}
    found = once(args.runs, name, settings, lambda: run(args.task, args.agent, args.seed, steps))
    print(f"{name}: {np.mean(found['scores']):.3f} after {found['steps']:,} samples, {found['seconds']} s", flush=True)


if __name__ == "__main__":
    main()
