"""Steps a second of the phones: python benchmarks/speed/phone.py [--web] [--peer-python PYTHON].

Phone-v1 in its four views (elements in numbers, the tree in words, pixels, all of it), its interpreted twin, Phone-v0;
random actions, problems that end included. ``--web`` measures MiniWoB++ in the same run, by our driver over the Chrome
DevTools Protocol and by the ``miniwob`` package's Selenium (needs a Chromium and its driver).

Another peer is android-env's FakeSimulator: not a phone, but the whole path of an
AndroidEnv step (time step, action, pixel copy) around a stand-in that shows random pixels. It conflicts with our
pygame, so it lives in a virtual environment of its own (``pip install android-env==1.3.0 immutabledict``), whose
interpreter is given by ``--peer-python``; without one the script says so.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from gymnasium.spaces import MultiDiscrete
from rich.console import Console
from rich.table import Table

from tiltyard.benchmarks.speed import web
from tiltyard.envs.core import BatchedVectorEnv
from tiltyard.envs.gui import phone_v1
from tiltyard.envs.gui.compiled.env import BatchedPhoneV1, PhoneV1VectorEnv
from tiltyard.envs.gui.phone import PhoneVectorEnv

PHONES, ACTIONS = 64, 50
MINIWOB = "click-test"
INTERPRETED = "Phone-v1 interpreted, screen and tree"
SELENIUM = "MiniWoB++ by Selenium"
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


def batched(made: BatchedVectorEnv) -> Callable[[float], float]:
    """Steps a second of a native vector under random actions, drawn before; most are taps on elements."""
    n = made.num_envs
    made.reset(seed=0)
    rng, space = np.random.default_rng(0), made.single_action_space
    space.seed(0)
    if isinstance(space, MultiDiscrete):
        drawn: list[Any] = [
            np.stack([rng.integers(0, top, n) for top in (16, 20, 20, 24, 6)], 1) for _ in range(ACTIONS)
        ]
    else:
        drawn = [tuple(space.sample() for _ in range(n)) for _ in range(ACTIONS)]
    for actions in drawn[:3]:
        made.step(actions)

    def measure(seconds: float) -> float:
        start, batches = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            made.step(drawn[batches % ACTIONS])
            batches += 1
        return n * batches / (time.perf_counter() - start)

    return measure


def problems(seconds: float) -> float:
    """New problems a second, on one thread."""
    phones = BatchedPhoneV1(PHONES, observation="elements", threads=1)
    indices, zeros = np.arange(PHONES), np.zeros(PHONES, np.int64)
    phones.begin(indices, indices, zeros)
    start, batches = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        batches += 1
        phones.begin(indices, indices + batches * PHONES, zeros)
    return PHONES * batches / (time.perf_counter() - start)


def peer(python: str, seconds: float) -> float | None:
    """Steps a second of android-env's FakeSimulator in another interpreter; None if it does not run there."""
    done = subprocess.run([python, "-c", PEER, str(seconds)], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("STEPS_PER_SECOND")]
    return float(lines[0].split()[1]) if lines else None


def main() -> None:
    """Prints medians over interleaved repeats, resets included; ratios to the interpreted phone and to MiniWoB++."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default="", help="interpreter of an environment that has android-env")
    parser.add_argument("--web", action="store_true", help="measure MiniWoB++ too")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    options = parser.parse_args()
    large: dict[str, Any] = {"size": (384, 216)}
    kinds: dict[str, dict[str, Any]] = {"elements": {}, "tree": {}, "pixels": {}, "pixels 384x216": large, "screen": {}}
    jobs: dict[str, Callable[[float], float]] = {
        f"Phone-v1, {name}": batched(
            PhoneV1VectorEnv(PHONES, max_episode_steps=60, observation=name.split()[0], **keywords)
        )
        for name, keywords in kinds.items()
    }
    jobs["Phone-v1, one phone, elements"] = batched(PhoneV1VectorEnv(1, max_episode_steps=60, observation="elements"))
    jobs["Phone-v1, new problems, one thread"] = problems
    jobs[INTERPRETED] = batched(phone_v1.PhoneV1VectorEnv(16, max_episode_steps=60))
    jobs["Phone-v0, screen and tree"] = batched(PhoneVectorEnv(16, max_episode_steps=50))
    ends: list[Callable[[], None]] = []
    if options.web:
        driven, end = web.alone(MINIWOB, False)
        ends.append(end)
        jobs["MiniWoB++ by our driver (CDP)"] = driven
        jobs[SELENIUM] = lambda seconds: web.selenium(sys.executable, MINIWOB, seconds, False) or float("nan")
    rates: dict[str, list[float]] = {name: [] for name in jobs}
    fake: list[float] = []
    for _ in range(options.repeats):
        for name, job in jobs.items():
            rates[name].append(job(options.seconds))
        rate = peer(options.peer_python, options.seconds) if options.peer_python else None
        fake += [] if rate is None else [rate]
    for end in ends:
        end()
    show(rates, fake)


def show(rates: dict[str, list[float]], fake: list[float]) -> None:
    """Prints the table."""
    table = Table(f"{PHONES} phones", "a second", "us each", "vs interpreted", "vs Selenium")
    base, selenium = median(rates[INTERPRETED]), rates.get(SELENIUM)
    for name, values in rates.items():
        rate = median(values)
        ratio = f"{rate / median(selenium):,.0f}x" if selenium else "not run"
        table.add_row(name, f"{rate:,.0f}", f"{1e6 / rate:,.0f}", f"{rate / base:.1f}x", ratio)
    console = Console()
    console.print(table)
    if fake:
        console.print(f"android-env FakeSimulator: {median(fake):,.0f} steps/s, median of {len(fake)}")
    else:
        console.print("android-env FakeSimulator: not run (give --peer-python the interpreter of a venv that has it)")


if __name__ == "__main__":
    main()
