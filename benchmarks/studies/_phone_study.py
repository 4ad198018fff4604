"""What studies of agents on Phone-v1 share: recorded solutions, held-out problems, and verdicts in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from tiltyard.agents.control.trajectories import Trajectory
from tiltyard.benchmarks.datasets.record import record
from tiltyard.benchmarks.evaluation import REPORTED_EVALUATION
from tiltyard.benchmarks.studies._study import Table, said
from tiltyard.benchmarks.verdicts import Part, Sample, judge, overall
from tiltyard.wrappers import VectorHybridReward

ENV = "tiltyard/Phone-v1"
APPS = ("settings", "clock", "music", "notes", "maps")
"""Those of the suite gui-v1."""
BASE: dict[str, Any] = {"base": "phone-v1-base"}


def solutions(split: str, level: int, seeds: Sequence[int]) -> list[Trajectory]:
    """The scripted expert's episodes on these problems, where numbers can say what it does and it succeeds."""
    env_kwargs = {"split": split, "level": level, "apps": list(APPS), "observation": "elements"}
    made = record(ENV, "noisy-expert", seeds, env_kwargs=env_kwargs)
    found = [
        Trajectory(dict(one.observations), one.actions, one.rewards, one.terminated, bool(one.infos["success"][-1]))
        for one in made
    ]
    return [one for one in found if one.success]


def played(agent: Any, level: int, problems: int) -> dict[str, float]:
    """Likeliest actions on as many test problems: the share solved, and the mean share of what is wanted at the end."""
    made: Any = gymnasium.make_vec(
        ENV, problems, "vector_entry_point", split="test", level=level, apps=list(APPS), observation="elements"
    )
    env = VectorHybridReward(made)
    seen, _ = env.reset(seed=[REPORTED_EVALUATION + i for i in range(problems)])
    actions, going = np.zeros((problems, 5), np.int64), np.ones(problems, np.bool_)
    solved, progress = np.zeros(problems), np.zeros(problems)
    while going.any():
        active = np.flatnonzero(going)
        actions[active], _ = agent.predict({name: part[active] for name, part in seen.items()}, deterministic=True)
        seen, _, terminated, truncated, info = env.step(actions)
        ended = going & (terminated | truncated)
        if ended.any():
            solved[ended] = info["final_info"]["success"][ended]
            progress[ended] = info["final_info"]["progress"][ended]
            going &= ~ended
    env.close()
    return {"success": float(solved.mean()), "progress": float(progress.mean())}


def differences(runs: Sequence[Mapping[str, Any]], condition: str, other: str, number: str) -> tuple[float, ...]:
    """``condition - other`` of a number, a value for each seed that both have, by seed."""
    found = {
        name: {one["seed"]: float(one["found"][number]) for one in runs if one.get("condition") == name}
        for name in (condition, other)
    }
    return tuple(found[condition][seed] - found[other][seed] for seed in sorted(found[condition].keys() & found[other]))


def tables(everything: Sequence[Mapping[str, Any]], numbers: Sequence[str]) -> list[Table]:
    """A row a condition with these numbers, and what the premise told before the first run."""
    runs = [one for one in everything if "condition" in one]
    rows = []
    for name in dict.fromkeys(one["condition"] for one in runs):
        mine = [one["found"] for one in runs if one["condition"] == name]
        rows.append([name, *(said([one[key] for one in mine], 3) for key in numbers), str(len(mine))])
    made = [Table("Means and 95% Student intervals over seeds.", ["condition", *numbers, "seeds"], rows)]
    for one in everything:
        if "premise" in one:
            lines = [[name, f"{value:.3g}"] for name, value in one["premise"].items()]
            made.append(Table("Before any run (`premise`).", ["number", "value"], lines))
    return made


def verdict(parts: Mapping[str, tuple[tuple[float, ...], bool]], margin: float) -> str:
    """The verdict on a claim whose parts (values a seed, and whether the claim rests on it) should lie above 0."""
    if any(len(values) < 3 for values, _ in parts.values()):
        return "Too few seeds for a verdict."
    judged = judge(
        {name: Part(Sample.of(values), values, margin=margin, decides=decides)
         for name, (values, decides) in parts.items()}
    )  # fmt: skip
    return "\n".join([f"Verdict: **{overall(judged)}**.", "", *(f"- {one}" for one in judged.values())])
