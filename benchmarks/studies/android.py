"""The scripted expert of every phone task, played through the real adb program on the fake device.

    python benchmarks/studies/android.py --episodes 10                  # every template of Phone-v0, by adb
    python benchmarks/studies/android.py --episodes 2 --tasks phone-v1
    python benchmarks/studies/android.py --episodes 10 --direct         # without adb, by our own client
    python benchmarks/studies/android.py --steps 500 --faults 0.004     # lost, late, broken packets, a device that goes

Prints successes by template with Wilson's interval, steps a second, and under faults what went wrong and the slowest
step: nothing hangs if that is within the patience.
"""

import argparse
import time
from collections import Counter
from typing import Any

import gymnasium

import tiltyard
from tiltyard.benchmarks.evaluation import wilson
from tiltyard.envs.gui.apps import TEMPLATES
from tiltyard.envs.gui.problems_v1 import world

KINDS = ("drop", "delay", "garbage", "half", "gone")


def play(env: Any, seed: int) -> tuple[bool, int]:
    """Success of one episode, and its steps."""
    observation, _ = env.reset(seed=seed)
    expert, steps = env.unwrapped.expert(), 0
    while True:
        observation, _, terminated, truncated, info = env.step(expert.predict(observation)[0])
        steps += 1
        if terminated or truncated:
            return bool(info["success"]), steps


def parity(arguments: argparse.Namespace) -> None:
    """Every template."""
    won = played = steps = 0
    spent = 0.0
    v0 = arguments.tasks == "phone-v0"
    known = TEMPLATES if v0 else world().templates
    for level in (1, 2, 3):
        env = gymnasium.make("tiltyard/Android-v0", adb=arguments.adb, tasks=arguments.tasks, level=level, split="test")
        for number, template in [(i, one) for i, one in enumerate(known) if one.level == level]:
            env.unwrapped.batched.phones._templates = (template if v0 else number,)  # type: ignore[attr-defined]
            start = time.perf_counter()
            results = [play(env, arguments.seed + episode) for episode in range(arguments.episodes)]
            spent += time.perf_counter() - start
            here = sum(success for success, _ in results)
            print(f"level {level} {template.name:30s} {here}/{len(results)}", flush=True)
            won, played, steps = won + here, played + len(results), steps + sum(n for _, n in results)
        env.close()
    low, high = wilson([True] * won + [False] * (played - won))
    print(f"{won} of {played} ({low:.1%} to {high:.1%}), {steps} steps, {steps / spent:.1f} steps/s with resets")


def faults(arguments: argparse.Namespace) -> None:
    """Steps on a faulty device."""
    rate, counts, slowest = arguments.faults, Counter[str](), 0.0
    chances = {kind: rate for kind in KINDS}
    env = gymnasium.make("tiltyard/Android-v0", adb=arguments.adb, timeout=1.0, patience=10.0, faults=chances)
    env.reset(seed=1)
    expert = env.unwrapped.expert()  # type: ignore[attr-defined]
    begun = time.perf_counter()
    for _ in range(arguments.steps):
        start = time.perf_counter()
        _, _, terminated, truncated, info = env.step(expert.predict(None)[0])
        if terminated or truncated:
            counts.update(episodes=1, success=int(info["success"]), crashed=int(info["crashed"]))
            counts.update(failures=int(info["failures"]))
            env.reset()
        slowest = max(slowest, time.perf_counter() - start)
    happened = env.unwrapped.batched.seats[0].adbd.faults.counts  # type: ignore[attr-defined]
    rate = arguments.steps / (time.perf_counter() - begun)
    print(f"{dict(counts)}, faults {happened}: {rate:.1f} steps/s, slowest step with reset {slowest:.1f} s")
    env.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10, help="of each template")
    parser.add_argument("--tasks", choices=("phone-v0", "phone-v1"), default="phone-v0")
    parser.add_argument("--steps", type=int, default=300, help="on a faulty device")
    parser.add_argument("--faults", type=float, default=0.0, help="probability of each kind, a packet")
    parser.add_argument("--seed", type=int, default=1000, help="of the first episode of each template")
    parser.add_argument("--direct", dest="adb", action="store_const", const=None, default="adb", help="without adb")
    chosen = parser.parse_args()
    print(f"tiltyard {tiltyard.__version__}, adb {chosen.adb or 'not used'}")
    (faults if chosen.faults else parity)(chosen)
