"""Errors of a trained evaluator: python benchmarks/studies/evaluator_noise.py [--seeds 0 1 2].

On ``tiltyard/Phone-v1`` at level 1 an :class:`~tiltyard.agents.control.outcome_model.OutcomeModel`, which reads
outcomes off the last screens, is trained on more and more labelled episodes, and its false positives and false
negatives are counted on held-out problems, half of them successes. The episodes are those of a hasty expert: some of
its actions are random, and at any step it may say ``done`` too early. What errors cost a learner is in the suite
gui-ablations-v1.

``docs/results/evaluator-noise/`` receives the numbers and a page with the command.
"""

import argparse
import json
import shlex
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tiltyard.agents.control.trajectories import Running, Trajectory
from tiltyard.benchmarks.pages import render

TASK, LEVEL = "tiltyard/Phone-v1", 1
SIZES: dict[str, Any] = {
    "train": [60, 120, 240, 480],  # episodes
    "held_out": 100,  # of successes, and as many failures
    "updates": 100,
    "noise": 0.1,  # of the hasty expert's actions
    "haste": 0.12,  # probability of done at a step
    "n_envs": 16,
}
TINY = SIZES | {"train": [20, 40], "held_out": 10, "updates": 4, "n_envs": 4}
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


def stored(sizes: dict[str, Any], out: Path) -> list[dict[str, Any]]:
    """Rows of ``results.json``, if they are of the same sizes and versions."""
    from tiltyard.benchmarks.provenance import versions

    if (out / "results.json").is_file():
        found = json.loads((out / "results.json").read_text())
        if (found["sizes"], found["versions"]) == (sizes, versions()):
            return list(found["model"])
    return []


def write(rows: list[dict[str, Any]], sizes: dict[str, Any], out: Path) -> None:
    """Numbers and page."""
    from tiltyard.benchmarks.provenance import commit, hardware, versions

    seeds = sorted({one["seed"] for one in rows})
    command = shlex.join(["python", "benchmarks/studies/evaluator_noise.py", "--seeds", *map(str, seeds)])
    about = {"command": command, "commit": commit(), "hardware": hardware(), "versions": versions(), "sizes": sizes}
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps({**about, "model": rows}, indent=1) + "\n")
    (out / "README.md").write_text(page({**about, "model": rows}))


def page(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    minutes = sum(one["cpu_seconds"] for one in result["model"]) / 60
    return render("evaluator_noise.md.jinja", **result, task=TASK, level=LEVEL, minutes=minutes)


def main() -> None:
    """Trains and judges the models of the seeds that are not there yet, and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--tiny", action="store_true", help="sizes that say nothing, to see whether all of it runs")
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    sizes = TINY if args.tiny else SIZES
    rows = stored(sizes, args.out)
    for seed in sorted(set(args.seeds) - {one["seed"] for one in rows}):
        rows += models(seed, sizes)
        write(rows, sizes, args.out)
    print((args.out / "README.md").read_text())


if __name__ == "__main__":
    main()
