"""Errors of a trained evaluator, and what errors cost: python benchmarks/studies/evaluator_noise.py [model race].

DigiRL learns from outcomes that a model reads off the last screens. On ``tiltyard/Phone-v1`` at level 1:

* ``model``: an :class:`~tiltyard.agents.control.outcome_model.OutcomeModel` is trained on more and more labelled
  episodes, and its false positives and false negatives are counted on held-out problems, half of them successes. The
  episodes are those of a hasty expert: some of its actions are random, and at any step it may say ``done`` too early.
* ``race``: DigiRL and filtered cloning, begun with one cloned policy a seed, learn online for equally many steps from
  outcomes that are flipped with a probability, failures and successes alike. They are evaluated by the truth, on
  held-out problems.

``docs/results/evaluator-noise/`` receives the numbers and a page with the command.
"""

import argparse
import json
import shlex
import time
from itertools import product
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tiltyard.agents.control.trajectories import Running, Trajectory
from tiltyard.benchmarks.pages import render

TASK, LEVEL = "tiltyard/Phone-v1", 1
PARTS = ("model", "race")
LEARNERS = ("digirl", "filtered-cloning")
RATES = (0.0, 0.1, 0.2, 0.3)
SIZES: dict[str, Any] = {
    "train": [60, 120, 240, 480],  # episodes
    "held_out": 100,  # of successes, and as many failures
    "updates": 100,
    "noise": 0.1,  # of the hasty expert's actions
    "haste": 0.12,  # probability of done at a step
    "demonstrations": 300,
    "clone": 400,  # updates
    "steps": 8000,
    "episodes": 200,  # of an evaluation
    "n_envs": 16,
}
TINY = SIZES | {"train": [20, 40], "held_out": 10, "updates": 4, "demonstrations": 8, "clone": 2, "steps": 60}
TINY |= {"episodes": 4, "n_envs": 4}
SETTINGS: dict[str, Any] = {"policy_kwargs": {"width": 64, "layers": 2}, "batch_size": 64}
HELD_OUT_FROM = 3_000_000  # seeds of held-out episodes
OUT = Path(__file__).parents[2] / "docs" / "results" / "evaluator-noise"


def hasty(n: int, seed: int, sizes: dict[str, Any], *, split: str, haste: float | None = None) -> list[Trajectory]:
    """``n`` episodes or a few more of the noisy expert, who may say ``done`` at any step, on problems of a split."""
    from tiltyard.envs.gui.baselines import NoisyExpert
    from tiltyard.envs.gui.elements import DONE

    keywords: dict[str, Any] = {"observation": "elements", "level": LEVEL, "split": split, "max_episode_steps": 40}
    env: Any = gymnasium.make_vec(TASK, sizes["n_envs"], "vector_entry_point", **keywords)
    expert, rng = NoisyExpert(env.unwrapped.batched, sizes["noise"], seed), np.random.default_rng([seed, 1])
    haste = sizes["haste"] if haste is None else haste
    seen, _ = env.reset(seed=seed)
    running, found = [Running(_one(seen, i)) for i in range(env.num_envs)], list[Trajectory]()
    while len(found) < n:
        actions = expert.act(seen, np.zeros(env.num_envs, np.bool_))
        actions[rng.random(env.num_envs) < haste] = [DONE, 0, 0, 0, 0]
        seen, rewards, terminated, truncated, info = env.step(actions)
        for i in range(env.num_envs):
            over = terminated[i] or truncated[i]
            running[i].add(actions[i], rewards[i], info["final_obs"][i] if over else _one(seen, i))
            if over:
                won = bool(info["final_info"]["success"][i])
                found.append(running[i].ended(terminated=bool(terminated[i]), success=won))
                running[i] = Running(_one(seen, i))
    env.close()
    return found


def _one(seen: Any, index: int) -> dict[str, Any]:
    return {name: part[index].copy() for name, part in seen.items()}


def halves(n: int, seed: int, sizes: dict[str, Any], *, split: str) -> list[Trajectory]:
    """``n`` successes and ``n`` failures of the hasty expert, in turn."""
    kinds: dict[bool, list[Trajectory]] = {True: [], False: []}
    while min(map(len, kinds.values())) < n:
        for one in hasty(n, seed, sizes, split=split):
            kinds[one.success].append(one)
        seed += sizes["n_envs"]
    return [one for pair in zip(kinds[True][:n], kinds[False][:n], strict=True) for one in pair]


def models(seed: int, sizes: dict[str, Any]) -> list[dict[str, Any]]:
    """Errors of an outcome model, for each number of episodes that it is trained on."""
    from tiltyard.agents.control.outcome_model import OutcomeModel

    held_out = halves(sizes["held_out"], HELD_OUT_FROM, sizes, split="test")
    train = halves(max(sizes["train"]) // 2, 1000 * seed, sizes, split="train")
    rows = []
    for n in sizes["train"]:
        start = time.process_time()
        model = OutcomeModel(seed=seed)
        loss = model.fit(train[:n], sizes["updates"])
        found = model.error(held_out)
        rates = {name: vars(getattr(found, name)) for name in ("false_positive", "false_negative")}
        seconds = round(time.process_time() - start, 1)
        rows.append({"seed": seed, "train": n, "loss": loss, **rates, "cpu_seconds": seconds})
    return rows


def learner(name: str, seed: int, rate: float, sizes: dict[str, Any]) -> Any:
    """An agent whose evaluator errs at a rate."""
    from tiltyard.agents import make

    evaluator = {"false_positive": rate, "false_negative": rate} if rate else None
    made = {"env_kwargs": {"level": LEVEL}, "n_envs": sizes["n_envs"], "seed": seed, "device": "cpu"}
    return make(name, TASK, **made, **SETTINGS, evaluator=evaluator)


def success(agent: Any, sizes: dict[str, Any]) -> float:
    """By the truth, on held-out problems."""
    from tiltyard.benchmarks.evaluation import evaluate

    return evaluate(agent, TASK, episodes=sizes["episodes"], level=LEVEL).success_rate


def begun(seed: int, sizes: dict[str, Any]) -> tuple[Any, float]:
    """Parameters of the policy that all learners of a seed begin with, and its success."""
    agent = learner("phone-bc", seed, 0.0, sizes)
    agent.clone(hasty(sizes["demonstrations"], 1000 * seed, sizes, split="train", haste=0.0), sizes["clone"])
    return agent.get_parameters()["policy"], success(agent, sizes)


def run(name: str, seed: int, rate: float, policy: Any, sizes: dict[str, Any]) -> dict[str, Any]:
    """One learner from the policy given."""
    start = time.process_time()
    agent = learner(name, seed, rate, sizes)
    agent.policy.load_state_dict(policy)
    agent.learn(sizes["steps"], log_interval=None)
    ended = {"learner": name, "rate": rate, "seed": seed, "success": success(agent, sizes)}
    return ended | {"cpu_seconds": round(time.process_time() - start, 1)}


def race(seeds: list[int], sizes: dict[str, Any], kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every learner at every rate, seed by seed; those that are kept are not run again."""
    done = {(one["learner"], one["rate"], one["seed"]) for one in kept}
    for seed in seeds:
        pending = [(name, rate) for name, rate in product(LEARNERS, RATES) if (name, rate, seed) not in done]
        if not pending:
            continue
        start = time.process_time()
        policy, before = begun(seed, sizes)
        if ("start", 0.0, seed) not in done:
            cost = round(time.process_time() - start, 1)
            first = {"learner": "start", "rate": 0.0, "seed": seed, "success": before, "cpu_seconds": cost}
            kept = [*kept, first]
        for name, rate in pending:
            kept = [*kept, run(name, seed, rate, policy, sizes)]
            print(json.dumps(kept[-1]), flush=True)
    return kept


def summary(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mean success with 95% bootstrap intervals over seeds, and what is lost to errors, seed by seed."""
    from tiltyard.benchmarks.statistics import bootstrap_interval, mean

    found = {(one["learner"], one["rate"], one["seed"]): one["success"] for one in runs}
    rows = []
    for name, rate in [("start", 0.0), *product(LEARNERS, RATES)]:
        seeds = sorted(seed for learner, other, seed in found if (learner, other) == (name, rate))
        if not seeds:
            continue
        ends = np.array([found[name, rate, seed] for seed in seeds])
        paired = [(found[name, rate, seed], found.get((name, 0.0, seed))) for seed in seeds]
        lost = np.array([other - own for own, other in paired if other is not None])

        def interval(values: Any) -> list[float]:
            if len(values) < 3:  # fewer seeds have no interval
                return [float(np.mean(values))] if len(values) else []
            one = bootstrap_interval(values[:, None], mean, rng=np.random.default_rng(0))
            return [one.estimate, one.low, one.high]

        rows.append({"learner": name, "rate": rate, "seeds": seeds, "success": interval(ends), "lost": interval(lost)})
    return rows


def stored(sizes: dict[str, Any], out: Path) -> dict[str, list[dict[str, Any]]]:
    """What ``results.json`` holds, if it is of the same settings and versions."""
    from tiltyard.benchmarks.provenance import versions

    if (out / "results.json").is_file():
        found = json.loads((out / "results.json").read_text())
        if (found["sizes"], found["settings"], found["versions"]) == (sizes, SETTINGS, versions()):
            return {part: found[part] for part in PARTS}
    return {part: [] for part in PARTS}


def write(result: dict[str, list[dict[str, Any]]], sizes: dict[str, Any], out: Path) -> None:
    """Numbers and page."""
    from tiltyard.benchmarks.provenance import commit, hardware, versions

    seeds = sorted({one["seed"] for one in result["race"] or result["model"]})
    done = [part for part in PARTS if result[part]]
    command = ["python", "benchmarks/studies/evaluator_noise.py", *done, "--seeds", *map(str, seeds)]
    whole: dict[str, Any] = {
        "command": shlex.join(command),
        "commit": commit(),
        "hardware": hardware(),
        "versions": versions(),
        "settings": SETTINGS,
        "sizes": sizes,
        "summary": summary(result["race"]),
        **result,
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(whole, indent=1) + "\n")
    (out / "README.md").write_text(page(whole))


def page(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    minutes = sum(one["cpu_seconds"] for part in PARTS for one in result[part]) / 60
    return render("evaluator_noise.md.jinja", **result, task=TASK, level=LEVEL, minutes=minutes)


def main() -> None:
    """Runs the parts that are asked for and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--tiny", action="store_true", help="sizes that say nothing, to see whether all of it runs")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    sizes = TINY if args.tiny else SIZES
    result = stored(sizes, args.out)
    if "model" in args.parts:
        for seed in sorted(set(args.seeds) - {one["seed"] for one in result["model"]}):
            result["model"] += models(seed, sizes)
            write(result, sizes, args.out)
    if "race" in args.parts:
        for seed in args.seeds:
            result["race"] = race([seed], sizes, result["race"])
            write(result, sizes, args.out)
    print((args.out / "README.md").read_text())


if __name__ == "__main__":
    main()
