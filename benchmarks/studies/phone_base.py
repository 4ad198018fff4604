"""A policy of Phone-v1 that others begin from: python benchmarks/studies/phone_base.py --out phone-v1-base.safetensors.

It clones a noisy expert at level 1, on problems of the train split, and stops early: it is meant to be good enough to
meet rewards, and to leave room for reinforcement learning, as the model that DigiRL begins from does. Prints the
success of its sampled and of its likeliest actions on held-out problems that no reported run is scored on.
"""

import argparse
import json
import shlex
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tiltyard import agents
from tiltyard.agents.control.trajectories import Running, Trajectory
from tiltyard.agents.models.elements_base import write_elements_base
from tiltyard.benchmarks.evaluation import TUNING_FROM, evaluation_seeds, play_episodes, wilson
from tiltyard.benchmarks.provenance import versions
from tiltyard.benchmarks.threads import one_thread
from tiltyard.envs.gui.baselines import NoisyExpert
from tiltyard.wrappers.spaces import sb3_env

ENV = "tiltyard/Phone-v1"
SHAPE: dict[str, Any] = {"width": 64, "layers": 1}
PHONES = 32


def demonstrations(episodes: int, noise: float, seed: int, **keywords: Any) -> list[Trajectory]:
    """Episodes of the noisy expert, as they end, on the train split."""
    env = gymnasium.make_vec(
        ENV, num_envs=PHONES, vectorization_mode="vector_entry_point", observation="elements", **keywords
    )
    seen, _ = env.reset(seed=seed)
    hands = NoisyExpert(env.unwrapped.batched, noise, seed)  # type: ignore[attr-defined]
    running, found = [Running(_one(seen, i)) for i in range(PHONES)], list[Trajectory]()
    while len(found) < episodes:
        actions = hands.act(seen, np.zeros(PHONES, np.bool_))
        seen, rewards, terminated, truncated, info = env.step(actions)  # which begins those anew that have ended
        over = terminated | truncated
        for i, one in enumerate(running):
            one.add(actions[i], rewards[i], info["final_obs"][i] if over[i] else _one(seen, i))
            if over[i]:
                found.append(one.ended(terminated=bool(terminated[i]), success=bool(info["success"][i])))
                running[i] = Running(_one(seen, i))
    env.close()
    return found[:episodes]


def _one(seen: Any, index: int) -> dict[str, Any]:
    return {name: part[index].copy() for name, part in seen.items()}


def success(agent: Any, episodes: int, *, sampled: bool) -> list[bool]:
    """Of held-out problems of tuning runs."""
    env = sb3_env(ENV, PHONES, split="test", observation="elements", level=1)
    seeds = evaluation_seeds(TUNING_FROM, PHONES)
    found = play_episodes(agent, env, episodes, seeds=seeds, deterministic=not sampled)
    env.close()
    return list(found.successes)


def main() -> None:
    """Makes, measures and writes the base."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=2000, help="demonstrations")
    parser.add_argument("--noise", type=float, default=0.05, help="probability of a random action")
    parser.add_argument("--updates", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with one_thread():
        data = demonstrations(options.episodes, options.noise, options.seed, level=1)
        share = np.mean([one.success for one in data])
        print(f"{len(data)} demonstrations of {sum(map(len, data))} steps, {share:.2f} succeed")
        settings: dict[str, Any] = {"batch_size": 64, "policy_kwargs": SHAPE, "env_kwargs": {"level": 1}}
        agent: Any = agents.make("phone-bc", ENV, seed=options.seed, **settings)
        agent.clone(data, options.updates)
        words = ["python", "benchmarks/studies/phone_base.py"]
        words += [
            f"--{name}={value}"
            for name, value in vars(options).items()
            if name != "out" and value != parser.get_default(name)
        ]
        write_elements_base(
            agent.policy.state_dict(),
            agent.policy.shape,
            options.out,
            env=ENV,
            command=shlex.join([*words, "--out", options.out.name]),
            versions=json.dumps(versions()),
        )
        settings = {"policy_kwargs": {"base": str(options.out)}, "env_kwargs": {"level": 1}}
        begun = agents.make("phone-bc", ENV, seed=options.seed, **settings)
        for sampled in (True, False):
            won = success(begun, 200, sampled=sampled)
            low, high = wilson(won)
            print(f"{'sampled' if sampled else 'likeliest'} actions: {np.mean(won):.3f} [{low:.3f}, {high:.3f}]")


if __name__ == "__main__":
    main()
