"""Steps a second of Phone-v0, pixels and tree included: python benchmarks/speed/phone.py [--peer-python PYTHON].

The peer that can be run in the same breath is android-env's FakeSimulator: not a phone, but the whole path of an
AndroidEnv step (time step, action, pixel copy) around a stand-in that shows random pixels. It conflicts with our
pygame, so it lives in a virtual environment of its own (``pip install android-env==1.3.0 immutabledict``), whose
interpreter is given by ``--peer-python``; without one the script says so. MiniWoB++ needs a Chromium; the figures
printed for it (``MINIWOB_MS``: its fastest click and an empty step, of miniwob 1.1.0) were measured before, elsewhere.
"""

import argparse
import subprocess
import time
from collections.abc import Callable
from statistics import median

import gymnasium
from rich.console import Console
from rich.table import Table

from tiltyard.envs.gui.phone import PhoneVectorEnv

MINIWOB_MS = (13.0, 50.0)
PEER = """
import sys, time
import numpy as np
from absl import logging
from android_env import environment
from android_env.components import config_classes, coordinator, device_settings, task_manager
from android_env.components.simulators.fake import fake_simulator
from android_env.proto import task_pb2
logging.set_verbosity(logging.ERROR)
simulator = fake_simulator.FakeSimulator(config_classes.FakeSimulatorConfig(screen_dimensions=(192, 108)))
tasks = task_manager.TaskManager(task_pb2.Task())
settings = device_settings.DeviceSettings(simulator)
made = coordinator.Coordinator(simulator, tasks, settings)
env = environment.AndroidEnv(simulator=simulator, coordinator=made, task_manager=tasks)
env.reset()
action = {"action_type": np.array(0), "touch_position": np.array([0.4, 0.3], np.float32)}
start, n = time.perf_counter(), 0
while time.perf_counter() - start < float(sys.argv[1]):
    env.step(action)
    n += 1
print("STEPS_PER_SECOND", n / (time.perf_counter() - start))
"""


def batched(policy: str, num_envs: int, level: int) -> Callable[[float], float]:
    """Steps a second of the native vector under a policy that is not part of the timing."""
    env = PhoneVectorEnv(num_envs, level=level, max_episode_steps=50)
    observation, _ = env.reset(seed=0)
    env.single_action_space.seed(0)

    def measure(seconds: float) -> float:
        spent, steps = 0.0, 0
        while spent < seconds:
            if policy == "expert":
                actions = env.expert().predict(observation)[0]
            else:
                actions = tuple(env.single_action_space.sample() for _ in range(num_envs))
            start = time.perf_counter()
            env.step(actions)
            spent += time.perf_counter() - start
            steps += num_envs
        return steps / spent

    return measure


def alone(seconds: float) -> float:
    """Steps a second of the single environment, as ``gymnasium.make`` gives it (expert's actions)."""
    env = gymnasium.make("tiltyard/Phone-v0", disable_env_checker=True)
    env.reset(seed=0)
    expert = env.unwrapped.expert()  # type: ignore[attr-defined]
    spent, steps = 0.0, 0
    while spent < seconds:
        action = expert.predict(None)[0]
        start = time.perf_counter()
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
        spent += time.perf_counter() - start
        steps += 1
    return steps / spent


def peer(python: str, seconds: float) -> float | None:
    """Steps a second of android-env's FakeSimulator in another interpreter; None if it does not run there."""
    done = subprocess.run([python, "-c", PEER, str(seconds)], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("STEPS_PER_SECOND")]
    return float(lines[0].split()[1]) if lines else None


def main() -> None:
    """Prints medians over interleaved repeats, resets included, and ratios to the peers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default="", help="interpreter of an environment that has android-env")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    options = parser.parse_args()
    jobs: dict[str, Callable[[float], float]] = {
        "one phone, expert, level 1": alone,
        "16 phones, random taps, level 1": batched("random", 16, 1),
        "16 phones, expert, level 1": batched("expert", 16, 1),
        "16 phones, expert, level 3": batched("expert", 16, 3),
    }
    rates: dict[str, list[float]] = {name: [] for name in jobs}
    fake: list[float] = []
    for _ in range(options.repeats):
        for name, job in jobs.items():
            rates[name].append(job(options.seconds))
        rate = peer(options.peer_python, options.seconds) if options.peer_python else None
        fake += [] if rate is None else [rate]
    table = Table("Phone-v0, 108 x 192 pixels and tree", "steps/s", "ms/step", "vs FakeSimulator", "vs MiniWoB++")
    for name, values in rates.items():
        rate = median(values)
        ratio = f"{rate / median(fake):.1f}x" if fake else "not run"
        low, high = (rate * ms / 1000 for ms in MINIWOB_MS)
        table.add_row(name, f"{rate:,.0f}", f"{1000 / rate:.2f}", ratio, f"{low:.0f}x to {high:.0f}x (published ms)")
    console = Console()
    console.print(table)
    if fake:
        console.print(f"android-env FakeSimulator: {median(fake):,.0f} steps/s, median of {len(fake)}")
    else:
        console.print("android-env FakeSimulator: not run (give --peer-python the interpreter of a venv that has it)")


if __name__ == "__main__":
    main()
