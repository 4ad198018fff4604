"""Whether the Reflector recovers episodes from slips: python benchmarks/studies/phone_reflector.py [--out FOLDER].

The word matcher and the noisy expert play the same problems of the phone bare and behind a Reflector. Two kinds of
noise are injected: of execution (with a probability an action becomes a tap on a random element, which the policy is
not told of) and, for the expert, of decision (with a probability it decides on a random action, ``done`` among them).
Success with Wilson intervals at 95%, and the paired difference with a bootstrap interval over problems.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

import tiltyard
from tiltyard.benchmarks.evaluation import wilson
from tiltyard.benchmarks.saturated import no_width, of_scores
from tiltyard.benchmarks.statistics import mean
from tiltyard.envs.gui.baselines import NoisyExpert, WordMatcher
from tiltyard.envs.gui.elements import NUMERIC_VERBS, TAP
from tiltyard.wrappers.reflector import Reflector

tiltyard.__version__  # noqa: B018 (importing it registers the environments)
CONDITIONS = (
    ("tiltyard/Phone-v0", "word matcher", "execution", (0.0, 0.1, 0.2)),
    ("tiltyard/Phone-v1", "word matcher", "execution", (0.0, 0.1, 0.2)),
    ("tiltyard/Phone-v1", "noisy expert", "execution", (0.1, 0.2)),
    ("tiltyard/Phone-v1", "noisy expert", "decision", (0.1, 0.2)),
)


def slipped(rng: np.random.Generator, action: Any, elements: Any) -> Any:
    """A tap on an element that can be tapped; the action itself where there is none, or it ends the episode."""
    able = np.flatnonzero(elements[:, 8])
    ends = NUMERIC_VERBS[int(action[0])] in ("done", "infeasible")
    return action if ends or not len(able) else np.array([TAP, int(rng.choice(able)), 0, 0, 0])


def played(
    env: Any, policy_name: str, kind: str, noise: float, seed: int, reflect: bool
) -> tuple[bool, int, Counter[str]]:
    """Success, steps and what the Reflector noticed in the problem of a seed."""
    batched = env.unwrapped.batched
    expert = NoisyExpert(batched, noise if kind == "decision" else 0.0, seed)
    policy: Any = WordMatcher() if policy_name == "word matcher" else expert
    reflector = Reflector(policy)
    agent = reflector if reflect else policy
    observed, _ = env.reset(seed=seed)
    rng, start, steps = np.random.default_rng([seed, 7]), True, 0
    while True:
        action, _ = agent.predict(observed, episode_start=np.array([start]))
        if rng.random() < (noise if kind == "execution" else 0.0):
            action = slipped(rng, action, observed["elements"])
        observed, _, terminated, truncated, info = env.step(action)
        start, steps = False, steps + 1
        if terminated or truncated:
            return bool(info["success"]), steps, reflector.counts


def difference(bare: Any, reflected: Any, rng: np.random.Generator) -> tuple[float, float, float]:
    """Mean paired difference, with a percentile bootstrap interval at 95% over problems; exact where all are alike."""
    gains = np.asarray(reflected, float) - np.asarray(bare, float)
    means = gains[rng.integers(len(gains), size=(4000, len(gains)))].mean(1)
    low, high = map(float, np.quantile(means, (0.025, 0.975)))
    if no_width(low, high):
        low, high = of_scores(gains[:, None], mean, (-1.0, 1.0), 0.95)
    return float(gains.mean()), low, high


def main() -> None:
    """Prints the table, and stores it with its numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=400, help="of the matcher, for each cell")
    parser.add_argument("--expert-episodes", type=int, default=150)
    parser.add_argument("--seed", type=int, default=60_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    started, rows = time.process_time(), []
    table = Table("phone", "policy", "noise", "bare", "with the Reflector", "difference")
    for env_id, name, kind, noises in CONDITIONS:
        env = gymnasium.make(env_id, observation="elements")
        n = options.episodes if name == "word matcher" else options.expert_episodes
        for noise in noises:
            seeds = range(options.seed, options.seed + n)
            both = [[played(env, name, kind, noise, seed, reflect) for seed in seeds] for reflect in (False, True)]
            bare, reflected = ([won for won, _, _ in one] for one in both)
            noticed: Counter[str] = sum((counts for _, _, counts in both[1]), Counter())
            gain = difference(bare, reflected, np.random.default_rng(options.seed))
            row = {"env": env_id, "policy": name, "kind": kind, "noise": noise, "seeds": [seeds[0], seeds[-1]],
                   "bare": bare, "reflected": reflected, "difference": gain, "noticed": dict(sorted(noticed.items())),
                   "steps": [[steps for _, steps, _ in one] for one in both]}  # fmt: skip
            rows.append(row)
            cells = [
                f"{np.mean(one):.2f} [{', '.join(f'{end:.2f}' for end in wilson(one))}]" for one in (bare, reflected)
            ]
            table.add_row(env_id[9:], name, f"{kind} {noise}", *cells, "{:+.3f} [{:+.3f}, {:+.3f}]".format(*gain))
            print(row["noticed"], round(time.process_time() - started, 1), flush=True)
    Console().print(table)
    print(f"{time.process_time() - started:.0f} s of CPU")
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "reflector.json").write_text(json.dumps(rows) + "\n")


if __name__ == "__main__":
    main()
