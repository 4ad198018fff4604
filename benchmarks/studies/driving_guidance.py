"""Does the advice of a slow teacher, wrong now and then, save samples? Found-RL's two losses beside SAC.

    python benchmarks/studies/driving_guidance.py run --arm both --seed 0 --out docs/results/driving-guidance
    python benchmarks/studies/driving_guidance.py report --out docs/results/driving-guidance

A run is one agent in ``tiltyard/Intersection-v0``: ``sac``; ``found-rl`` with value-margin regularisation alone
(``margin``), with advantage-weighted guidance alone (``guidance``), or with ``both``. The teacher is the scene's
expert, one second late, asked once a second, and wrong in three answers of ten. What counts is the area under the curve
of route completion on held-out problems; beside it how much of the advice the critics took to be better than the agent.
"""

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from tiltyard.benchmarks.studies._driving_study import rides, summary, trained
from tiltyard.benchmarks.studies._study import Table, interval, once, said, stored, write_page

ENV = "tiltyard/Intersection-v0"
TEACHER: dict[str, Any] = {"delay": 5, "ask_every": 5, "teacher_accuracy": 0.7}
ARMS: dict[str, tuple[str, dict[str, Any]]] = {
    "sac": ("sac", {}),
    "margin": ("found-rl", {**TEACHER, "guidance_weight": 0.0}),
    "guidance": ("found-rl", {**TEACHER, "margin_weight": 0.0}),
    "both": ("found-rl", TEACHER),
}
ENVS, STEPS, MOMENTS, PROBLEMS = 16, 200_000, 8, 100
OUT = Path("docs/results/driving-guidance")


def run(arm: str, seed: int, steps: int, problems: int) -> dict[str, Any]:
    """Trains one agent, and scores it at each moment."""
    from tiltyard.agents import make

    name, settings = ARMS[arm]
    env = gymnasium.make_vec(ENV, ENVS, vectorization_mode="vector_entry_point")
    if name == "found-rl":
        settings = {
            **settings,
            "margin_kept": steps // 4,
            "margin_gone": 3 * steps // 4,
        }  # the authors': 50,000 and 150,000
    agent: Any = make(
        name, env, seed=seed, device="cpu", buffer_size=steps + 1000, learning_starts=2000, gradient_steps=4, **settings
    )
    curve = []
    for moment in range(1, MOMENTS + 1):
        agent.learn(steps // MOMENTS, reset_num_timesteps=False)
        found = summary(rides(ENV, problems if moment == MOMENTS else max(problems // 4, 1), trained(agent)))
        curve.append({"steps": agent.num_timesteps, **found})
    told = {key: float(value) for key, value in agent.logger.name_to_value.items() if "advice" in key}
    return {"arm": arm, "seed": seed, "curve": curve, **told}


def area(one: dict[str, Any]) -> float:
    """Mean route completion over the moments."""
    return float(np.mean([point["completion"] for point in one["curve"]]))


def report(out: Path) -> None:
    """The page of all runs in ``out``."""
    runs = stored(out)
    arms = {arm: {one["seed"]: one for one in runs if one["arm"] == arm} for arm in ARMS}
    rows, leads = [], []
    for arm, mine in arms.items():
        if mine:
            ends = [one["curve"][-1] for one in mine.values()]
            cells = [said([area(one) for one in mine.values()])]
            cells += [said([end[name] for end in ends]) for name in ("completion", "success", "collisions")]
            rows.append([arm, *cells, str(len(mine))])
        both = sorted(mine.keys() & arms["sac"].keys())
        if arm != "sac" and len(both) >= 3:
            mean, low, high = interval([area(mine[seed]) - area(arms["sac"][seed]) for seed in both])
            leads.append(f"{arm} {mean:+.3f} [{low:+.3f}, {high:+.3f}]")
    write_page(
        out,
        runs,
        title="A slow teacher that is wrong now and then",
        command="python benchmarks/studies/driving_guidance.py report",
        words=f"{ENV}, {ENVS} environments. The teacher: {TEACHER['delay']} steps late, right in "
        f"{TEACHER['teacher_accuracy']:.0%} of its answers. Means and 95% intervals over seeds.",
        tables=[Table("By arm.", ["arm", "area", "completion at the end", "success", "collisions", "seeds"], rows)],
        found=f"Area minus SAC's, seed by seed: {', '.join(leads)}." if leads else "Too few seeds for a verdict.",
    )


def main() -> None:
    """One step of the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "report"])
    parser.add_argument("--arm", choices=list(ARMS), default="both")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--problems", type=int, default=PROBLEMS)
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args()
    if asked.what == "report":
        report(asked.out)
    else:
        settings = {"steps": asked.steps, "problems": asked.problems}
        arguments = (asked.arm, asked.seed, asked.steps, asked.problems)
        print(once(asked.out, f"{asked.arm}-{asked.seed}", settings, lambda: run(*arguments))["curve"][-1])


if __name__ == "__main__":
    main()
