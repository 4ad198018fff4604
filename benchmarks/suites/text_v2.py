"""Methods of language agents in regimes where what sets them apart can act: text-v1 mostly raced one gradient.

Each regime is a suite of its own, of at most six conditions of which no two take nearly the same step there
(docs/results/gradient-gate): old completions, groups that mostly agree, problems that come back, rewards that err,
lengths under a cap.
"""

from typing import Any

from .suite import Comparison, Entry, Suite, Task

_SEEDS = tuple(range(12))
_EQUAL: dict[str, Any] = {"batch_size": 64}
_RATE = 2.5e-4


def _regime(name: str, summary: str, env: str, entries: tuple[Entry, ...], remark: str, **how: Any) -> Suite:
    """A suite of one task: scored by the area under the curve, paired by seed, compared with the first condition."""
    task = Task(f"tiltyard/{env}-v0", entries, eval_sampled=True, eval_group=8, **how)
    kwargs = ", ".join(f"{key}={value}" for key, value in sorted(task.env_kwargs.items()))
    where = f"{task.env_id} with {kwargs}" if kwargs else task.env_id
    compared = Comparison("All conditions", (where,), entries[0].agent, remark=remark)
    return Suite(name, summary, (task,), _SEEDS, comparisons=(compared,), score="area", paired=True)


def _entry(method: str, answers: int, seconds: float, rate: float = _RATE, **params: Any) -> Entry:
    return Entry(method, answers, seconds, {**_EQUAL, "learning_rate": rate, **params})


_STALE = ("grpo", "rloo", "gspo", "cispo", "topr", "kimi-k1-5")
TEXT_STALE = _regime(
    "text-v2-stale",
    "Old completions: 2,048 an iteration, the last of which the policy learns from 31 gradient steps after writing them",
    "ChainSum",
    tuple(_entry(method, 10_240, 30, prompts_per_batch=256) for method in _STALE),
    "",
    eval_episodes=2_048,
    eval_points=5,
)

_VERIFIER: dict[str, Any] = {"rewards": "outcome"}
_HARD = ("grpo", "ngrpo", "reinforce", "remax", "topr", "ppo")
TEXT_HARD = _regime(
    "text-v2-hard",
    "Hard problems: at least 70% of the groups have one reward throughout",
    "Countdown",
    tuple(_entry(method, 3_072, 30, **_VERIFIER) for method in _HARD),
    "",
    eval_episodes=1_024,
    eval_points=3,
    env_kwargs={"level": 2},
)

_SINGLE: dict[str, Any] = {"group_size": 1, "prompts_per_batch": 256}
_POOL: dict[str, Any] = {"curriculum": {"name": "pool", "size": 512}}
TEXT_POOL = _regime(
    "text-v2-pool",
    "A pool of 512 problems that come back, a completion each: trackers, critics and batch means",
    "ChainSum",
    (
        _entry("reinforce", 8_192, 30, **_SINGLE, **_POOL),
        _entry("spo", 8_192, 30, **_SINGLE, **_POOL),
        _entry("spo", 8_192, 30, **_SINGLE, curriculum={"name": "spo", "size": 512, "offline": 0}),
        _entry("ppo", 8_192, 30, **_SINGLE, **_POOL),
        _entry("remax", 8_192, 30, group_size=1, prompts_per_batch=128, **_POOL),
        _entry("grpo", 8_192, 30, **_POOL),
    ),
    "",
    eval_episodes=2_048,
    eval_points=4,
)

_MODEL: dict[str, Any] = {"rewards": {"name": "outcome", "flips": 0.2, "deviation": 0.25}}
_NOISY = ("grpo", "reinforce", "ppo", "remax", "topr", "filtered-bc")
TEXT_NOISY = _regime(
    "text-v2-noisy",
    "A reward model that errs: continuous rewards, of which 20% say the opposite",
    "ChainSum",
    tuple(_entry(method, 8_192, 30, **_MODEL) for method in _NOISY),
    "",
    eval_episodes=2_048,
    eval_points=4,
)
