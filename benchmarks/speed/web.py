"""Steps a second of MiniWoB++ by our driver, beside Selenium: python benchmarks/speed/web.py [--peer-python PYTHON].

Needs the extra [web] and a Chromium. A step is a real click on an empty place of the page, then everything that is
observed: tree and goal, and the screen where the row says so. The peer is the ``miniwob`` package's own Gymnasium
environment, with Selenium and the chromedriver of the system, in the interpreter given (this one by default).
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

from rich.console import Console
from rich.table import Table

from tiltyard.envs.gui.web import process
from tiltyard.envs.gui.web.miniwob import MiniWoBEnv, MiniWoBVectorEnv

X, Y = 0.9, 0.95
PEER = """
import sys, time
import gymnasium, miniwob
from miniwob.action import ActionTypes
gymnasium.register_envs(miniwob)
env = gymnasium.make(f"miniwob/{sys.argv[1]}-v1", disable_env_checker=True).unwrapped
env.reset(seed=0)
env.instance.record_screenshots = sys.argv[3] == "screen"
env.instance.driver.execute_script("core.EPISODE_MAX_TIME = 2147483647; core.startEpisodeReal();")
action = env.create_action(ActionTypes.CLICK_COORDS, coords=(160 * 0.9, 210 * 0.95))
env.step(action)
start, n = time.perf_counter(), 0
while time.perf_counter() - start < float(sys.argv[2]):
    env.step(action)
    n += 1
print("STEPS_PER_SECOND", n / (time.perf_counter() - start))
env.close()
"""


def alone(task: str, pixels: bool) -> tuple[Callable[[float], float], Callable[[], None]]:
    """Steps a second of one page, and what ends its browser."""
    env = MiniWoBEnv(task=task, pixels=pixels, timeout=60.0)
    env.reset(seed=0)
    return lambda seconds: rate(lambda: env.step(f"tap {X} {Y}"), seconds, 1), env.close


def together(task: str, num_envs: int) -> tuple[Callable[[float], float], Callable[[], None]]:
    """Steps a second of several pages, each in a browser of its own."""
    env = MiniWoBVectorEnv(num_envs, task=task, timeout=60.0)
    env.reset(seed=0)
    return lambda seconds: rate(lambda: env.step([f"tap {X} {Y}"] * num_envs), seconds, num_envs), env.close


def rate(step: Callable[[], object], seconds: float, each: int) -> float:
    """Steps a second over so many seconds, after one that does not count."""
    step()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        step()
        steps += each
    return steps / (time.perf_counter() - start)


def selenium(python: str, task: str, seconds: float, screen: bool) -> float | None:
    """Steps a second of the ``miniwob`` package's own environment; None if it does not run there."""
    driver, browser = shutil.which("chromedriver"), process.find()
    if driver is None or browser is None:
        return None
    given = {"SE_OFFLINE": "true", "SE_AVOID_STATS": "true", "MINIWOB_CHROMEDRIVER": driver}
    command = [python, "-c", PEER, task, str(seconds), "screen" if screen else "blind"]
    environment = {**os.environ, **given, "MINIWOB_CHROME_BINARY": browser}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    lines = [line for line in done.stdout.splitlines() if line.startswith("STEPS_PER_SECOND")]
    if not lines:
        print(done.stderr[-1000:], file=sys.stderr)
    return float(lines[0].split()[1]) if lines else None


def main() -> None:
    """Prints medians over interleaved repeats, and ratios to Selenium's row of the same kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="click-checkboxes")
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter that has miniwob and selenium")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    options = parser.parse_args()
    console = Console()
    if process.find() is None:
        console.print(process.INSTALL)
        return
    rates: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        for name in ("ours, tree", "ours, tree, two browsers", "ours, tree and screen"):
            two = name.endswith("browsers")
            measure, close = together(options.task, 2) if two else alone(options.task, name.endswith("screen"))
            rates.setdefault(name, []).append(measure(options.seconds))
            close()
        for name, screen in {"Selenium, tree": False, "Selenium, tree and screen": True}.items():
            found = selenium(options.peer_python, options.task, options.seconds, screen)
            rates.setdefault(name, []).extend([] if found is None else [found])
    table = Table(f"MiniWoB++ {options.task}", "steps/s", "all repeats", "times Selenium")
    for name, values in rates.items():
        peer = rates["Selenium, tree and screen" if "screen" in name else "Selenium, tree"]
        ratio = f"{median(values) / median(peer):.1f}x" if values and peer else "not run"
        shown = f"{median(values):,.1f}" if values else "not run"
        table.add_row(name, shown, " ".join(f"{one:.1f}" for one in values), ratio)
    console.print(table)
    console.print(f"load of the machine (1 min): {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
