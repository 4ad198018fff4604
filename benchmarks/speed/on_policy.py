"""Steps a second of PPO: ours over 128 environments beside Stable-Baselines3's, in one run that takes turns.

Networks (2 x 64), epochs (4) and environments are the same. SB3's PPO runs as it is usually run, 8 environments and
minibatches of 64, and with our sizes: 128 environments and minibatches of 2,048. "Collecting" is a rollout without
learning; its share is of the environment's own rate under random actions. A second table has memory: ours beside
sb3-contrib's RecurrentPPO, one LSTM of 64 for actor and critic, in HalfCheetah; a third has S5 layers beside the LSTM,
by the length of sequences. Rates are of the process's CPU time, so
that a shared machine shows the same ratios; each ratio is the median over the turns.

``python benchmarks/speed/on_policy.py``
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import sb3_contrib
import torch as th
from stable_baselines3.common.callbacks import BaseCallback

import tiltyard  # noqa: F401 (registers environments)
from tiltyard.agents import make

TASKS: dict[str, dict[str, Any]] = {"tiltyard/HalfCheetah-v5": {}, "tiltyard/Highway-v0": {"action": "discrete"}}
NUM_ENVS, N_STEPS, BATCH, EPOCHS = 128, 64, 2048, 4
Case = Callable[[], float]


class Nothing(BaseCallback):
    """Lets everything go on."""

    def _on_step(self) -> bool:
        return True


def own_rate(env_id: str, steps: int, **kwargs: Any) -> Case:
    """The environment alone, under random actions that are drawn beforehand."""
    env = gymnasium.make_vec(env_id, NUM_ENVS, "vector_entry_point", **kwargs)
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(16)]

    def run() -> float:
        start = time.process_time()
        for step in range(steps // NUM_ENVS):
            env.step(actions[step % 16])
        return steps / (time.process_time() - start)

    return run


def trained(agent: Any, steps: int) -> Case:
    """Training ``agent``."""

    def run() -> float:
        before, start = agent.num_timesteps, time.process_time()
        agent.learn(steps, reset_num_timesteps=not before)
        return float((agent.num_timesteps - before) / (time.process_time() - start))

    return run


def learning(name: str, env_id: str, steps: int, **settings: Any) -> Case:
    """Training, end to end."""
    return trained(make(name, env_id, preset=None, n_epochs=EPOCHS, seed=0, device="cpu", **settings), steps)


def contrib(env_id: str, steps: int, **settings: Any) -> Case:
    """Training sb3-contrib's RecurrentPPO, end to end, in the vector that ours has."""
    memory = {"lstm_hidden_size": 64, "shared_lstm": True, "enable_critic_lstm": False, "net_arch": [64, 64]}
    env: Any = make("sb3-ppo", env_id, preset=None, n_envs=settings.pop("n_envs")).get_env()
    settings |= {"n_epochs": EPOCHS, "seed": 0, "device": "cpu", "policy_kwargs": memory}
    return trained(sb3_contrib.RecurrentPPO("MlpLstmPolicy", env, **settings), steps)


def collecting(env_id: str, rollouts: int) -> Case:
    """Ours without learning."""
    agent: Any = make("fast-ppo", env_id, preset=None, n_envs=NUM_ENVS, n_steps=N_STEPS, seed=0, device="cpu")
    _, callback = agent._setup_learn(10**9, Nothing())

    def run() -> float:
        start = time.process_time()
        for _ in range(rollouts):
            agent.collect_rollouts(agent.env, callback, agent.rollout_buffer, N_STEPS)
        return rollouts * N_STEPS * NUM_ENVS / (time.process_time() - start)

    return run


def table(title: str, cases: dict[str, Case], turns: int, references: dict[str, str]) -> None:
    """Runs the cases in turns and prints medians, and the ratio of each to its reference."""
    rates: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(turns + 1):
        for name, run in cases.items():
            rate = run()
            if turn:  # the first turn warms up
                rates[name].append(rate)
    print(f"\n{title}\n{'case':52} {'steps/s':>10}  ratio")
    for name, found in rates.items():
        reference = references.get(name)
        said = ""
        if reference is not None:
            ratio = statistics.median(mine / other for mine, other in zip(found, rates[reference], strict=True))
            said = f"{ratio:6.2f} of {reference}"
        print(f"{name:52} {statistics.median(found):10,.0f}  {said}")


def main() -> None:
    """Prints a table a task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=32_768)
    args = parser.parse_args()
    th.set_num_threads(1)
    size = NUM_ENVS * N_STEPS
    usual, same, ours = "SB3's PPO, 8 environments, minibatches of 64", "SB3's PPO, our sizes", "fast-ppo"
    alone, only = "the environment alone", "fast-ppo, collecting"
    wide = {"n_envs": NUM_ENVS, "n_steps": N_STEPS, "batch_size": BATCH}
    for env_id, kwargs in TASKS.items():
        cases = {
            usual: learning("ppo", env_id, size, n_envs=8, n_steps=1024, batch_size=64),
            same: learning("ppo", env_id, size, **wide),
            ours: learning("fast-ppo", env_id, args.steps, **wide),
            alone: own_rate(env_id, args.steps, **kwargs),
            only: collecting(env_id, max(1, args.steps // size)),
        }
        table(f"{env_id}, one thread", cases, args.turns, {same: usual, ours: usual, only: alone})
    env_id = "tiltyard/HalfCheetah-v5"
    theirs, same, ours = "sb3-contrib's, 8 environments", "sb3-contrib's, our sizes", "recurrent-ppo"
    cases = {
        theirs: contrib(env_id, size, n_envs=8, n_steps=1024, batch_size=64),
        same: contrib(env_id, size, **wide),
        ours: learning("recurrent-ppo", env_id, args.steps, policy_kwargs={"net_arch": [64, 64]}, **wide),
    }
    table(f"{env_id} with memory, one thread", cases, args.turns, {same: theirs, ours: theirs})
    env_id = "tiltyard/Hopper-v5"  # whose episodes begin and end at all times
    for length in (16, 64, 256):
        lstm, s5 = (f"{name}, sequences of {length}" for name in ("recurrent-ppo", "s5-rl"))
        long = {"n_envs": NUM_ENVS, "n_steps": 256, "bptt_steps": length, "batch_size": 4096}
        cases = {
            lstm: learning("recurrent-ppo", env_id, 256 * NUM_ENVS, **long),
            s5: learning("s5-rl", env_id, 256 * NUM_ENVS, **long),
        }
        table(f"{env_id} with memory, one thread", cases, args.turns, {s5: lstm})


if __name__ == "__main__":
    main()
