"""Methods of language agents, everything else equal: the same bases, answers, rate of learning and evaluations."""

from ...agents.objectives.catalogue import ROWS
from .suite import Comparison, Entry, Suite, Task

METHODS = tuple(row.handle for row in ROWS)

# GRPO's KL penalty is off, as its row for agents has it; other methods have the parameters of their papers.
# 32 problems with 8 answers each are four gradient steps of 64 answers, the last three on answers of an older policy:
# what methods say of that is part of them.
_EQUAL = {"batch_size": 64}
_BASE = Entry("grpo", 256, 6, {"method": "grpo", **_EQUAL, "learning_rate": 0.0})  # what all begin from
_OWN = {"spo": {"group_size": 1, "prompts_per_batch": 256}}  # as many answers, each to a problem of its own


def _all(env: str, answers: int, seconds: float) -> Task:
    entries = tuple(
        Entry("grpo", answers, seconds, {"method": method, **_EQUAL, **_OWN.get(method, {})}) for method in METHODS
    )
    return Task(f"tiltyard/{env}-v0", (*entries, _BASE), eval_episodes=256, eval_points=3, eval_sampled=True)


_TASKS = (
    _all("ChainSum", 8_192, 23),
    _all("Maze", 6_144, 18),
    _all("KnightsKnaves", 4_096, 24),
    _all("Countdown", 5_120, 37),
)

TEXT = Suite(
    "text-v1",
    f"{len(METHODS)} methods of language agents on four text tasks, all else equal: about six core hours",
    tasks=_TASKS,
    seeds=(0, 1, 2, 3, 4),
    comparisons=(
        Comparison(
            "All methods",
            tuple(task.env_id for task in _TASKS),
            "grpo",
            remark="`grpo, learning_rate=0.0` learns nothing: it is the base checkpoint that all others begin from.",
        ),
    ),
)
