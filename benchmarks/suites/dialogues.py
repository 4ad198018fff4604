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


_TASKS = (_game("TwentyQuestions", 40_000, 100, 300), _game("GuessMyCity", 24_000, 85, 320))

DIALOGUES = Suite(
    "dialogues-v1",
    "ArCHer, policy gradients on whole games, imitation of won ones: two guessing games, about two core hours",
    tasks=_TASKS,
    seeds=(0, 1, 2, 3, 4),
    comparisons=(Comparison("Both games", tuple(task.env_id for task in _TASKS), "ppo", by_episodes=True),),
)
