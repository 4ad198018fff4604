"""Methods of language agents in regimes where what sets them apart can act: text-v1 mostly raced one gradient.

Each regime is a suite of its own, of at most six conditions of which no two take nearly the same step there
(docs/results/gradient-gate): old completions, groups that mostly agree, problems that come back, rewards that err,
completions of many lengths, games of several turns. Each of them is raced again from a second base checkpoint.
Learning rates are each condition's own: the best of four or five by ``tiltyard tune``, on three seeds that no race
reports.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .suite import Comparison, Entry, Suite, Task

_UNTUNED = 2.5e-4
_GATE = "[gradient gate](../gradient-gate/README.md)"


def _regime(
    name: str, summary: str, env: str, entries: tuple[Entry, ...], words: str, equal: Mapping[str, str], **how: Any
) -> Suite:
    """A suite of one task: scored by the area under the curve, paired by seed, compared with the first condition.

    Args:
        name: of the suite.
        summary: of the regime.
        env: of the task.
        entries: the conditions.
        words: what is to be known of the regime.
        equal: methods that take nearly the step of a condition there, by its name.
        **how: of the task.
    """
    task = Task(f"tiltyard/{env}-v0", entries, eval_sampled=True, eval_group=8, **how)
    return _compared(Suite(name, summary, (task,), tuple(range(12)), score="area", paired=True), task, words, equal)


def _compared(suite: Suite, task: Task, words: str, equal: Mapping[str, str]) -> Suite:
    """The suite with that one task, and its comparison."""
    kwargs = ", ".join(f"{key}={value}" for key, value in sorted(task.env_kwargs.items()))
    where = f"{task.env_id} with {kwargs}" if kwargs else task.env_id
    listed = "; ".join(f"{one} (and so {others})" for one, others in equal.items())
    remark = f"{words} By the {_GATE} these take nearly the same step here, and are not raced beside it: {listed}."
    compared = Comparison("All conditions", (where,), task.entries[0].label, remark=remark)
    return replace(suite, tasks=(task,), comparisons=(compared,))


def _entry(method: str, answers: int, seconds: float, rate: float = _UNTUNED, label: str = "", **params: Any) -> Entry:
    return Entry(method, answers, seconds, {"batch_size": 64, "learning_rate": rate, **params}, label or method)


_SECOND_SUMS = (
    "from `chain-sum-base-2`: weights, problems and noise of pretraining have seed 1 in place of 0, and it took 1,000 "
    "steps in place of 2,000, so that the two bases differ in ability as well. Learning rates were tuned anew."
)


def _again(
    first: Suite, summary: str, base: str, rates: Mapping[str, float], words: str, equal: Mapping[str, str]
) -> Suite:
    """A regime from another base checkpoint.

    Args:
        first: its suite from the first base; everything but what is given here is as there.
        summary: of this one.
        base: the checkpoint.
        rates: learning rates, by condition.
        words: what is to be known of the base and the rates.
        equal: methods that take nearly the step of a condition here, by its name.
    """
    (task,), name = first.tasks, f"{first.name}-base-2"
    entries = tuple(
        replace(one, params={**one.params, "learning_rate": rates.get(one.label, _UNTUNED), "policy": base})
        for one in task.entries
    )
    told = f"The conditions, budgets and problems of [{first.name}](../{first.name}/README.md), {words}"
    return _compared(
        replace(first, name=name, summary=summary, repeats=first.name), replace(task, entries=entries), told, equal
    )


_ANOTHER_SEED = "weights, problems and noise of pretraining have seed 1 in place of 0. Learning rates were tuned anew."

_OLD: dict[str, Any] = {"prompts_per_batch": 256}
TEXT_STALE = _regime(
    "text-v2-stale",
    "Old completions: 2,048 an iteration, which the policy learns from up to 31 gradient steps after writing them",
    "ChainSum",
    (
        _entry("grpo", 10_240, 32, 3e-4, **_OLD),
        _entry("rloo", 10_240, 32, 1e-4, **_OLD),
        _entry("gspo", 10_240, 32, 3e-4, **_OLD),
        _entry("cispo", 10_240, 32, 1e-4, **_OLD),
        _entry("topr", 10_240, 32, 3e-4, **_OLD),
        _entry("reg-grpo", 10_240, 32, 3e-4, **_OLD),
    ),
    "A gradient step takes 64 of the 2,048 completions, so that those of the last step were written by a policy 31 "
    "steps older. At a learning rate of 0.00025, and with most tokens sure, 3% of their ratios leave 0.8 to 1.2.",
    {"grpo": "dr-grpo, dapo", "rloo": "kimi-k1-5", "cispo": "sapo"},
    eval_episodes=1_024,
    eval_points=5,
)
TEXT_STALE_SECOND = _again(
    TEXT_STALE,
    "Old completions once more, from a second base checkpoint: another seed, and half the demonstrations",
    "chain-sum-base-2",
    {"grpo": 3e-4, "rloo": 3e-5, "gspo": 3e-4, "cispo": 1e-4, "topr": 3e-5, "reg-grpo": 1e-4},
    f"{_SECOND_SUMS} At 0.00025, 6% of the ratios leave 0.8 to 1.2 here.",
    {"grpo": "dr-grpo, dapo", "cispo": "sapo"},
)

_VERIFIER: dict[str, Any] = {"rewards": "outcome"}
TEXT_HARD = _regime(
    "text-v2-hard",
    "Hard problems: at least 70% of the groups have one reward throughout",
    "Countdown",
    (
        _entry("grpo", 3_072, 25, 3e-4, **_VERIFIER),
        _entry("ngrpo", 3_072, 42, 3e-4, **_VERIFIER),
        _entry("reinforce", 3_072, 42, 3e-4, **_VERIFIER),
        _entry("remax", 3_072, 33, 3e-4, **_VERIFIER),
        _entry("topr", 3_072, 42, 3e-4, **_VERIFIER),
    ),
    "Rewards are successes alone (`outcome`): the base solves 8% of these problems, and the environment's penalty for "
    "what cannot be read would set failures apart. With GRPO 72% to 81% of the groups stay uniform throughout.",
    {"reinforce": "filtered-bc", "topr": "w-reinforce-nsr"},
    eval_episodes=512,
    eval_points=3,
    env_kwargs={"level": 2},
)

TEXT_HARD_SECOND = _again(
    TEXT_HARD,
    "Hard problems once more, from a second base checkpoint: the same recipe, another seed",
    "countdown-warm-2",
    {"grpo": 3e-4, "ngrpo": 3e-4, "reinforce": 1e-4, "remax": 1e-4, "topr": 1e-4},
    f"from `countdown-warm-2`: {_ANOTHER_SEED}",
    {"topr": "w-reinforce-nsr"},
)

_ONCE: dict[str, Any] = {"group_size": 1, "prompts_per_batch": 256, "curriculum": {"name": "pool", "size": 512}}
_BY_PRIORITY: dict[str, Any] = {"curriculum": {"name": "spo", "size": 512, "offline": 0}}
TEXT_POOL = _regime(
    "text-v2-pool",
    "A pool of 512 problems that come back, a completion each: trackers, critics and batch means",
    "Maze",
    (
        _entry("reinforce", 8_192, 30, 1e-4, **_ONCE),
        _entry("spo", 8_192, 32, 3e-4, **{**_ONCE, **_BY_PRIORITY}),
        _entry("ppo", 8_192, 70, 3e-4, **_ONCE),
        _entry("w-reinforce-nsr", 8_192, 30, 1e-4, **_ONCE),
        _entry("filtered-bc", 8_192, 18, 1e-3, **_ONCE),
    ),
    "Every condition answers 256 problems of the pool once an iteration, drawn alike; SPO draws them by its tracker's "
    "estimates, which begin without measured successes. After 16 iterations, with every problem met before, its "
    "gradient on problems drawn alike still has a cosine of 0.986 with that of the batch's mean: the draw is raced.",
    {"reinforce": "spo, reinforce-plus-plus, remax, topr", "filtered-bc": "oreal"},
    eval_episodes=1_024,
    eval_points=4,
)

TEXT_POOL_SECOND = _again(
    TEXT_POOL,
    "A pool of 512 problems that come back, once more from a second base checkpoint: the same recipe, another seed",
    "maze-base-2",
    {"reinforce": 1e-4, "spo": 3e-4, "ppo": 3e-4, "w-reinforce-nsr": 3e-4, "filtered-bc": 1e-3},
    f"from `maze-base-2`: {_ANOTHER_SEED} The gate was passed at these rates; at 0.00025, before tuning, the step of "
    "W-REINFORCE was nearly REINFORCE's (cosine 0.966), and at its own rate it is not (0.900).",
    {"reinforce": "reinforce-plus-plus, topr", "filtered-bc": "oreal"},
)

_MODEL: dict[str, Any] = {"rewards": {"name": "outcome", "flips": 0.2, "deviation": 0.25}}
TEXT_NOISY = _regime(
    "text-v2-noisy",
    "A reward model that errs: continuous rewards, of which 20% say the opposite",
    "ChainSum",
    (
        _entry("grpo", 8_192, 27, 1e-4, **_MODEL),
        _entry("reinforce", 8_192, 27, 1e-4, **_MODEL),
        _entry("ppo", 8_192, 70, 1e-4, **_MODEL),
        _entry("remax", 8_192, 27, 1e-4, **_MODEL),
        _entry("topr", 8_192, 27, 1e-4, **_MODEL),
        _entry("filtered-bc", 8_192, 16, 1e-4, **_MODEL),
    ),
    "A completion's reward is 1 or 0 with normal noise of deviation 0.25, and the wrong one of the two for 20% of the "
    "texts, always the same ones, as a reward model errs. Evaluations are by the truth.",
    {"grpo": "dr-grpo, dapo, rloo, ngrpo, rec-red, copo", "reinforce": "reinforce-plus-plus"},
    eval_episodes=1_024,
    eval_points=4,
)

TEXT_NOISY_SECOND = _again(
    TEXT_NOISY,
    "A reward model that errs once more, from a second base checkpoint: another seed, and half the demonstrations",
    "chain-sum-base-2",
    dict.fromkeys(("grpo", "reinforce", "ppo", "remax", "topr", "filtered-bc"), 1e-4),
    _SECOND_SUMS,
    {"grpo": "dr-grpo, dapo, rloo, ngrpo, rec-red, copo", "reinforce": "reinforce-plus-plus"},
)

_CAP = 96
_CAPPED: dict[str, Any] = {"rewards": "outcome", "max_answer_tokens": _CAP}
_OVERLONG: dict[str, Any] = {"name": "soft-overlong-punishment", "max_length": _CAP, "buffer": 48}
TEXT_LENGTH = _regime(
    "text-v2-length",
    "Completions of 33 to 96 tokens, where they are cut: what is paid for brevity, by five rules",
    "Countdown",
    (
        _entry("grpo", 3_072, 27, 3e-4, **_CAPPED),
        _entry("reinforce", 3_072, 27, 3e-4, **_CAPPED),
        _entry("kimi-k1-5", 3_072, 27, 3e-4, label="kimi-k1-5-length", method_kwargs={"length_weight": 0.5}, **_CAPPED),
        _entry(
            "canon", 3_072, 27, 3e-4, label="canon-short", method_kwargs={"metric": "length", "alpha": 0.5}, **_CAPPED
        ),
        _entry("dapo", 3_072, 27, 3e-4, label="dapo-overlong", **{**_CAPPED, "rewards": ["outcome", _OVERLONG]}),
    ),
    "Lengths deviate by 35% of their mean, and 7% of the completions are cut at 96 tokens. Means over tokens, over "
    "completions or by a constant are one gradient all the same (cosines of at least 0.97): what sets methods apart is "
    "how they pay for brevity. `kimi-k1-5-length` is Kimi k1.5 with its length reward on throughout, `canon-short` is "
    "CANON by length with the long half's rewards halved, `dapo-overlong` is DAPO with its soft overlong punishment "
    "over the last 48 tokens.",
    {
        "grpo": "dr-grpo, dapo, rloo, gspo, lite-ppo, simpo, disco, drpo-decoupled, kimi-k1-5, canon",
        "reinforce": "reinforce-plus-plus",
        "canon-short": "dr-grpo, rloo, lite-ppo, kimi-k1-5, canon",
    },
    eval_episodes=1_024,
    eval_points=3,
)

TEXT_LENGTH_SECOND = _again(
    TEXT_LENGTH,
    "Completions that are cut at 96 tokens once more, from a second base checkpoint: the same recipe, another seed",
    "countdown-warm-2",
    dict.fromkeys(("grpo", "reinforce", "kimi-k1-5-length", "canon-short", "dapo-overlong"), 3e-4),
    f"from `countdown-warm-2`: {_ANOTHER_SEED}",
    {"grpo": "gspo, simpo, disco, drpo-decoupled", "reinforce": "reinforce-plus-plus"},
)

_GAME: dict[str, Any] = {"rewards": {"name": "turn-cost", "cost": 0.1}}
TEXT_TURNS = _regime(
    "text-v2-turns",
    "Games of several turns, each of which costs something, in states that games of a group share",
    "TwentyQuestions",
    (
        _entry("grpo", 6_400, 36, 1e-3, **_GAME),
        _entry("gigpo", 6_400, 36, 1e-3, **_GAME),
        _entry("reinforce", 6_400, 36, 3e-4, **_GAME),
        _entry("ppo", 6_400, 45, 3e-4, **_GAME),
        _entry("filtered-bc", 6_400, 33, 1e-3, **_GAME),
    ),
    "A turn costs 0.1 in training (`turn-cost`) and a game that is won pays 1; evaluations are by the game alone. A "
    "state is the set of names that can still be meant. PURE is left out: the worst step of a game is a turn's cost, "
    "whether the game is won or lost. So is ArCHer, which takes no rewards but the environment's.",
    {"gigpo": "dr-grpo, rloo", "reinforce": "reinforce-plus-plus"},
    eval_episodes=512,
    eval_points=4,
)

TEXT_TURNS_SECOND = _again(
    TEXT_TURNS,
    "Games of several turns once more, from a second base checkpoint: the same recipe, other seeds",
    "twenty-questions-base-2",
    {"grpo": 1e-3, "gigpo": 1e-3, "reinforce": 3e-4, "ppo": 3e-4, "filtered-bc": 1e-3},
    "from `twenty-questions-base-2`: weights and games of pretraining have the seeds 2 and 3 in place of 0 and 1. "
    "Learning rates were tuned anew. The gate was passed at these rates; at 0.00025, before tuning, the step of GiGPO "
    "was less like that of Dr. GRPO (cosine 0.947), and at its own rate it is nearly the same (0.957).",
    {"gigpo": "dr-grpo, rloo", "reinforce": "reinforce-plus-plus"},
)
