"""Makes the shipped policy ``countdown-warm``: python benchmarks/proofs/countdown_warm.py [--steps 5000].

A supervised warm start alone, on the impatient expert of Countdown's level 1, longer than a race of minutes can afford.
It prints the test success it reached and writes half-precision weights beside the language agents.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from stable_baselines3.common.evaluation import evaluate_policy

from tiltyard.agents.language.pretrained import FOLDER, PRETRAINED, export
from tiltyard.agents.language.trainer import PolicyGradient
from tiltyard.wrappers.spaces import sb3_env

ENV = "tiltyard/Countdown-v0"


def main() -> None:
    """Trains, measures, writes."""
    made = PRETRAINED["countdown-warm"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--noise", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=FOLDER / made.file)
    args = parser.parse_args()
    torch.set_num_threads(1)
    agent = PolicyGradient(
        made.size,
        sb3_env(ENV, 128, strings=True, seed=args.seed),
        warm_start_steps=args.steps,
        warm_start_noise=args.noise,
        warm_start_batch_size=8,
        warm_start_learning_rate=3e-3,
        max_answer_tokens=112,
        seed=args.seed,
        device="cpu",
    )
    losses = agent.warm_start()
    print(f"loss of the last 100 steps: {np.mean(losses[-100:]):.3f}")
    for name in ("sampled", "greedy"):
        env = sb3_env(ENV, 256, split="test", strings=True, seed=0)
        rewards, _ = evaluate_policy(agent, env, 512, deterministic=name == "greedy", return_episode_rewards=True)
        print(f"test success, {name} answers: {np.mean(np.array(rewards) == 1.0):.1%} of 512")
    args.out.parent.mkdir(exist_ok=True)
    export(agent.policy, args.out)
    print(f"{args.out}: {args.out.stat().st_size / 2**20:.2f} MiB")


if __name__ == "__main__":
    main()
