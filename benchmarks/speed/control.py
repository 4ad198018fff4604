"""Gradient updates a second, beside Stable-Baselines3's SAC, and with the environment in the loop.

One thread each, 2 x 256 networks, batches of 256, HalfCheetah's shapes; all cases take turns in one run, and the ratio
is the median over the turns of this case's rate over SB3's in the same turn. Updates are counted by processor time;
"best" is the fastest turn, the one that other programs disturbed least, and its ratio to SB3's fastest. "The products
alone" are the matrix products that one SAC update cannot do without, with nothing around them: what is left to gain.

``python benchmarks/speed/control.py``, or a part of it: ``--tables sac --cases "SB3|SAC$|compiled$|fp32"``

SBX (SB3's algorithms in JAX) takes part in the table "loop" where its interpreter is given, since it is not installed
with us: ``python -m venv sbx && sbx/bin/pip install sbx-rl``, and then ``--sbx sbx/bin/python``.
"""

import argparse
import os
import re
import statistics
import subprocess
import time
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import sb3_contrib
import stable_baselines3 as sb3
import torch as th
from stable_baselines3.common.logger import configure

from tiltyard.agents import AWAC, CQL, DSACT, IQL, SAC, TD3, TQC, make
from tiltyard.agents.control.datasets import Transitions

ENV = "HalfCheetah-v5"
SBX = """
import sys, time
from sbx import SAC
from stable_baselines3.common.env_util import make_vec_env

steps = int(sys.argv[1])
env = make_vec_env("HalfCheetah-v5", 8, seed=0)
agent = SAC("MlpPolicy", env, learning_starts=100, gradient_steps=-1, seed=0).learn(200)
start = time.perf_counter()
agent.learn(steps, reset_num_timesteps=False)
print(steps / (time.perf_counter() - start))
"""
"""What SBX's interpreter runs: it has compiled its update before the clock starts."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
BATCH, WIDTH, OBSERVATIONS, ACTIONS = 256, 256, 17, 6


def filled(agent_class: type[Any], **settings: Any) -> Callable[[], Any]:
    """Makes an agent with a replay buffer to draw from."""
    settings = {"learning_starts": 1000, "buffer_size": 20_000, "seed": 0, "device": "cpu", **deepcopy(settings)}

    def make_agent() -> Any:
        agent = agent_class("MlpPolicy", gymnasium.make(ENV), **settings).learn(1000)
        agent.set_logger(configure(None, []))
        return agent

    return make_agent


def updates(make_agent: Callable[[], Any], n: int) -> Callable[[], float]:
    """Runs ``n`` updates of an agent made at the first call, and returns the rate."""
    agents: list[Any] = []

    def run() -> float:
        agents.extend([] if agents else [make_agent()])
        start = time.process_time()
        agents[0].train(n, BATCH)
        return n / (time.process_time() - start)

    return run


def products(n: int, dtype: th.dtype) -> Callable[[], float]:
    """The matrix products of ``n`` SAC updates: two critics, their targets, an actor, forward and backward."""

    def batch(members: int, *shape: int) -> th.Tensor:
        return th.randn(members, *shape).to(dtype)

    critic, actor = batch(2, OBSERVATIONS + ACTIONS, WIDTH), batch(1, OBSERVATIONS, WIDTH)
    hidden = {members: batch(members, WIDTH, WIDTH) for members in (1, 2)}
    x = {members: batch(members, BATCH, WIDTH) for members in (1, 2)}
    state, pair = batch(1, BATCH, OBSERVATIONS), batch(2, BATCH, OBSERVATIONS + ACTIONS)

    def run() -> float:
        start = time.process_time()
        for _ in range(n):
            for _ in range(2):  # the actor at s and s'
                th.bmm(state, actor)
                th.bmm(x[1], hidden[1])
            for _ in range(3):  # critics at (s, a), targets at (s', a'), critics at (s, pi(s))
                th.bmm(pair, critic)
                th.bmm(x[2], hidden[2])
            for members, first in ((2, pair), (1, state)):  # gradients of weights and of hidden layers
                th.bmm(x[members].transpose(1, 2), x[members])
                th.bmm(first.transpose(1, 2), x[members])
                th.bmm(x[members], hidden[members].transpose(1, 2))
            th.bmm(x[1], hidden[1].transpose(1, 2))  # through the lesser critic alone
        return n / (time.process_time() - start)

    return run


def table(title: str, cases: dict[str, Callable[[], float]], turns: int, unit: str, chosen: str) -> None:
    """Runs the cases whose names the expression ``chosen`` finds in turns; prints medians, and ratios to the first."""
    cases = {name: run for name, run in cases.items() if re.search(chosen, name)}
    if not cases:
        return
    rates: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(turns + 1):
        for name, run in cases.items():
            rate = run()
            if turn:  # the first turn warms up
                rates[name].append(rate)
    first = next(iter(rates.values()))
    print(f"\n{title}\n{'case':58} {unit:>12} {'ratio':>7} {'best':>7} {'ratio':>7}")
    for name, found in rates.items():
        ratio = statistics.median(mine / theirs for mine, theirs in zip(found, first, strict=True))
        best = f"{max(found):7,.0f} {max(found) / max(first):7.2f}"
        print(f"{name:58} {statistics.median(found):12,.0f} {ratio:7.2f} {best}", flush=True)


def learning(name: str, steps: int, **settings: Any) -> Callable[[], float]:
    """Environment steps a second of a short training, one update a step, after what is compiled has been."""
    settings |= {"learning_starts": 100, "seed": 0, "device": "cpu"}

    def run() -> float:
        agent = make(name, "tiltyard/HalfCheetah-v5", **settings).learn(200)
        before, start = agent.num_timesteps, time.perf_counter()
        agent.learn(steps, reset_num_timesteps=False)
        return (agent.num_timesteps - before) / (time.perf_counter() - start)

    return run


def sbx(interpreter: str, steps: int) -> Callable[[], float]:
    """Environment steps a second of SBX's SAC in its own interpreter, after its update is compiled.

    Raises:
        SystemExit: it cannot be run there.
    """
    command = [interpreter, "-c", SBX, str(steps)]

    def run() -> float:
        try:
            told = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
        except OSError as error:
            raise SystemExit(
                f"--sbx {interpreter} is no interpreter ({error.strerror}): give the path of one"
            ) from error
        if told.returncode:
            reason = (told.stderr.strip().splitlines() or ["it says nothing"])[-1]
            raise SystemExit(f"--sbx {interpreter} cannot train SBX's SAC ({reason}): pip install sbx-rl there")
        return float(told.stdout.split()[-1])

    return run


def taught(agent_class: type[Any], **settings: Any) -> Any:
    """An agent that learns from data, with random data of the same shapes."""
    agent = agent_class("MlpPolicy", gymnasium.make(ENV), seed=0, device="cpu", **settings)
    agent.set_logger(configure(None, []))
    rng, n = np.random.default_rng(0), 1000
    observations, following = (rng.normal(size=(n, OBSERVATIONS)).astype(np.float32) for _ in range(2))
    actions, rewards = rng.uniform(-1, 1, (n, ACTIONS)).astype(np.float32), rng.normal(size=n).astype(np.float32)
    last, nothing = np.arange(n) == n - 1, np.zeros(n, np.int64)
    returns = np.array([rewards.sum()], float)
    data = Transitions(observations, actions, rewards, following, nothing.astype(np.float32), last, nothing, returns)
    return agent.learn_offline(data, 0)


def sac(n: int, turns: int, chosen: str) -> None:
    """SAC's settings."""
    delayed = {"compiled": True, "matmul_precision": "bf16", "policy_delay": 2}
    cases = {
        "SB3 SAC": updates(filled(sb3.SAC), n),
        "SAC": updates(filled(SAC), n),
        "SAC, bf16 products": updates(filled(SAC, matmul_precision="bf16"), n),
        "SAC, compiled": updates(filled(SAC, compiled=True), n),
        "SAC, compiled, bf16 products": updates(filled(SAC, compiled=True, matmul_precision="bf16"), n),
        "SAC, actor every second update": updates(filled(SAC, policy_delay=2), n),
        "SAC, compiled, bf16 products, actor every second update": updates(filled(SAC, **delayed), n),
        "the products alone, fp32": products(n, th.float32),
        "the products alone, bf16": products(n, th.bfloat16),
    }
    table(f"{th.get_num_threads()} thread, networks of 2 x {WIDTH}, batch {BATCH}", cases, turns, "updates/s", chosen)


def relatives(n: int, turns: int, chosen: str) -> None:
    """SAC's relatives, as they are and compiled."""
    net = {"net_arch": [WIDTH, WIDTH]}
    cases = {"SB3 SAC": updates(filled(sb3.SAC), n), "SB3 TD3": updates(filled(sb3.TD3), n)}
    for agent_class in (SAC, TD3, DSACT, IQL, AWAC):
        for compiled in (False, True):
            agent = filled(agent_class, policy_kwargs=net, compiled=compiled)
            cases[agent_class.__name__ + ", compiled" * compiled] = updates(agent, n)
    title = "its relatives at SAC's size"
    table(f"{th.get_num_threads()} thread, {title}", cases, turns, "updates/s", chosen)
    cases = {
        "CQL" + ", compiled" * compiled: updates(partial(taught, CQL, compiled=compiled), max(n // 20, 1))
        for compiled in (False, True)
    }
    table(f"{th.get_num_threads()} thread, CQL, 31 actions a state: ratio to itself", cases, turns, "updates/s", chosen)


def quantiles(n: int, turns: int, chosen: str) -> None:
    """TQC beside sb3-contrib's, whose loss is over all pairs of quantiles."""
    cases = {
        "sb3-contrib TQC": updates(filled(sb3_contrib.TQC), n),
        "TQC": updates(filled(TQC), n),
        "TQC, compiled": updates(filled(TQC, compiled=True), n),
    }
    table(f"{th.get_num_threads()} thread, TQC, two critics of 25 quantiles", cases, turns, "updates/s", chosen)


def small(n: int, turns: int, chosen: str) -> None:
    """Smaller networks."""
    shape = {"policy_kwargs": {"net_arch": [128, 128]}}
    cases = {
        "SB3 SAC": updates(filled(sb3.SAC, **shape), n),
        "SAC": updates(filled(SAC, **shape), n),
        "SAC, bf16 products": updates(filled(SAC, matmul_precision="bf16", **shape), n),
        "SAC, compiled": updates(filled(SAC, compiled=True, **shape), n),
    }
    table(f"{th.get_num_threads()} thread, networks of 2 x 128, batch {BATCH}", cases, turns, "updates/s", chosen)


def loop(_: int, turns: int, chosen: str, interpreter: str = "") -> None:
    """Environment and updates together; by the clock, since ``overlap`` has two threads."""
    many = {"n_envs": 8, "gradient_steps": -1}
    half = {"matmul_precision": "bf16"}
    cases = {
        "SB3 SAC, 8 environments": learning("sb3-sac", 900, **many),
        "SAC, 8 environments": learning("sac", 900, **many),
        "SAC, 8 environments, compiled": learning("sac", 900, compiled=True, **many),
        "SAC, 8 environments, compiled, bf16 products": learning("sac", 900, compiled=True, **half, **many),
        "SAC, 8 environments, overlapped": learning("sac", 900, overlap=True, **many),
        "SAC, 8 environments, overlapped, bf16 products": learning("sac", 900, overlap=True, **half, **many),
    }
    if interpreter:
        cases["SBX SAC, 8 environments"] = sbx(interpreter, 800)
    else:
        print("SBX is left out: it needs JAX, in an environment of its own; give its interpreter with --sbx")
    table("Learning in HalfCheetah, an update a step", cases, min(turns, 3), "steps/s", chosen)


TABLES: dict[str, Callable[..., None]] = {
    "sac": sac,
    "relatives": relatives,
    "quantiles": quantiles,
    "small": small,
    "loop": loop,
}


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--sbx", default="", help="interpreter of an environment that has sbx-rl")
    parser.add_argument("--cases", default="", help="a regular expression: only cases whose names it finds")
    args = parser.parse_args()
    th.set_num_threads(1)
    for name in args.tables:
        how = {"interpreter": args.sbx} if name == "loop" else {}
        TABLES[name](args.updates, args.turns, args.cases, **how)


if __name__ == "__main__":
    main()
