"""A maze with a reward at the goal alone, from play: cloning, offline agents, the same online after it, RLPD and SAC.

Play is the scripted expert that follows goals of its own, in episodes of 40 steps from anywhere to anywhere; the task
begins at least seven tenths of the longest path from its goal, of which random pushing reaches one in 200.
"""

from typing import Any

from .suite import Comparison, Entry, Suite, Task

_MAZE = "tiltyard/PointMaze-v0"
_DATA = "tiltyard/d5rl/point-umaze-play-v0"
_UPDATES, _STEPS = 10_000, 10_000
_SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [64, 64]}, "batch_size": 128}  # SERL's, for everyone
_OWN: dict[str, dict[str, Any]] = {
    "iql": {"cosine_schedule": False},
    "sac": {"ent_coef": "auto_0.01", "target_entropy": -1.0},  # SERL's as well
}


def _entry(agent: str, rate: float, seconds: float, *, updates: int = 0, steps: int = 0) -> Entry:
    params = {**_SMALL, **_OWN.get(agent, {}), "learning_rate": rate, **({"offline_steps": updates} if updates else {})}
    when = "offline, then online" if updates and steps else "offline" if updates else "online"
    return Entry(agent, steps, seconds, params, f"{agent} {when}")


MAZE = Suite(
    "maze-v1",
    "A ball in a maze from play, with a reward at the goal alone: offline, offline to online, and online",
    tasks=(
        Task(
            _MAZE,
            (
                _entry("bc", 1e-4, 30, updates=_UPDATES),
                _entry("td3-bc", 3e-4, 45, updates=_UPDATES),
                _entry("awac", 1e-4, 50, updates=_UPDATES),
                _entry("iql", 3e-3, 50, updates=_UPDATES),
            ),
            eval_points=10,
            dataset=_DATA,
        ),
        Task(
            _MAZE,
            (
                _entry("awac", 3e-5, 85, updates=_UPDATES, steps=_STEPS),
                _entry("iql", 1e-4, 85, updates=_UPDATES, steps=_STEPS),
                _entry("cal-ql", 1e-5, 220, updates=_UPDATES, steps=_STEPS),
                Entry("serl", _STEPS, 180, {"learning_rate": 3e-3}, "serl online with the data"),
            ),
            eval_points=10,
            dataset=_DATA,
        ),
        Task(_MAZE, (_entry("sac", 1e-4, 45, steps=_STEPS),), eval_points=10),
    ),
    seeds=tuple(range(6)),
    comparisons=(
        Comparison(
            "From play",
            (_MAZE,),
            "iql offline, then online",
            across=True,
            remark="All have two layers of 64 and batches of 128, and all but RLPD (SERL) one update a step online; "
            "RLPD has its four, with half of each batch from the data, and no update before its first step. "
            f"Offline training has {_UPDATES:,} updates, online training {_STEPS:,} steps. Everything else is the "
            "agents' own for mazes; IQL's learning rate is constant. Learning rates are those that tuning chose "
            "(maze-v1-tuning), eight rates by three seeds for each condition. The maze, the data and these budgets "
            "were chosen after one run of cloning in the medium maze and one of IQL in this one, with a tuning seed.",
        ),
    ),
    score="last-five",
)
