"""Does a policy make others brake less when its reward charges it? Imposed braking a km with courtesy and without.

    python benchmarks/studies/courtesy.py scripted --out docs/results/courtesy
    python benchmarks/studies/courtesy.py run --courtesy 1 --seed 0 --out docs/results/courtesy
    python benchmarks/studies/courtesy.py report --out docs/results/courtesy

A run is one PPO by manoeuvres (which may change lane) in ``tiltyard/Intersection-v0`` among dense traffic, with the
factor ``courtesy`` of the reward (weight 1) or without it (weight 0); everything else is equal, success included, which
braking over 4 m/s2 imposed on others costs in either arm. What counts is the sum of braking over 2 m/s2 that held-out
episodes imposed on those behind, in m/s2 times s a km. ``scripted`` says what the expert and random manoeuvres impose.
"""

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from scipy.stats import t as student

from tiltyard.benchmarks.permutation import permutation_p
from tiltyard.benchmarks.studies._driving_study import expert, rides, summary, trained
from tiltyard.benchmarks.studies._study import Table, once, said, stored, write_page

ENV = "tiltyard/Intersection-v0"
SCENE: dict[str, Any] = {"action": "discrete", "density": 24.0}
ENVS, ROLLOUT, STEPS, PROBLEMS = 64, 64, 1_000_000, 200
BRAKING = "imposed braking a km"
OUT = Path("docs/results/courtesy")


def run(courtesy: float, seed: int, steps: int, problems: int) -> dict[str, Any]:
    """Trains and scores one agent."""
    from tiltyard.agents import make

    env = gymnasium.make_vec(ENV, ENVS, vectorization_mode="vector_entry_point", courtesy=courtesy, **SCENE)
    agent: Any = make("ppo", env, seed=seed, device="cpu", n_steps=ROLLOUT, batch_size=1024, ent_coef=0.01)
    agent.learn(steps)
    return {"courtesy": courtesy, "seed": seed, "found": summary(rides(ENV, problems, trained(agent), **SCENE))}


def scripted(problems: int) -> dict[str, Any]:
    """What the expert and random manoeuvres do."""
    rng = np.random.default_rng(0)

    def random(env: Any, seen: Any) -> Any:
        return rng.choice([0, 1, 2, 3, 3, 3, 4], problems)

    drivers = {"expert": expert, "random manoeuvres": random}
    return {"scripted": {name: summary(rides(ENV, problems, one, **SCENE)) for name, one in drivers.items()}}


COLUMNS = (BRAKING, "pushed a km", "score", "completion", "success")


def report(out: Path) -> None:
    """The page of all runs in ``out``."""
    everything = stored(out)
    arms = {weight: [one["found"] for one in everything if one.get("courtesy") == weight] for weight in (0.0, 1.0)}
    rows = [
        [f"{weight:g}", *(said([one[name] for one in mine]) for name in COLUMNS), str(len(mine))]
        for weight, mine in arms.items()
        if mine
    ]
    for one in everything:
        for name, found in one.get("scripted", {}).items():
            rows.append([name, *(f"{found[column]:.2f}" for column in COLUMNS), ""])
    write_page(
        out,
        everything,
        title="Courtesy",
        command="python benchmarks/studies/courtesy.py report",
        words=f"PPO in {ENV}, 24 vehicles a km of lane, {PROBLEMS} held-out problems unless told otherwise.",
        tables=[Table("Means and 95% intervals over seeds.", ["weight of courtesy", *COLUMNS, "seeds"], rows)],
        found=verdict([[one[BRAKING] for one in arms[weight]] for weight in (0.0, 1.0)]),
    )


def verdict(found: list[list[float]]) -> str:
    """Whether courtesy lowers imposed braking, by an exact permutation test of the arms' means."""
    without, charged = found
    if min(len(without), len(charged)) < 4:
        return "Too few seeds for a verdict."
    p, difference = permutation_p(charged, without), np.mean(charged) - np.mean(without)
    error = np.sqrt(np.var(charged, ddof=1) / len(charged) + np.var(without, ddof=1) / len(without))
    reach = student.ppf(0.975, min(len(charged), len(without)) - 1) * error  # the smaller arm's degrees: cautious
    shown = "less" if difference < 0 else "more"
    told = f"The charged impose {shown} braking" if p < 0.05 else "No significant difference in the braking imposed"
    return (
        f"{told}: charged minus not charged {difference:.2f} [{difference - reach:.2f}, {difference + reach:.2f}] "
        f"m/s a km, two-sided permutation test, p = {p:.3f}."
    )


def main() -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["scripted", "run", "report"])
    parser.add_argument("--courtesy", type=float, choices=(0.0, 1.0), default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--problems", type=int, default=PROBLEMS)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    settings = {"steps": asked.steps, "problems": asked.problems}
    if asked.what == "report":
        report(asked.out)
    elif asked.what == "scripted":
        work = once(asked.out, "scripted", {"problems": asked.problems}, lambda: scripted(asked.problems))
        print(work["scripted"])
    else:
        name = f"courtesy-{asked.courtesy:g}-{asked.seed}"
        arguments = (asked.courtesy, asked.seed, asked.steps, asked.problems)
        print(once(asked.out, name, settings, lambda: run(*arguments))["found"])


if __name__ == "__main__":
    main()
