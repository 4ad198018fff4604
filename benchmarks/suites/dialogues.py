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

_LUCK = (
    "Whoever asks nothing and names what can be named in the order of the prompt wins 50% of these TwentyQuestions-v0 "
    "(5 turns, 10 objects) and 30% of these GuessMyCity-v0 (3 turns, 10 cities): scores near these show how methods "
    "differ from a base of imitation, not that one plays well. Each agent has its own default learning rate, which was "
    "not tuned here."
)

DIALOGUES = Suite(
    "dialogues-v1",
    "ArCHer, policy gradients on whole games, imitation of won ones: two guessing games; a good core hour",
    tasks=_TASKS,
    seeds=(0, 1, 2, 3, 4),
    comparisons=(
        Comparison("Both games", tuple(task.env_id for task in _TASKS), "ppo", by_episodes=True, remark=_LUCK),
    ),
)
