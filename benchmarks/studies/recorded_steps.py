"""Four ways to learn from recorded episodes of a phone: python benchmarks/studies/recorded_steps.py [--seeds 5].

With ``--tune`` first: each method at each learning rate, on seeds and held-out problems of their own. The best rate of
each goes to ``tuning.json``, which the study then uses; without that file all methods have their default rates.

Cloning, UI-R1, UI-S1, and UI-S1 without patches learn from the same demonstrations of the scripted expert, each with
the same number of updates. Methods of reinforcement learning begin with a clone, whose updates are part of theirs
(``--warm-start`` is its share); a cloning agent goes on cloning. At checkpoints three numbers are taken:

* ``online``: true success on held-out problems, likeliest actions, the same problems for all;
* ``steps``: the share of recorded steps of held-out episodes at which the likeliest action is the recorded one;
* ``sop``: how far the likeliest actions go along these episodes (UI-S1's SOP: the mean of progress and success).

How well ``steps`` and ``sop`` tell which checkpoint is better online is Spearman's correlation over the checkpoints of
a seed, of all methods. ``docs/results/recorded-steps/`` receives a page, and a file a seed with all numbers.
"""

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import AutoresetMode

from tiltyard.agents import make
from tiltyard.agents.control.trajectories import Trajectory
from tiltyard.agents.control.ui_s1 import semi_online_performance, step_accuracy
from tiltyard.benchmarks.datasets.record import record
from tiltyard.benchmarks.pages import render
from tiltyard.benchmarks.provenance import commit, hardware, versions
from tiltyard.benchmarks.verdicts import student_interval

FOLDER = Path("docs/results/recorded-steps")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "phone-bc": ("phone-bc", {}),
    "ui-r1": ("ui-r1", {}),
    "ui-s1": ("ui-s1", {}),
    "ui-s1, no patches": ("ui-s1", {"patch_limit": 0}),
}
"""Name in the tables: the agent and its settings; the first goes on cloning."""
NUMBERS = ("online", "steps", "progress", "complete", "sop")
TRAINING, RECORDED, ONLINE, TUNING = 0, 1, 2, 3  # purposes of seeds
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
TUNING_SEEDS = (1000, 1001)
STEPS = 60  # of an episode, at most


def seeds_of(purpose: int, seed: int, n: int) -> list[int]:
    """Seeds of ``n`` problems."""
    return [int(one) for one in np.random.default_rng([seed, purpose]).integers(2**31, size=n)]


def demonstrations(env_id: str, split: str, seeds: Sequence[int], level: int) -> list[Trajectory]:
    """What the expert did on these problems, where numbers can say it and it succeeded."""
    env_kwargs = {"split": split, "level": level, "observation": "elements"}
    made = record(env_id, "noisy-expert", seeds, env_kwargs=env_kwargs)
    found = [
        Trajectory(dict(one.observations), one.actions, one.rewards, one.terminated, bool(one.infos["success"][-1]))
        for one in made
    ]
    return [one for one in found if one.success]


def online_success(agent: Any, env_id: str, seeds: Sequence[int], level: int) -> float:
    """Share of these held-out problems that the agent's likeliest actions solve."""
    env: Any = gymnasium.make_vec(
        env_id,
        len(seeds),
        "vector_entry_point",
        autoreset_mode=AutoresetMode.SAME_STEP,
        split="test",
        level=level,
        observation="elements",
    )
    seen, _ = env.reset(seed=list(seeds))
    won, over = np.zeros(len(seeds), np.bool_), np.zeros(len(seeds), np.bool_)
    for _ in range(STEPS):
        actions, _ = agent.predict(seen, deterministic=True)
        seen, _, terminated, truncated, info = env.step(actions)
        ended = (terminated | truncated) & ~over
        won[ended] = np.asarray(info["success"])[ended]
        over |= ended
        if over.all():
            break
    env.close()
    return float(won.mean())


def spearman(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Rank correlation, equal values sharing their mean rank; 0 where one side is all alike.

    >>> spearman([1, 2, 3], [10, 20, 15])
    0.5
    """
    one, other = (_ranks(np.asarray(values, np.float64)) for values in (a, b))
    if min(one.std(), other.std()) == 0:
        return 0.0
    return round(float(np.corrcoef(one, other)[0, 1]), 12)


def _ranks(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    below = (values[:, None] > values).sum(1)
    ranks: npt.NDArray[np.float64] = below + ((values[:, None] == values).sum(1) - 1) / 2
    return ranks


def run(seed: int, method: str, held_out: Sequence[Trajectory], given: argparse.Namespace) -> dict[str, Any]:
    """One seed of one method, which begins from the seed's clone: numbers at each checkpoint."""
    started = time.process_time()
    data = demonstrations(given.env, "train", seeds_of(TRAINING, seed, given.demonstrations), given.level)
    problems = seeds_of(ONLINE, 0, given.episodes)
    base, warm = begun(seed, data, given)

    def numbers(agent: Any, updates: int) -> dict[str, float]:
        sop = semi_online_performance(agent, held_out)
        return {
            "updates": updates,
            "online": online_success(agent, given.env, problems, given.level),
            "steps": step_accuracy(agent, held_out),
            "progress": sop.progress,
            "complete": sop.success,
            "sop": sop.score,
        }

    found = [numbers(base, warm)]
    marks = np.linspace(warm, given.updates, given.checkpoints + 1).round().astype(int).tolist()
    agent = continued(base, method, chosen_rates(given.out).get(method), seed, data, given)
    for before, after in zip(marks, marks[1:], strict=False):
        agent.improve(agent.pool(), after - before, offline=True)
        found.append(numbers(agent, after))
    return {
        **{"seed": seed, "demonstrations": len(data), "recorded_steps": sum(map(len, data))},
        "cpu_seconds": round(time.process_time() - started),
        "commit": commit(),
        "methods": {method: found},
    }


def begun(seed: int, data: Sequence[Trajectory], given: argparse.Namespace) -> tuple[Any, int]:
    """The clone of a seed, and how many updates it had."""
    torch.set_num_threads(1)
    warm = round(given.updates * given.warm_start)
    base = _agent("phone-bc", {}, seed, data, given)
    base.improve(base.pool(), warm, offline=True)
    return base, warm


def continued(
    base: Any, method: str, rate: float | None, seed: int, data: Sequence[Trajectory], given: argparse.Namespace
) -> Any:
    """An agent of this method, with the clone's weights and moments; None is the method's default learning rate."""
    name, settings = METHODS[method]
    agent = _agent(name, settings if rate is None else {**settings, "learning_rate": rate}, seed, data, given)
    agent.policy.load_state_dict(base.policy.state_dict())
    agent.policy.optimizer.load_state_dict(base.policy.optimizer.state_dict())
    return agent


def tried(seed: int, given: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Online success on tuning problems after all updates, of each method at each rate, from one clone."""
    data = demonstrations(given.env, "train", seeds_of(TRAINING, seed, given.demonstrations), given.level)
    problems = seeds_of(TUNING, 0, given.episodes)
    base, warm = begun(seed, data, given)
    found: dict[str, dict[str, float]] = {}
    for method in METHODS:
        for rate in given.rates:
            agent = continued(base, method, rate, seed, data, given)
            agent.improve(agent.pool(), given.updates - warm, offline=True)
            found.setdefault(method, {})[f"{rate:g}"] = online_success(agent, given.env, problems, given.level)
            print(f"seed {seed}, {method} at {rate:g}: {found[method][f'{rate:g}']:.3f}", flush=True)
    return found


def tune(given: argparse.Namespace) -> None:
    """Writes ``tuning.json``: success of each method at each rate and seed, and the rate of the best mean."""
    started = time.process_time()
    each = [tried(seed, given) for seed in given.tuning_seeds]
    online = {m: {r: [one[m][r] for one in each] for r in rates} for m, rates in each[0].items()}
    chosen = {m: float(max(rates, key=lambda r: np.mean(rates[r]))) for m, rates in online.items()}
    given.out.mkdir(parents=True, exist_ok=True)
    record = {"seeds": given.tuning_seeds, "online": online, "chosen": chosen, "command": command(given)}
    record |= {"commit": commit(), "hardware": hardware(), "cpu_seconds": round(time.process_time() - started)}
    (given.out / "tuning.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"chosen: {chosen}")


def chosen_rates(folder: Path) -> dict[str, float]:
    """Learning rates by method of ``tuning.json``; none without it."""
    path = folder / "tuning.json"
    return dict(json.loads(path.read_text())["chosen"]) if path.exists() else {}


def command(given: argparse.Namespace) -> str:
    """What was typed, without where it was written and how many processes did it."""
    asked = {name: value for name, value in vars(given).items() if name not in ("out", "processes")}
    defaults = vars(parser().parse_args([]))
    words = ["python benchmarks/studies/recorded_steps.py"]
    for name, value in asked.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value != defaults[name] or (name == "seeds" and not given.tune):
            words.append(f"{option} {' '.join(f'{v:g}' for v in value) if isinstance(value, list) else value}")
    return " ".join(words)


def joined(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The methods of one seed together."""
    methods = {name: points for part in parts for name, points in part["methods"].items()}
    return {**parts[0], "cpu_seconds": sum(part["cpu_seconds"] for part in parts), "methods": methods}


def _agent(
    name: str, settings: dict[str, Any], seed: int, data: Sequence[Trajectory], given: argparse.Namespace
) -> Any:
    room = max(20_000, 2 * sum(map(len, data)))
    agent: Any = make(name, given.env, seed=seed, n_envs=1, device="cpu", buffer_size=room, **settings)
    return agent.learn_offline(data, 0)


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Means over seeds with Student's intervals: numbers at the end, paired differences, correlations."""

    def interval(values: Sequence[float]) -> list[float]:
        if len(values) < 3:  # too few for an interval
            return [float(np.mean(values))]
        made = student_interval(values)
        return [made.estimate, made.low, made.high]

    def last(one: dict[str, Any], method: str, number: str) -> float:
        return float(one["methods"][method][-1][number])

    names = list(runs[0]["methods"])
    at_end = {m: {n: interval([last(one, m, n) for one in runs]) for n in NUMBERS} for m in names}
    gains = {
        f"{a} - {b}": interval([last(one, a, "online") - last(one, b, "online") for one in runs])
        for a, b in (
            *((method, "phone-bc") for method in names[1:]),
            ("ui-s1", "ui-r1"),
            ("ui-s1", "ui-s1, no patches"),
        )
    }
    rates = {n: [correlation(one, n) for one in runs] for n in ("steps", "sop")}
    ranks = {n: interval(values) for n, values in rates.items()}
    ranks["sop - steps"] = interval([a - b for a, b in zip(rates["sop"], rates["steps"], strict=True)])
    return {"at_end": at_end, "gains": gains, "ranks": ranks}


def correlation(one: dict[str, Any], number: str) -> float:
    """Spearman's, of a number with online success, over the checkpoints of a seed; the common beginning counts once."""
    points = [point for i, kept in enumerate(one["methods"].values()) for point in (kept if i == 0 else kept[1:])]
    return spearman([point[number] for point in points], [point["online"] for point in points])


def parser() -> argparse.ArgumentParser:
    """Options."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--env", default="tiltyard/Phone-v1")
    made.add_argument("--level", type=int, default=1)
    made.add_argument("--seeds", type=int, default=5)
    made.add_argument("--demonstrations", type=int, default=400, help="a seed")
    made.add_argument("--updates", type=int, default=600, help="of each agent, those of the clone included")
    made.add_argument("--warm-start", type=float, default=0.5, help="share of the updates that are the clone's")
    made.add_argument("--checkpoints", type=int, default=4, help="after the clone")
    made.add_argument("--episodes", type=int, default=200, help="held-out problems played online at a checkpoint")
    made.add_argument("--recorded", type=int, default=100, help="held-out recorded episodes")
    made.add_argument("--processes", type=int, default=1, help="methods and seeds at a time")
    made.add_argument("--tune", action="store_true", help="choose a learning rate for each method first")
    made.add_argument("--rates", type=float, nargs="+", default=list(RATES), help="that --tune tries")
    made.add_argument("--tuning-seeds", type=int, nargs="+", default=list(TUNING_SEEDS))
    made.add_argument("--out", type=Path, default=FOLDER)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the seeds that are not there yet, each stored when it ends, and writes the page."""
    given = parser().parse_args(arguments)
    if given.tune:
        tune(given)
        return
    torch.set_num_threads(1)
    begun = time.process_time()
    held_out = demonstrations(given.env, "test", seeds_of(RECORDED, 0, given.recorded), given.level)
    given.out.mkdir(parents=True, exist_ok=True)
    paths = {seed: given.out / f"seed-{seed}.json" for seed in range(given.seeds)}
    missing = [seed for seed, path in paths.items() if not path.exists()]
    jobs = [(seed, method) for seed in missing for method in METHODS]
    one = partial(run, held_out=held_out, given=given)
    with ProcessPoolExecutor(given.processes, get_context("spawn")) if given.processes > 1 else nullcontext() as pool:
        parts = iter((pool.map if pool else map)(one, *zip(*jobs, strict=True)) if jobs else ())
        for seed in missing:
            made = joined([next(parts) for _ in METHODS])
            paths[seed].write_text(json.dumps(made, indent=1) + "\n")
            print(f"seed {seed}: {made['cpu_seconds']} s of processor time", flush=True)
    runs = [json.loads(path.read_text()) for path in paths.values()]
    found = {
        "command": command(given),
        "asked": {name: value for name, value in vars(given).items() if name not in ("out", "processes")},
        "tuning": json.loads(tuned.read_text()) if (tuned := given.out / "tuning.json").exists() else None,
        "held_out_episodes": len(held_out),
        **summary(runs),
        **{"versions": versions(), "hardware": hardware()},
        "commit": ", ".join(sorted({one["commit"] for one in runs})),
        "cpu_seconds": round(time.process_time() - begun) + sum(one["cpu_seconds"] for one in runs),
    }
    (given.out / "summary.json").write_text(json.dumps(found, indent=1) + "\n")
    (given.out / "README.md").write_text(page(found))
    print(page(found))


def page(found: dict[str, Any]) -> str:
    """The numbers as a page."""
    return render("recorded_steps.md.jinja", **found)


if __name__ == "__main__":
    main()
