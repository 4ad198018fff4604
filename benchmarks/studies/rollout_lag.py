"""A policy gradient on completions of older weights, corrected by AIPO's importance weights and not.

    python benchmarks/studies/rollout_lag.py run --rates 1e-3 3e-3 1e-2 --seeds 10
    python benchmarks/studies/rollout_lag.py report

LlamaRL (2025) says that training on what older weights sampled is unstable without a correction, and as good as
on-policy training with min(pi / mu, rho). Here the lag is forced: in every iteration after the eighth the completions
were written eight updates before (``exact_staleness=True``), by the learner itself, so that a run repeats bit for bit.

The task is small enough for ten seeds in minutes: a network of 100,000 random weights writes four tokens, and is paid
if they begin with a 7 and hold a 3. A run is 60 updates on 8 problems with 8 completions each. Every fifth
update, the policy as it is samples 128 completions; a run's score is its mean success over all of these, the area under
its curve. Differences are paired by seed.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from stable_baselines3.common.callbacks import BaseCallback

from tiltyard.benchmarks.claims.effects import part
from tiltyard.benchmarks.studies._study import Table, once, said, stored, write_page
from tiltyard.benchmarks.verdicts import judge

ENV = "tiltyard/Countdown-v0"
LAG, UPDATES, EVERY, ASKED = 8, 60, 5, 128
GROUPS, GROUP, TOKENS = 8, 8, 4
RATES = (1e-3, 3e-3, 1e-2)
CONDITIONS: dict[str, dict[str, Any]] = {
    "on-policy": {"max_staleness": 0},
    "corrected": {"max_staleness": LAG, "exact_staleness": True, "correction": "ratio"},
    "uncorrected": {"max_staleness": LAG, "exact_staleness": True, "correction": "none"},
}
OUT = Path("docs/results/rollout-lag")


def paid(completion: str) -> bool:
    """Whether a completion is a success."""
    return completion.startswith("7") and "3" in completion


class Pays(gymnasium.Wrapper):
    """Any question, and this task's reward."""

    def step(self, action: str) -> Any:
        """One completion."""
        observation, _, terminated, truncated, info = self.env.step(action)
        return observation, float(paid(action)), terminated, truncated, info | {"success": paid(action)}


class Curve(BaseCallback):
    """Success of the policy as it is, every few updates; sampling it changes nothing of what is learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.updates, self.success = 0, list[float]()

    def _on_rollout_start(self) -> None:
        if self.updates % EVERY == 0:
            self.measure()
        self.updates += 1

    def _on_step(self) -> bool:
        return True

    def measure(self) -> None:
        """One point."""
        said = self.model.predict([f"Make 57 from 8 4 {i}." for i in range(ASKED)])[0]  # type: ignore[arg-type]
        self.success.append(float(np.mean([paid(completion) for completion in said])))


def runs_of(condition: str, rate: float, seeds: int) -> dict[str, Any]:
    """The curves of a condition, by seed."""
    return {"success": {str(seed): run(condition, rate, seed) for seed in range(seeds)}}


def run(condition: str, rate: float, seed: int) -> list[float]:
    """One run's curve."""
    from tiltyard.agents.language.trainer import PolicyGradient

    same_step = gymnasium.vector.AutoresetMode.SAME_STEP
    n = GROUPS * GROUP
    env = gymnasium.vector.SyncVectorEnv([lambda: Pays(gymnasium.make(ENV))] * n, autoreset_mode=same_step)
    agent = PolicyGradient(
        "transformer-100k", env, method="llamarl", rollout_workers=0, groups_per_task=GROUPS, seed=seed, device="cpu",
        learning_rate=rate, prompts_per_batch=GROUPS, group_size=GROUP, max_answer_tokens=TOKENS,
        **CONDITIONS[condition],
    )  # fmt: skip
    curve = Curve()
    agent.learn(UPDATES * n, callback=curve)
    curve.measure()
    return curve.success


def score(success: Sequence[float]) -> float:
    """Mean success over a run."""
    return float(np.mean(success))


def end(success: Sequence[float]) -> float:
    """Mean success over the last quarter of a run."""
    return score(success[-(len(success) // 4) :])


def report(out: Path) -> None:
    """Writes the page from the runs that are there."""
    runs = stored(out)
    found: dict[tuple[str, float], dict[int, list[float]]] = {}
    for one in runs:
        curves_of = {int(seed): curve for seed, curve in one["success"].items()}
        found[one["settings"]["condition"], one["settings"]["rate"]] = curves_of
    rates = sorted({rate for _, rate in found})
    ends = {key: [end(curve) for curve in curves.values()] for key, curves in found.items()}
    scores = {key: {seed: score(curve) for seed, curve in curves.items()} for key, curves in found.items()}
    rows = [
        [f"{rate:g}", *(said(list(scores[condition, rate].values())) for condition in CONDITIONS)] for rate in rates
    ]
    last = [[f"{rate:g}", *(f"{np.mean(ends[condition, rate]):.2f}" for condition in CONDITIONS)] for rate in rates]
    curves = [
        [f"{rate:g}", condition, *(f"{x:.2f}" for x in np.mean(list(found[condition, rate].values()), 0)[::2])]
        for rate in rates
        for condition in CONDITIONS
    ]
    parts = {}
    for better, worse in (("corrected", "uncorrected"), ("on-policy", "corrected")):
        for rate in rates:
            a, b = scores[better, rate], scores[worse, rate]
            parts[f"{better} less {worse} at {rate:g}"] = part([a[seed] - b[seed] for seed in sorted(a)])
    judged = judge(parts)
    apart = [{**one, "cpu_seconds": one["cpu_seconds"] / len(one["success"])} for one in runs for _ in one["success"]]
    write_page(
        out,
        apart,
        title="Completions of older weights, corrected and not",
        command=f"python benchmarks/studies/rollout_lag.py run --rates {' '.join(f'{rate:g}' for rate in rates)}",
        words=" ".join((__doc__ or "").split("\n\n", 2)[2].split()),
        tables=[
            Table(f"Mean success over a run, lag {LAG}", ["learning rate", *CONDITIONS], rows),
            Table("Success over the last quarter, which decides nothing", ["learning rate", *CONDITIONS], last),
            Table(
                "Mean success along the updates",
                ["learning rate", "condition", *(str(2 * EVERY * i) for i in range(len(curves[0]) - 2))],
                curves,
            ),
        ],
        found="\n".join(f"- {one}" for one in judged.values()),
    )


def main() -> None:
    """Runs what is asked for, or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--rates", type=float, nargs="+", default=list(RATES))
    parser.add_argument("--seeds", type=int, default=10, help="of 0, 1, ...")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    if args.what == "report":
        report(args.out)
        return
    for rate in args.rates:
        for condition in CONDITIONS:
            settings = {"condition": condition, "rate": rate, "seeds": args.seeds, "lag": LAG, "updates": UPDATES}
            made = once(args.out, f"{condition}-{rate:g}", settings, partial(runs_of, condition, rate, args.seeds))
            print(condition, rate, said([score(curve) for curve in made["success"].values()]), flush=True)


if __name__ == "__main__":
    main()
