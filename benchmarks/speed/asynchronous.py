"""Completions a second of asynchronous rollouts beside the synchronous loop: python benchmarks/speed/asynchronous.py.

ChainSum from its base checkpoint, 16 problems with 8 completions an iteration, one thread a process. Wall time, since
that is what waiting costs: processor time would not see it. So the numbers hold for this machine and for what else it
does; the load is printed with them. Agents learn in turn, ``--repeats`` times, and a ratio is the median over repeats
of the ratio to the synchronous loop of the same repeat. The first iterations, in which workers start, are not counted.

``--latency`` is slept in each environment step, in which an iteration's completions are graded together: a grader, a
tool or a browser that is waited for. "model" is what the synchronous loop's own times predict: with rollouts of R
seconds and updates of U, an iteration takes R + U, and with W workers, at best, max(R / W, U). ``asyncflow`` learns
from halves of an iteration as they come, so that its updates are in what is waited for.
"""

import argparse
import os
import time
from statistics import median
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.wrappers.spaces import sb3_env

ENV, POLICY = "tiltyard/ChainSum-v0", "chain-sum-base"
PROBLEMS, GROUP, WARM = 16, 8, 3
LOOPS: dict[str, dict[str, Any]] = {
    "synchronous": {"rollout_workers": 0, "max_staleness": 0},
    "1 worker, staleness 0": {"rollout_workers": 1, "max_staleness": 0},
    "1 worker, staleness 1": {"rollout_workers": 1, "max_staleness": 1, "groups_per_task": PROBLEMS},
    "2 workers, staleness 2": {"rollout_workers": 2, "max_staleness": 2, "groups_per_task": PROBLEMS},
    "asyncflow, 2 workers": {"method": "asyncflow", "rollout_workers": 2, "groups_per_task": PROBLEMS // 2},
}


class Waits(VecEnvWrapper):
    """Waits in each step."""

    def __init__(self, venv: VecEnv, latency: float) -> None:
        super().__init__(venv)
        self.latency = latency

    def reset(self) -> Any:
        """The questions."""
        return self.venv.reset()

    def step_wait(self) -> Any:
        """The grades, a little later."""
        time.sleep(self.latency)
        return self.venv.step_wait()


class Clock(BaseCallback):
    """When each iteration had its completions, and when it began."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.collected = list[float](), list[float]()

    def _on_rollout_start(self) -> None:
        self.begun.append(time.perf_counter())

    def _on_rollout_end(self) -> None:
        self.collected.append(time.perf_counter())

    def _on_step(self) -> bool:
        return True


def learnt(loop: str, latency: float, iterations: int) -> tuple[float, float]:
    """Seconds an iteration, and of it for rollouts."""
    env: Any = sb3_env(ENV, PROBLEMS * GROUP, seed=0, strings=True)
    settings = {"method": "llamarl", "learning_rate": 1e-4, "max_answer_tokens": 48, **LOOPS[loop]}
    agent = PolicyGradient(
        POLICY, Waits(env, latency), prompts_per_batch=PROBLEMS, group_size=GROUP, seed=0, device="cpu", **settings
    )
    clock = Clock()
    agent.learn((iterations + WARM) * PROBLEMS * GROUP, callback=clock)
    clock.begun.append(time.perf_counter())  # workers have been ended before: no part of the last iteration
    begun, collected = clock.begun[WARM : WARM + iterations], clock.collected[WARM:]
    rollouts = sum(b - a for a, b in zip(begun, collected, strict=True)) / iterations
    return (begun[-1] - begun[0]) / (iterations - 1), rollouts


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency", type=float, nargs="+", default=[0.0, 0.5], help="seconds")
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--loops", nargs="+", choices=LOOPS, default=list(LOOPS))
    args = parser.parse_args()
    torch.set_num_threads(1)
    columns = ("latency (s)", "loop", "iteration (s)", "rollouts waited for (s)", "completions/s", "ratio", "model")
    load = os.getloadavg()[0]
    title = f"{ENV}, {POLICY}, wall time, {os.cpu_count()} cores, load {load:.1f} before"
    table = Table(*columns, title=title)
    for latency in args.latency:
        times: dict[str, list[tuple[float, float]]] = {loop: [] for loop in LOOPS if loop in args.loops}
        for _ in range(args.repeats):
            for loop, found in times.items():
                found.append(learnt(loop, latency, args.iterations))
        whole, rollouts = (median(one[i] for one in times["synchronous"]) for i in (0, 1))
        for loop, found in times.items():
            ratio = median(a[0] / b[0] for a, b in zip(times["synchronous"], found, strict=True))
            workers = LOOPS[loop]["rollout_workers"]
            best = whole / max(rollouts / max(1, workers), whole - rollouts)
            model = "" if not LOOPS[loop].get("max_staleness") else f"{best:.2f}"
            seconds = median(one[0] for one in found)
            cells = (f"{seconds:.2f}", f"{median(one[1] for one in found):.2f}", f"{PROBLEMS * GROUP / seconds:.0f}")
            table.add_row(f"{latency:g}", loop, *cells, f"{ratio:.2f}", model)
    Console(width=140).print(table)
    print(f"load after: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
