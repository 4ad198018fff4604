"""Which MiniWoB++ tasks pay for not solving them: python benchmarks/studies/miniwob_audit.py [--episodes 40].

Needs the extra [web] and a Chromium. Five policies that do not read the goal play every task; whatever they earn, a
policy earns without having understood anything. ``docs/results/miniwob-audit/`` receives the counts and a page.

Success is counted as the literature does (raw reward above 0) and strictly (raw reward 1). Rewards are raw: without the
factor for elapsed time, by which MiniWoB++'s own reward pays the same action differently on a faster machine.
"""

import argparse
import json
import re
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

OUT = Path(__file__).parents[2] / "docs" / "results" / "miniwob-audit"
SUBMIT = re.compile(r"submit|\bok\b|#subbtn|confirm|\bdone\b|\bgo\b", re.IGNORECASE)
BUTTONS = ("button", "submit")
BOUNDS = re.compile(r" (-?[\d.]+) (-?[\d.]+) (-?[\d.]+) (-?[\d.]+)(?: [a-z-]+)*$")
TAPS = 6
Policy = Callable[[np.random.Generator], Iterator[Callable[[str], str]]]


def middle(line: str) -> str:
    """The tap in the middle of what a line of the tree describes, or "wait" where it has no bounds."""
    if (found := BOUNDS.search(line)) is None:
        return "wait"
    x0, y0, x1, y1 = map(float, found.groups())
    return f"tap {(x0 + x1) / 2:.3f} {(y0 + y1) / 2:.3f}"


def is_submit(line: str) -> bool:
    """Whether a line looks like the button that hands an answer in."""
    return line.startswith(BUTTONS) and SUBMIT.search(line) is not None


def press_submit(tree: str) -> str:
    """Presses the first such button, or waits."""
    return next((middle(line) for line in tree.splitlines() if is_submit(line)), "wait")


def nothing(rng: np.random.Generator) -> Iterator[Callable[[str], str]]:
    """Waits three times, 0.3 s in all."""
    for _ in range(3):
        yield lambda tree: "wait"


def submit(rng: np.random.Generator) -> Iterator[Callable[[str], str]]:
    """Presses submit at once."""
    yield press_submit


def rubbish(rng: np.random.Generator) -> Iterator[Callable[[str], str]]:
    """Types zzz into the first field, then presses submit."""

    def into(tree: str) -> str:
        return next((middle(line) for line in tree.splitlines() if line.startswith("field")), "key Shift")

    yield into
    yield lambda tree: "type zzz" if " focused" in tree else "key Shift"
    yield press_submit


def taps(rng: np.random.Generator) -> Iterator[Callable[[str], str]]:
    """Six taps anywhere."""
    for _ in range(TAPS):
        yield lambda tree: "tap {:.3f} {:.3f}".format(*rng.random(2))


def elements(rng: np.random.Generator) -> Iterator[Callable[[str], str]]:
    """Six taps in the middle of elements drawn from the tree."""

    def pick(tree: str) -> str:
        lines = [line for line in tree.splitlines() if BOUNDS.search(line)]
        return middle(lines[int(rng.integers(len(lines)))]) if lines else "wait"

    for _ in range(TAPS):
        yield pick


POLICIES: dict[str, Policy] = {one.__name__: one for one in (nothing, submit, rubbish, taps, elements)}


def play(env: Any, policy: Policy, episodes: int, seed: int) -> list[float | None]:
    """Raw rewards of ``episodes`` episodes, 0 where none was given; None where the page broke down."""
    rewards: list[float | None] = []
    n = env.num_envs
    for first in range(0, episodes, n):
        seeds = [seed + first + i for i in range(n)]
        observation, _ = env.reset(seed=seeds)
        trees, over = list(observation["tree"]), np.zeros(n, bool)
        earned: list[float | None] = [0.0] * n
        scripts = [policy(np.random.default_rng([seed, one])) for one in seeds]
        while not over.all():
            moves = [None if over[i] else next(script, None) for i, script in enumerate(scripts)]
            over |= [move is None for move in moves]
            if over.all():
                break
            chosen = ["key Shift" if move is None else move(trees[i]) for i, move in enumerate(moves)]
            observation, _, terminated, truncated, info = env.step(chosen)
            trees = list(observation["tree"])
            for i in np.flatnonzero((terminated | truncated) & ~over):
                final = info["final_info"]
                earned[i] = None if final["crashed"][i] else float(final["reward_terms"]["goal"][i])
            over |= terminated | truncated
        rewards += earned
    return rewards[:episodes]


def graded(page: str) -> bool:
    """Whether a page ends an episode with anything in its source but the plain 1, -1 or 0."""
    given = re.findall(r"endEpisode\(\s*([^,)]+)", page)
    return any(re.fullmatch(r"-?[01](\.0)?", one.strip()) is None for one in given)


def audit(env: Any, task: str, episodes: int, seed: int) -> dict[str, Any]:
    """Everything about one task."""
    from tiltyard.envs.gui.web import folder

    started = time.perf_counter()
    env.batched.turn_to(task)
    rewards = {name: play(env, policy, 4 if name == "nothing" else episodes, seed) for name, policy in POLICIES.items()}
    place = folder.installed()
    assert place is not None
    source = (place / "miniwob" / f"{task}.html").read_text()
    return {"task": task, "graded": graded(source), "rewards": rewards, "seconds": time.perf_counter() - started}


def share(rewards: list[float | None], above: float) -> tuple[float, float, float]:
    """Share of episodes with more than this reward, with Wilson's 95% interval."""
    from tiltyard.benchmarks.evaluation import wilson

    paid = [one > above for one in rewards if one is not None]
    return sum(paid) / len(paid), *wilson(paid)


def tables(results: list[dict[str, Any]]) -> dict[str, list[list[str]]]:
    """Rows of the page's tables, most paid first."""
    from tiltyard.benchmarks.pages import bracketed

    idle, lucky = [], []
    for one in results:
        shares = {name: share(rewards, 0.0) for name, rewards in one["rewards"].items()}
        strict = {name: share(rewards, 0.99) for name, rewards in one["rewards"].items()}
        best = max(shares, key=lambda name: shares[name][0])
        row = [f"`{one['task']}`", best, bracketed(shares[best], ".2f"), f"{strict[best][0]:.2f}"]
        row += ["yes" if one["graded"] else "no"]
        if max(shares[name][0] for name in ("nothing", "submit", "rubbish")) > 0:
            idle.append(([f"{shares[name][0]:.2f}" for name in ("nothing", "submit", "rubbish")], shares, row))
        if shares[best][0] > 0:
            lucky.append((shares[best][0], row))
    idle.sort(key=lambda one: -max(map(float, one[0])))
    lucky.sort(key=lambda one: -one[0])
    return {"idle": [[row[0], *cells, row[4]] for cells, _, row in idle], "lucky": [row for _, row in lucky]}


def main() -> None:
    """Plays everything and writes the page."""
    from tiltyard.benchmarks.provenance import commit, hardware
    from tiltyard.envs.gui.web import folder
    from tiltyard.envs.gui.web.miniwob import MiniWoBVectorEnv

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=40, help="a policy and task (waiting: 4)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tasks", nargs="+", default=[], help="names; all by default")
    parser.add_argument("--browsers", type=int, default=1, help="for the four pages")
    parser.add_argument("--resume", action="store_true", help="keep what --out holds, and play the tasks that it lacks")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    env: Any = MiniWoBVectorEnv(4, browsers=args.browsers, timeout=60.0)
    env.reset(seed=0)
    version = env.batched.tabs.page(0).browser.version
    given = ["--episodes", str(args.episodes), "--seed", str(args.seed)]
    given += ["--tasks", *args.tasks] if args.tasks else []
    result: dict[str, Any] = {
        "command": shlex.join(["python", "benchmarks/studies/miniwob_audit.py", *given]),
        "commit": commit(),
        "hardware": hardware(),
        "browser": version,
        "episodes": args.episodes,
        "pages": len(folder.tasks()),
        "tasks": [],
    }
    if args.resume:
        result = resumed(result, json.loads((args.out / "results.json").read_text()))
    played = {one["task"] for one in result["tasks"]}
    for task in [one for one in args.tasks or folder.tasks() if one not in played]:
        result["tasks"].append(audit(env, task, args.episodes, args.seed))
        print(task, {name: mean(rewards) for name, rewards in result["tasks"][-1]["rewards"].items()}, flush=True)
        save(result, args.out)
    env.close()


def resumed(begun: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """A run that goes on from a stored one; where a commit, machine or browser is another one, both are named.

    Raises:
        ValueError: the stored run has another number of episodes a policy, or another seed.
    """
    if (stored["command"], stored["pages"]) != (begun["command"], begun["pages"]):
        raise ValueError(f"the stored run is {stored['command']!r} of {stored['pages']} pages: it cannot be resumed")
    told = ("commit", "hardware", "browser")
    both = {name: ", then ".join(dict.fromkeys([*stored[name].split(", then "), begun[name]])) for name in told}
    return {**stored, **both}


def mean(rewards: list[float | None]) -> float:
    """The mean reward, of episodes that did not break down."""
    return round(float(np.mean([one for one in rewards if one is not None])), 2)


def save(result: dict[str, Any], out: Path) -> None:
    """Writes counts and page, after every task: it takes a while, and may be stopped."""
    from tiltyard.benchmarks.pages import render

    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(result) + "\n")
    docs = {name: policy.__doc__ for name, policy in POLICIES.items()}
    text = render("miniwob_audit.md.jinja", **result, **tables(result["tasks"]), policies=docs)
    (out / "README.md").write_text(text)


if __name__ == "__main__":
    main()
