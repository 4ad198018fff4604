"""Whether off-policy agents over many environments learn as much as PPO in the same computing time.

    python benchmarks/studies/fast_off_policy.py run TASK AGENT SEED   # a process each
    python benchmarks/studies/fast_off_policy.py report                # docs/results/fast-off-policy/

Every run trains for the same seconds of processor time on one thread, whatever it spends them on: steps of the
environments or updates. It is evaluated by its best actions on held-out episodes after each quarter of them; time spent
on that does not count. A finished run is not done again.

An agent is called at least as good as fast-ppo on a task where the 90% Welch interval of the difference of normalised
returns lies above -0.05, and worse where it lies below 0.

Papers: Li et al., Parallel Q-Learning (2023); Seo et al., FastTD3 (2025), both of which compare wall-clock time.
"""

import argparse
import json
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from tiltyard.benchmarks.studies._study import once, said, stored
from tiltyard.benchmarks.studies.ppo_equivalence import welch

TASKS = tuple(f"tiltyard/{name}-v5" for name in ("HalfCheetah", "Hopper", "Walker2d", "Ant", "Swimmer"))
REFERENCE = "fast-ppo"
SETTINGS: dict[str, dict[str, Any]] = {
    REFERENCE: {"preset": None, "n_steps": 64, "batch_size": 2048, "n_epochs": 4, "learning_rate": 1e-3},
    "sac": {},
    "fast-td3": {},
    "fast-sac": {},
}
SECONDS, QUARTERS, EPISODES, MARGIN, WANTED = 90.0, 4, 20, 0.05, 4
RUNS = Path("runs") / "fast-off-policy"
OUT = Path(__file__).parents[2] / "docs" / "results" / "fast-off-policy"


class Timed(BaseCallback):
    """Evaluates after each quarter of the processor time, and ends the training at the last.

    Args:
        task: where it is evaluated.
        seconds: of processor time.
        episodes: of an evaluation.
    """

    def __init__(self, task: str, seconds: float, episodes: int) -> None:
        super().__init__()
        self.task, self.episodes = task, episodes
        self.due = [seconds * (1 + i) / QUARTERS for i in range(QUARTERS)]
        self.curve: list[dict[str, Any]] = []
        self._aside = 0.0  # processor time that does not count

    def _on_training_start(self) -> None:
        self._aside = time.process_time()

    def _on_step(self) -> bool:
        from tiltyard.benchmarks.evaluation import evaluate

        now = time.process_time()
        if now - self._aside >= self.due[0]:
            found = evaluate(self.model, self.task, episodes=self.episodes)
            point = {"seconds": self.due.pop(0), "steps": self.model.num_timesteps, "updates": self.model._n_updates}
            self.curve.append({**point, "returns": list(found.scores)})
            self._aside += time.process_time() - now
        return bool(self.due)


def run(task: str, name: str, seed: int, seconds: float, episodes: int) -> dict[str, Any]:
    """Trains and scores one agent."""
    from tiltyard.agents import make

    agent: Any = make(name, task, seed=seed, device="cpu", **SETTINGS[name])
    timed = Timed(task, seconds, episodes)
    agent.learn(10**9, callback=timed)
    agent.get_env().close()
    return {"task": task, "agent": name, "seed": seed, "curve": timed.curve}


def score(record: Mapping[str, Any]) -> float:
    """Mean raw return at the end of a run."""
    returns = record["curve"][-1]["returns"]
    return float(sum(returns) / len(returns))


def verdict(low: float, high: float) -> str:
    """What the interval of a difference from the reference says."""
    return "worse" if high < 0 else "at least as good" if low > -MARGIN else "undecided"


def tables(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows of both tables, and a sentence an agent."""
    from tiltyard.envs.catalogue import find

    rows, differences, counts = [], [], dict.fromkeys((name for name in SETTINGS if name != REFERENCE), 0)
    for task in TASKS:
        found = {name: [one for one in records if (one["task"], one["agent"]) == (task, name)] for name in SETTINGS}
        scores = {name: [float(find(task).normalise(score(one))) for one in mine] for name, mine in found.items()}
        for name, mine in found.items():
            if mine:
                ends = [one["curve"][-1] for one in mine]
                spent = [f"{sum(end[what] for end in ends) / len(ends):,.0f}" for what in ("steps", "updates")]
                cells = [task, name, said([score(one) for one in mine], 0), said(scores[name]), *spent, str(len(mine))]
                rows.append(cells)
        for name in counts:
            if min(len(scores[name]), len(scores[REFERENCE])) > 1:
                estimate, low, high = welch(scores[name], scores[REFERENCE])
                judged = verdict(low, high)
                counts[name] += judged == "at least as good"
                differences.append([task, name, f"{estimate:+.3f} [{low:+.3f}, {high:+.3f}]", judged])
    verdicts = [
        f"`{name}` is at least as good as `{REFERENCE}` on {count} of {len(TASKS)} tasks: what was asked for is "
        f"{'reached' if count >= WANTED else 'not reached'}."
        for name, count in counts.items()
    ]
    return {"rows": rows, "differences": differences, "verdicts": verdicts}


def report(runs: Path, out: Path, command: str) -> None:
    """The page and its data.

    Raises:
        ValueError: there is no run.
    """
    from tiltyard.benchmarks.pages import render

    records = stored(runs)
    if not records:
        raise ValueError(f"{runs} holds no run yet: python benchmarks/studies/fast_off_policy.py run TASK AGENT SEED")
    page = render(
        "fast_off_policy.md.jinja",
        command=command,
        **tables(records),
        commits=sorted({one["commit"] for one in records}),
        made=records[0],
        minutes=sum(one["curve"][-1]["seconds"] for one in records) / 60,
        seconds=", ".join(f"{one:g}" for one in sorted({one["settings"]["seconds"] for one in records})),
        episodes=records[0]["settings"]["episodes"],
        margin=MARGIN,
        settings=SETTINGS,
    )
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps({"command": command, "runs": records}, indent=1) + "\n")
    (out / "README.md").write_text(page)
    print(page)


def main() -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("run", "report"))
    parser.add_argument("task", nargs="?", choices=TASKS)
    parser.add_argument("agent", nargs="?", choices=tuple(SETTINGS))
    parser.add_argument("seed", nargs="?", type=int)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of processor time")
    parser.add_argument("--episodes", type=int, default=EPISODES, help="of an evaluation")
    parser.add_argument("--runs", type=Path, default=RUNS)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    if args.step == "report":
        return report(args.runs, args.out, shlex.join(["python", "benchmarks/studies/fast_off_policy.py", "report"]))
    if args.seed is None:
        parser.error("run needs a task, an agent and a seed")
    name = f"{args.task.rpartition('/')[2]}-{args.agent}-{args.seed}"
    settings = {"seconds": args.seconds, "episodes": args.episodes, "agent": SETTINGS[args.agent]}
    arguments = (args.task, args.agent, args.seed, args.seconds, args.episodes)
    found = once(args.runs, name, settings, lambda: run(*arguments))
    end = found["curve"][-1]
    print(f"{name}: return {score(found):.0f} after {end['steps']:,} steps and {end['updates']:,} updates", flush=True)


if __name__ == "__main__":
    main()
