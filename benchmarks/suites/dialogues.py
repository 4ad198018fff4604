"""Games of several turns: what leads a policy best from the reward at the end back to what was said on the way."""

from .suite import Comparison, Entry, Suite, Task

_GRADIENTS = ("reinforce", "ppo", "grpo", "gigpo")

# 32 problems with 8 games each; an iteration's 256 games are taken in four gradient steps.
_EQUAL = {"batch_size": 64}


def _game(env: str, turns: int, seconds: float, archer_seconds: float) -> Task:
    entries = (
        Entry("archer", turns, archer_seconds),
        *(Entry("grpo", turns, seconds, {"method": method, **_EQUAL}) for method in _GRADIENTS),
        Entry("filtered-bc", turns, seconds, _EQUAL),
    )
    return Task(f"tiltyard/{env}-v0", entries, eval_episodes=200, eval_points=10, eval_sampled=True)


# 2,560 games each, which have five turns and three: 20 iterations of ArCHer, 10 of the others
_TASKS = (_game("TwentyQuestions", 12_800, 50, 205), _game("GuessMyCity", 7_680, 36, 215))

DIALOGUES = Suite(
    "dialogues-v1",
    "ArCHer, policy gradients on whole games, imitation of won ones: two guessing games; a good core hour",
    tasks=_TASKS,
    seeds=(0, 1, 2, 3, 4),
    comparisons=(Comparison("Both games", tuple(task.env_id for task in _TASKS), "ppo", by_episodes=True),),
)

# ArCHer's settings of its row, and each of these in place of one of them; the last begins from a base that knows less.
_OTHERWISE = (
    {"learning_rate": 1e-4},
    {"actor_steps": 1},
    {"actor_steps": 8},
    {"batch_size": 32},
    {"critic_warm_up": 0},
    {"gradient_steps": 5},
    {"critic_learning_rate": 1e-4},
    {"token_baseline": True},
    {"policy": "transformer-100k", "warm_start_steps": 1500},
)
_CITY = Task(
    "tiltyard/GuessMyCity-v0",
    tuple(Entry("archer", 4_608, 145, params) for params in ({}, *_OTHERWISE)),
    eval_episodes=200,
    eval_points=6,
    eval_sampled=True,
)

ARCHER_SETTINGS = Suite(
    "archer-settings-v1",
    "What of ArCHer's settings matters on GuessMyCity: its own, and one of them changed at a time; a good core hour",
    tasks=(_CITY,),
    seeds=(0, 1, 2),
    comparisons=(Comparison("One setting changed", (_CITY.env_id,), "archer", by_episodes=True),),
)
